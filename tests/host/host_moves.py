"""What test_host_loops.py checks of layouts, in a process whose loops are of other instructions.

    export PYTHONPATH=$(printf %s: tests/*/)
    GRED_INSTRUCTIONS=avx2 python tests/host/host_moves.py [checks ...]

Arrays that are strided, masked, of the other byte order or converted are brought together before
they are folded; of integers, and of floats that are integers, sums then miss no element unseen.
Printed is as host_loops.py prints.
"""

import itertools
import sys
from collections.abc import Callable, Iterator

import numpy as np
from along import home
from host_loops import CHUNK, FLOATS, Guarded, near, note, report, wrapped
from reference import COMPLEX, EVERY_TYPE, INTEGERS
from samples import silenced
from thin import chosen

import gred

# Around registers of 16 to 64 bytes, words of masks and blocks of them, in elements of 1 to 16.
LENGTHS = (*range(1, 35), 63, 64, 65, 127, 128, 129, 255, 257, 1023, 1025, 2049, CHUNK + 1)
FEW_LENGTHS = (1, 2, 7, 8, 9, 16, 17, 31, 33, 64, 65, 129, 1025, 2049)
STRIDES = (1, 2, 3, 5, -1, -2, -3)  # in elements
MASK_STRIDES = (1, 2, 0, -1, -3)


def whole_numbers(dtype: np.dtype, n: int, seed: int) -> np.ndarray:
    """Draw elements whose sums no type rounds: integers of few bits are of all their type."""
    random = np.random.default_rng([seed, n])
    if dtype in INTEGERS:
        return random.integers(0, 256, n * dtype.itemsize, np.uint8).view(dtype)
    return random.integers(-2, 3, n).astype(dtype)


def check(x: np.ndarray, shown: np.ndarray | None = None) -> None:
    """Compare a sum, a position and a variance with what NumPy makes of a copy."""
    options = {} if shown is None else {"where": shown}
    got = note(gred.sum(x, **options))
    place = None if shown is not None else note(gred.argmax(x))
    if not __debug__:
        return
    flat = x.ravel() if shown is None else x[np.broadcast_to(shown, x.shape)]
    flat = flat.astype(x.dtype.newbyteorder("="))
    if x.dtype.kind == "b":
        assert got == np.count_nonzero(flat)
    elif x.dtype.kind in "iu":
        assert int(got) == wrapped(sum(flat.tolist()), x.dtype), (x.dtype, x.shape, x.strides)
    else:
        right = home(flat).sum().astype(flat.dtype)
        assert got == right, (x.dtype, x.shape, x.strides, got, right)
    if shown is None:
        assert place == np.argmax(home(flat)), (x.dtype, x.shape, x.strides)


def strided(dtype: np.dtype, n: int, stride: int, first: int) -> np.ndarray:
    """Every so many elements of an array that ends with the last of them, or begins with it."""
    length = 1 + (n - 1) * max(abs(stride), 1)
    x = whole_numbers(dtype, length + first, 1)[first:][:: abs(stride)]
    return x if stride > 0 else x[::-1]


def rows() -> None:
    """Every length, distance and offset of a row; and rows that are no multiple apart."""
    for dtype in EVERY_TYPE:
        for n, stride in chosen(itertools.product(LENGTHS, STRIDES), dtype):
            check(strided(dtype, n, stride, n % 3))
            check(swapped(strided(dtype, n, stride, n % 5)))
        for n in FEW_LENGTHS:
            check(np.broadcast_to(whole_numbers(dtype, 1, n), (n,)))
            pairs = np.zeros(n, [("byte", "u1"), ("value", dtype)])
            pairs["value"] = whole_numbers(dtype, n, n)
            check(pairs["value"])


def swapped(x: np.ndarray) -> np.ndarray:
    """Lay the same elements out in the other byte order."""
    order = x.dtype.newbyteorder()
    if order == x.dtype or x.dtype.kind == "V":
        return x
    other = np.zeros(x.size * 3, order)[:: 3 if x.strides != (x.itemsize,) else 1][: x.size]
    other[:] = x
    return other


