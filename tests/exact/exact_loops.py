"""What test_host_loops.py checks of exact sums and products, in a process of its own.

    export PYTHONPATH=$(printf %s: tests/*/)
    GRED_INSTRUCTIONS=avx2 python tests/exact/exact_loops.py

Every sum, every sum of products and every norm is compared with what is exactly right, for several
numbers of threads; dot products of rows and columns, too. Printed are the instructions and a digest
of all that was computed, of fast dot products too, which is to be the same for all instructions.
"""

import hashlib
import itertools

import ml_dtypes
import numpy as np
from exact_truths import exact_products, exact_sum, nearest, nearest_root, same
from host_loops import Guarded
from reference import REALS
from thin import chosen

import gred

CHUNK = 4096
AROUND = (128, 256, 512, CHUNK, 2 * CHUNK, 16 * CHUNK)
LENGTHS = (*range(1, 36), *(n + k for n in AROUND for k in (-1, 0, 1)), 37 * CHUNK + 17)
FACTORS = (*range(1, 5), *(n + k for n in (16, 64, CHUNK) for k in (-1, 0, 1)), 17 * CHUNK + 3)
DIGEST = hashlib.sha256()


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


def factors():
    """Pair every kind of numbers with itself, turned round, and with plain ones."""
    for dtype, n in chosen(itertools.product(REALS, FACTORS)):
        random = np.random.default_rng(n)
        plain = random.normal(size=n).astype(dtype)
        for x in kinds(dtype, n, n):
            yield x, x[::-1].copy()
            yield x, plain
        yield np.where(random.random(n) < 0.5, plain, dtype.type(0)), plain
        yield (plain * ml_dtypes.finfo(dtype).tiny).astype(dtype), plain
    small = (1 + np.random.default_rng(1).random(FACTORS[-1])) * 2.0**-475
    yield small, small  # products are just not too small


def check(add, expected, *arrays, long):
    """Compare what is added with what is right, and its bytes for any number of threads."""
    n, made, right = arrays[0].size, set(), expected(*arrays) if __debug__ else None
    for threads in (1, 2, 3, 16) if n > long else (1,):
        gred.threads(threads)
        got, more = add(*arrays)
        assert got.fraction() == right, (arrays, threads)
        assert got.count == n
        made.add(got.to_bytes() + more)
    assert len(made) == 1, arrays
    DIGEST.update(*made)
    return right


def check_sums():
    for dtype, n in chosen(itertools.product(REALS, LENGTHS)):
        for x in kinds(dtype, n, n):
            check(lambda x: (gred.ExactSum(x), b""), exact_sum, x, long=16 * CHUNK)
    for dtype, (kind, axis) in itertools.product(REALS, enumerate((0, 1) * 5)):
        x = next(itertools.islice(kinds(dtype, 70 * 70, kind), kind, None)).reshape(70, 70)
        got = gred.sum(x, axis=axis, dtype=np.float64, method="exact")
        if __debug__:
            for k, row in enumerate(np.moveaxis(x, axis, -1)):
                assert got[k] == nearest(exact_sum(row), np.float64), (dtype, kind, axis, k)
        DIGEST.update(got.tobytes())


def check_ends():
    """Columns whose last element is where memory ends."""
    memory = Guarded(18).inside
    for dtype, width, rows in chosen(itertools.product(REALS, (1, 5, 31, 33, 100), (2, 3, 200))):
        nbytes = min(rows * width * dtype.itemsize, memory.size // (width * 8) * width * 8)
        x = memory[memory.size - nbytes :].view(dtype).reshape(-1, width)
        x[:] = np.random.default_rng(rows).normal(size=x.shape).astype(dtype)
        got = gred.sum(x, axis=0, method="exact")
        for k, column in enumerate(x.T if __debug__ else ()):
            assert same(got[k], nearest(exact_sum(column), dtype)), (x.shape, k)


def multiplied(a, b):
    products = gred.ExactSum()
    products.add_products(a, b)
    return products, gred.dot(a, b).tobytes()


def check_vectors(a, b, right):
    """Lay vectors in rows, and in as many columns as do not fill lanes."""
    rows, others = np.stack([b, a, a]), np.stack([b, -b, b])
    for one, other, axis in ((rows, others, 1), (rows.T.repeat(6, 1), others.T.repeat(6, 1), 0)):
        got = gred.vecdot(one, other, axis, method="exact")
        assert same(got[-1], nearest(right, a.dtype)), (a, b)
        DIGEST.update(got.tobytes() + gred.vecdot(one, other, axis).tobytes())


def check_products():
    for a, b in factors():
        right = check(multiplied, exact_products, a, b, long=8 * CHUNK)
        if a.size <= CHUNK + 1:
            check_vectors(a, b, right)
        if __debug__ and a.size <= 64:
            root = nearest_root(exact_products(a, a), a.dtype)
            assert same(gred.norm(a, method="exact"), root), a
    # Both sums of complex numbers, whose parts' products grow up to where windows end.
    growing = np.where(np.arange(5 * CHUNK) < 2 * CHUNK, 1.0, 3.99)
    random = np.random.default_rng(1)
    for a, b in ((growing, growing), (random.normal(size=(2, 3 * CHUNK)))):
        turned = b.reshape(-1, 2)[:, ::-1].ravel()
        real = exact_products(a[::2], b[::2]) - exact_products(a[1::2], b[1::2])
        got = gred.dot(a.view(complex), b.view(complex), method="exact")
        assert same(got.real, nearest(real, np.float64))
        assert same(got.imag, nearest(exact_products(a, turned), np.float64))
        DIGEST.update(gred.dot(a.view(complex), b.view(complex)).tobytes())


if __name__ == "__main__":
    check_sums()
    check_ends()
    check_products()
    array = gred.explain(np.ones(3), method="exact").array
    print(array.split(" by ")[1].split()[0], DIGEST.hexdigest(), sep="\n")
