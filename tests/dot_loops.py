"""What test_host_loops.py checks of products, in a process whose loops are of other instructions.

    GRED_INSTRUCTIONS=avx2 python tests/dot_loops.py

Every exact sum of products is compared with what is exactly right, for several numbers of threads,
and every norm with the root of that. Printed are the instructions and a digest of all that was
computed, of fast dot products too, which is to be the same for all instructions.
"""

import hashlib
import itertools

import ml_dtypes
import numpy as np
from exact_loops import CHUNK, kinds
from exact_truths import exact_products, nearest, nearest_root, same
from reference import REALS
from thin import chosen

import gred

AROUND = (16, 64, CHUNK)
LENGTHS = (*range(1, 5), *(n + k for n in AROUND for k in (-1, 0, 1)), 17 * CHUNK + 3)
THREADS = (1, 2, 3, 16)


def cases():
    """Pair every kind of numbers with itself, turned round, and with plain ones."""
    for dtype, n in chosen(itertools.product(REALS, LENGTHS)):
        random = np.random.default_rng(n)
        plain = random.normal(size=n).astype(dtype)
        for kind, x in enumerate(kinds(dtype, n, n)):
            yield dtype, n, kind, x, x[::-1].copy()
            yield dtype, n, kind, x, plain
        sparse = np.where(random.random(n) < 0.5, plain, dtype.type(0))
        yield dtype, n, "sparse", sparse, plain
        tiny = plain * ml_dtypes.finfo(dtype).tiny
        yield dtype, n, "tiny", tiny.astype(dtype), plain
    small = (1 + np.random.default_rng(1).random(LENGTHS[-1])) * 2.0**-475
    yield np.dtype(np.float64), small.size, "small", small, small  # products are just not too small


def complex_numbers():
    """Let parts' products grow up to where windows end, all of them with one sign."""
    growing = np.where(np.arange(5 * CHUNK) < 2 * CHUNK, 1.0, 3.99)
    random = np.random.default_rng(1)
    yield growing, growing
    yield random.normal(size=3 * CHUNK), random.normal(size=3 * CHUNK)


def check_complex(digest):
    """Check both sums of complex numbers, given as parts in turn."""
    for a, b in complex_numbers():
        turned = b.reshape(-1, 2)[:, ::-1].ravel()
        real = exact_products(a[::2], b[::2]) - exact_products(a[1::2], b[1::2])
        got = gred.dot(a.view(complex), b.view(complex), method="exact")
        assert same(got.real, nearest(real, np.float64))
        assert same(got.imag, nearest(exact_products(a, turned), np.float64))
        digest.update(gred.dot(a.view(complex), b.view(complex)).tobytes())


def main():
    """Check all, and print what was made."""
    digest = hashlib.sha256()
    for dtype, n, kind, a, b in cases():
        expected = exact_products(a, b) if __debug__ else None
        made = set()
        for threads in THREADS if n > 8 * CHUNK else THREADS[:1]:
            gred.threads(threads)
            got = gred.ExactSum()
            got.add_products(a, b)
            assert got.fraction() == expected, (dtype, n, kind, threads)
            assert got.count == n
            made.add(got.to_bytes() + gred.dot(a, b).tobytes())
        assert len(made) == 1, (dtype, n, kind)
        digest.update(*made)
        if __debug__ and n <= 64:
            root = nearest_root(exact_products(a, a), dtype)
            assert same(gred.norm(a, method="exact"), root), (dtype, n, kind)
    check_complex(digest)
    array = gred.explain(np.ones(3), method="exact").array
    print(array.split(" by ")[1].split()[0], digest.hexdigest(), sep="\n")


if __name__ == "__main__":
    main()