def masks(n: int, stride: int) -> Iterator[np.ndarray]:
    """Masks of every density; bytes that are not 0 are as true as 1."""
    random = np.random.default_rng(n)
    for share in (0, 1, 50, 99, 100):
        bytes_ = random.integers(1, 256, n * max(abs(stride), 1), np.uint8)
        bytes_[random.integers(0, 100, bytes_.size) >= share] = 0
        if stride == 0:
            yield np.broadcast_to(bytes_[:1].view(bool), (n,))
        else:
            yield bytes_.view(bool)[::stride][:n]


def masked() -> None:
    """Rows of every length under masks of every distance."""
    every = itertools.product(EVERY_TYPE, FEW_LENGTHS, (1, 2, -3), MASK_STRIDES)
    for dtype, n, stride, mask_stride in chosen(every):
        for shown in masks(n, mask_stride):
            x = strided(dtype, n, stride, n % 3)
            check(x, shown)
            check(swapped(x), shown)


def dimensions() -> None:
    """Rows and columns of arrays, masks in another order, and elements again and again."""
    random = np.random.default_rng(0)
    for dtype in EVERY_TYPE:
        x = whole_numbers(dtype, 6 * 50 * 70, 3).reshape(6, 50, 70)
        shown = random.random(x.shape) < 0.5
        for take in (
            lambda a: a[:, 1:-1, ::2],
            lambda a: a[::-1, ::3, ::5],
            lambda a: a[:, :, 1:-1].transpose(1, 0, 2),
            lambda a: a[..., :3],
            lambda a: a[:, ::2].T,
            lambda a: np.broadcast_to(a[:, :, :1], a.shape),
            lambda a: np.broadcast_to(a[:, :1], a.shape),
            lambda a: np.broadcast_to(a[:1, :, 3:4], (6, 50, 70)),
            lambda a: np.broadcast_to(a[:, 0, 0], (1000, 6)),
        ):
            view = take(x)
            check(view)
            check(view, take(shown))
            check(view, np.asfortranarray(take(shown)))
            check(view, take(shown)[:1])


