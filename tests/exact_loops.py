"""What test_host_loops.py checks of exact sums, in a process whose loops are of other instructions.

    GRED_INSTRUCTIONS=avx2 python tests/exact_loops.py

Every sum is compared with what is exactly right, for several numbers of threads. Printed are the
instructions and a digest of all sums' bytes, which is to be the same for all instructions.
"""

import hashlib
import itertools

import ml_dtypes
import numpy as np
from exact_truths import exact_sum, nearest
from reference import REALS
from thin import chosen

import gred

CHUNK = 4096
AROUND = (128, 256, 512, CHUNK, 2 * CHUNK, 16 * CHUNK)
LENGTHS = (*range(1, 36), *(n + k for n in AROUND for k in (-1, 0, 1)), 37 * CHUNK + 17)
THREADS = (1, 2, 3, 16)


def kinds(dtype, n, seed):
    """Draw floats of every kind that windows may meet: in them, across them, and beyond them."""
    random = np.random.default_rng(seed)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    any_bits = random.integers(0, 2 ** (8 * dtype.itemsize), n, np.uint64).astype(unsigned)
    subnormal = random.integers(0, 2 ** (ml_dtypes.finfo(dtype).nmant), n, np.uint64)
    normal = random.normal(size=n)
    steps = np.repeat(random.integers(-12, 12, n // 1000 + 1), 1000)[:n]
    floats = any_bits.view(dtype)
    yield np.where(np.isfinite(floats.astype(np.float64)), floats, dtype.type(1))
    yield subnormal.astype(unsigned).view(dtype)
    yield normal.astype(dtype)
    yield random.random(n).astype(dtype)
    yield np.clip(random.lognormal(0, 4, n), 0, 6e4).astype(dtype)
    yield np.where(random.random(n) < 0.001, normal * 2.0**-20, normal).astype(dtype)
    yield (normal * np.exp2(steps)).astype(dtype)
    yield np.ldexp(normal, np.arange(n) % 12).astype(dtype)
    yield np.where(np.arange(n) % 3, -1, 1).astype(dtype) * ml_dtypes.finfo(dtype).max
    yield -np.zeros(n, dtype)


def main():
    """Check all, and print what was made."""
    digest = hashlib.sha256()
    for dtype, n in chosen(itertools.product(REALS, LENGTHS)):
        for kind, x in enumerate(kinds(dtype, n, n)):
            sums = set()
            expected = exact_sum(x) if __debug__ else None
            for threads in THREADS if n > 16 * CHUNK else THREADS[:1]:
                gred.threads(threads)
                got = gred.ExactSum(x)
                assert got.fraction() == expected, (dtype, n, kind, threads)
                assert got.count == n
                sums.add(got.to_bytes())
            assert len(sums) == 1
            digest.update(*sums)
    for dtype, (kind, axis) in itertools.product(REALS, enumerate((0, 1) * 5)):
        x = next(itertools.islice(kinds(dtype, 70 * 70, kind), kind, None)).reshape(70, 70)
        got = gred.sum(x, axis=axis, dtype=np.float64, method="exact")
        if __debug__:
            for k, row in enumerate(np.moveaxis(x, axis, -1)):
                assert got[k] == nearest(exact_sum(row), np.float64), (dtype, kind, axis, k)
        digest.update(got.tobytes())
    array = gred.explain(np.ones(3), method="exact").array
    print(array.split(" by ")[1].split()[0], digest.hexdigest(), sep="\n")


if __name__ == "__main__":
    main()
