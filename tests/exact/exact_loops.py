"""What test_host_loops.py checks of exact sums and products, in a process of its own.

    export PYTHONPATH=$(printf %s: tests/*/)
    GRED_INSTRUCTIONS=avx2 python tests/exact/exact_loops.py

Printed are the instructions and a digest of all that was computed, of fast dot products too, which
is to be the same for all instructions. `python -O` leaves the comparison with what is right out.
"""

import itertools

import numpy as np
from exact_truths import dot, exact_products, exact_sum, kinds, same, truth, truths
from host_loops import Guarded, note, report
from reference import COMPLEX, EXPONENTS, REALS
from thin import chosen

import gred

CHUNK = 4096
AROUND = (128, 256, 512, CHUNK, 2 * CHUNK, 16 * CHUNK)
LENGTHS = (*range(1, 36), *(n + k for n in AROUND for k in (-1, 0, 1)), 37 * CHUNK + 17)
FACTORS = (*range(1, 5), *(n + k for n in (16, 64, CHUNK) for k in (-1, 0, 1)), 17 * CHUNK + 3)


def check(*arrays):
    """Add numbers, or products of two, by any number of threads: the bytes are to be the same."""
    n, made = arrays[0].size, set()
    for threads in (1, 2, 3, 16) if n > 8 * CHUNK else (1,):
        gred.threads(threads)
        total = gred.ExactSum()
        (total.add if len(arrays) == 1 else total.add_products)(*arrays)
        assert total.count == n
        made.add(total.to_bytes() + (gred.dot(*arrays).tobytes() if len(arrays) > 1 else b""))
    assert len(made) == 1, arrays
    note(np.frombuffer(made.pop(), np.uint8))
    if __debug__:
        right = exact_sum(*arrays) if len(arrays) == 1 else exact_products(*arrays)
        assert total.fraction() == right, arrays


def sums():
    for dtype, n in chosen(itertools.product(REALS, LENGTHS)):
        for x in kinds(dtype, n, n):
            check(x)
    for dtype, (kind, axis) in itertools.product(REALS, enumerate((0, 1) * 5)):
        x = next(itertools.islice(kinds(dtype, 70 * 70, kind), kind, None)).reshape(70, 70)
        got = note(gred.sum(x, axis=axis, dtype=np.float64, method="exact"))
        assert same(got, truths("sum", x, axis, np.float64)), (dtype, kind, axis)


def ends():
    """Columns whose last element is where memory ends."""
    memory = Guarded(18).inside
    for dtype, width, rows in chosen(itertools.product(REALS, (1, 5, 31, 33, 100), (2, 3, 200))):
        nbytes = min(rows * width * dtype.itemsize, memory.size // (width * 8) * width * 8)
        x = memory[memory.size - nbytes :].view(dtype).reshape(-1, width)
        x[:] = np.random.default_rng(rows).normal(size=x.shape).astype(dtype)
        assert same(note(gred.sum(x, axis=0, method="exact")), truths("sum", x, 0)), x.shape


def pairs():
    """Pair every kind of numbers with itself, turned round, and with plain ones."""
    for dtype, n in chosen(itertools.product(REALS, FACTORS)):
        random = np.random.default_rng(n)
        plain = random.normal(size=n).astype(dtype)
        for x in kinds(dtype, n, n):
            yield x, x[::-1].copy()
            yield x, plain
        yield np.where(random.random(n) < 0.5, plain, dtype.type(0)), plain
        yield (plain * 2.0 ** -EXPONENTS[dtype]).astype(dtype), plain
    small = (1 + np.random.default_rng(1).random(FACTORS[-1])) * 2.0**-475
    yield small, small  # products are just not too small


def products():
    """Of vectors, and of these in rows and in as many columns as do not fill lanes."""
    for a, b in pairs():
        check(a, b)
        rows, others = np.stack([b, a, a]), np.stack([b, -b, b])
        sides = (rows, others, 1), (rows.T.repeat(6, 1), others.T.repeat(6, 1), 0)
        for one, other, axis in sides if a.size <= CHUNK + 1 else ():
            got = note(gred.vecdot(one, other, axis, method="exact"))
            note(gred.vecdot(one, other, axis))
            assert same(got[-1], dot(a, b, a.dtype)), (a, b)
        if a.size <= 64:
            assert same(gred.norm(a, method="exact"), truth("norm", a)), a


def complex_products():
    """Both sums of complex numbers, whose parts' products grow up to where windows end."""
    growing = np.where(np.arange(5 * CHUNK) < 2 * CHUNK, 1.0, 3.99)
    for a, b in ((growing, growing), np.random.default_rng(1).normal(size=(2, 3 * CHUNK))):
        a, b = a.view(complex), b.view(complex)
        assert same(gred.dot(a, b, method="exact"), dot(a, b, COMPLEX[1]))
        note(gred.dot(a, b))


if __name__ == "__main__":
    report((sums, ends, products, complex_products))