def long_rows() -> None:
    """Rows about as long as those that are folded where they lie, and as a chunk, up to a guard."""
    memory = Guarded(40).inside
    for dtype in EVERY_TYPE:
        for n in (960 // dtype.itemsize, 1500, CHUNK - 1, CHUNK, CHUNK + 1):
            every = itertools.product((n - 1, n, n + 1), (1, 2, 5, 9))
            for length, height in chosen(every, dtype):
                nbytes = height * (length + 3) * dtype.itemsize
                if nbytes > memory.size:
                    continue
                whole = memory[memory.size - nbytes :].view(dtype).reshape(height, length + 3)
                whole[:] = whole_numbers(dtype, whole.size, n).reshape(whole.shape)
                check(whole[:, 3:])
                check(whole[::-1, 1:-2])
                check(whole[:, :length:2])


def bits() -> None:
    """Sums that are rounded: as right as those of flat arrays, and alike for any threads."""
    random = np.random.default_rng(5)
    for dtype in FLOATS:
        x = (random.random((300, 1003)) / 10).astype(dtype)
        shown = random.random(x.shape) < 0.7
        for view in (x[:, 1:-1], x[::3], x[:, ::2], x[:, :100].T, x[::2, ::5], x[:, 5:-700]):
            flat = home(view).ravel().astype(np.float64)
            got = note(gred.sum(view))
            assert near(got, flat, dtype), (dtype, got)
            for name in ("mean", "var", "norm", "nansum"):
                note(getattr(gred, name)(view))
        for options in ({"where": shown}, {"where": shown[:1]}, {"dtype": np.float64}):
            note(gred.sum(x, **options))
            note(gred.mean(x[:, 1:-1], **{**options, "where": True}))


def guards() -> None:
    """Arrays and masks whose first or last element is where memory begins or ends."""
    memory, bits = Guarded(18).inside, Guarded(3).inside
    for dtype in EVERY_TYPE:
        every = itertools.product(FEW_LENGTHS, (1, 2, 3, 5), (1, 2))
        for n, stride, mask_stride in chosen(every, dtype):
            nbytes = ((n - 1) * stride + 1) * dtype.itemsize
            length = (n - 1) * mask_stride + 1
            if nbytes > memory.size or length > bits.size:
                continue
            for x, shown in (
                (memory[:nbytes], bits[:length]),
                (memory[memory.size - nbytes :], bits[bits.size - length :]),
            ):
                mask = shown.view(bool)[::mask_stride]
                mask[:] = np.arange(n) % 3 > 0
                for order in (dtype, dtype.newbyteorder())[: 1 + (dtype.kind != "V")]:
                    view = x.view(order)[::stride]
                    view[:] = whole_numbers(dtype, n, n)
                    check(view)
                    check(view, mask)
                    check(view[::-1], mask[::-1])


# ---- conversions ----


def alone(value: np.ndarray, place: int, to: np.dtype) -> np.generic:
    """Convert a value in the midst of zeros."""
    x = np.zeros(70, value.dtype)
    x[place] = value
    return note(gred.sum(x, dtype=to))


def values_of(dtype: np.dtype) -> np.ndarray:
    if dtype in INTEGERS:
        random = whole_numbers(dtype, 40, 9)
        return random if dtype.kind == "b" else np.append(random, [np.iinfo(dtype).min, 0])
    near = [0, 1, -1, 0.5, -0.75, 2.5, 127, 128, -129, 255, 256, 32767, 32768, 65504, 65519.9]
    more = [65520, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63, -(2**63), 2**64, 1e-7, 6e-8, 3e-8]
    with np.errstate(over="ignore"):
        return np.array([*near, *more, 1e30, -1e30, np.inf, -np.inf, np.nan], float).astype(dtype)


def is_defined(value: np.generic, to: np.dtype) -> bool:
    """Tell whether C has an answer: integers do not hold every float."""
    if to not in INTEGERS or to.kind == "b" or value.dtype in INTEGERS:
        return True
    real, info = float(np.real(home(np.asarray(value)))), np.iinfo(to)
    return bool(np.isfinite(real)) and info.min - 1 < real < info.max + 1


def conversions() -> None:
    """Every type to every type, at places of their own in a register."""
    for dtype, to in chosen(itertools.product(EVERY_TYPE, EVERY_TYPE)):
        for place, value in enumerate(values_of(dtype)):
            with silenced():
                got = alone(value, place % 70, to)
                at_end = note(gred.sum(np.array([value]), dtype=to))
                right = home(np.asarray(value)).astype(to)
            assert np.array_equal(home(np.asarray(got)), home(np.asarray(at_end)), True)
            if is_defined(value, to) and to in (*INTEGERS, *FLOATS, *COMPLEX):
                same = np.array_equal(home(np.asarray(got)), home(np.asarray(right)), True)
                assert same, (dtype, to, value, got, right)


def halves() -> None:
    """Between each two neighbours of 16 bits, at the middle and close to it, and what rounds."""
    half = np.dtype(np.float16)
    finite = np.arange(0x7C01, dtype=np.uint16).view(half).astype(np.float64)
    finite[-1] = 2.0**16
    middle = (finite[1:] + finite[:-1]) / 2
    near = [middle, np.nextafter(middle, 0), np.nextafter(middle, 1e9), finite[:-1]]
    for x in (*near, *(values.astype(np.float32) for values in near)):
        with np.errstate(over="ignore"):
            right = x.astype(half)
        for k in chosen(range(0, x.size, 7)):
            got = alone(x[k], k % 70, half), alone(-x[k], k % 70, half)
            assert got == (right[k], -right[k]), x[k]


CHECKS: dict[str, Callable[[], None]] = {
    check.__name__: check
    for check in (rows, masked, dimensions, long_rows, bits, guards, conversions, halves)
}

if __name__ == "__main__":
    report(CHECKS, sys.argv[1:])
