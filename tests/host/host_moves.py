"""Checks of array layouts that test_host_loops.py runs with a chosen instruction set.

Strided, masked, byte-swapped and converted elements are gathered before they are reduced. The sums
of integers and of integer-valued floats are exact, so every missed element shows.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import wraps

import numpy as np
from drawn import converts, values
from host_loops import CHUNK, FLOATS, guarded, near, note
from reference import EVERY_TYPE, INTEGERS, home
from samples import silenced
from thin import chosen

import gred

# Around registers of 16 to 64 bytes and words and blocks of masks, for elements of 1 to 16 bytes.
LENGTHS = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65, 127, 129, 257, 1023, 1025, 2049)
LENGTHS += (CHUNK + 1,)
Views = Iterator[tuple[np.ndarray, np.ndarray | None]]  # arrays and their masks, if any


def whole_numbers(dtype: np.dtype, n: int, seed: int) -> np.ndarray:
    """Draw elements whose sums are exact; integers come from the whole range of their type."""
    flavour = "any bits" if dtype in INTEGERS else "small"
    return values(dtype, flavour, n, np.random.default_rng([seed, n]))


def check(x: np.ndarray, shown: np.ndarray | None) -> None:
    """Compare a sum and a position with NumPy's of a copy."""
    got = note(gred.sum(x) if shown is None else gred.sum(x, where=shown))
    place = None if shown is not None else note(gred.argmax(x))
    if not __debug__:
        return
    flat = x.ravel() if shown is None else x[np.broadcast_to(shown, x.shape)]
    flat = flat.astype(x.dtype.newbyteorder("="))
    right = flat.sum() if flat.dtype in INTEGERS else home(flat).sum().astype(flat.dtype)
    about = x.dtype, x.shape, x.strides
    assert got == right, (*about, got, right)
    assert place is None or place == np.argmax(home(flat)), about


def checked(views: Callable[[], Views]) -> Callable[[], None]:
    @wraps(views)
    def check_all() -> None:
        for x, shown in views():
            check(x, shown)

    return check_all


def part(memory: np.ndarray, n: int, dtype: np.dtype, stride: int, at_end: bool) -> np.ndarray:
    """Return n elements, `stride` apart, that begin or end where the memory does."""
    nbytes = ((n - 1) * stride + 1) * dtype.itemsize
    elements = (memory[memory.size - nbytes :] if at_end else memory[:nbytes]).view(dtype)
    return elements[::stride] if stride else np.broadcast_to(elements[:1], n)


@checked
def rows() -> Views:
    """Yield rows of every length, stride, byte order and mask; every nonzero mask byte is true."""
    memory, bytes_ = guarded(81), guarded(4)
    every = itertools.product(EVERY_TYPE, LENGTHS, (1, 2, 3, 5), (0, 1, 2, 3), (False, True))
    for dtype, n, stride, mask_stride, at_end in chosen(every):
        random = np.random.default_rng(n)
        for order in (dtype, dtype.newbyteorder())[: 1 + (dtype.kind != "V")]:
            x = part(memory, n, order, stride, at_end)
            x[:] = whole_numbers(dtype, n, n)
            yield x, None
            yield x[::-1], None
            bytes_[:] = random.integers(1, 256, bytes_.size)
            bytes_[random.integers(0, 100, bytes_.size) >= (1, 50, 99)[n % 3]] = 0
            shown = part(bytes_, n, np.dtype(bool), mask_stride, at_end)
            yield x, shown
            yield x[::-1], shown[::-1]
        pairs = np.zeros(n, [("byte", "u1"), ("value", dtype)])
        pairs["value"] = whole_numbers(dtype, n, n)
        yield pairs["value"], None


def cut(a: np.ndarray) -> Iterator[np.ndarray]:
    """Yield views of an array, some of which repeat elements."""
    yield from (a[:, 1:-1, ::2], a[::-1, ::3, ::5], a[..., :3])
    yield from (a[:, :, 1:-1].transpose(1, 0, 2), a[:, ::2].T)
    for again in (a[:, :, :1], a[:, :1], a[:1, :, 3:4]):
        yield np.broadcast_to(again, a.shape)
    yield np.broadcast_to(a[:, 0, 0], (1000, 6))


@checked
def dimensions() -> Views:
    """Yield multidimensional views, also with repeated elements, and masks in other orders."""
    masks = np.random.default_rng(0).random((6, 50, 70)) < 0.5
    for dtype in EVERY_TYPE:
        x = whole_numbers(dtype, masks.size, 3).reshape(masks.shape)
        for view, shown in zip(cut(x), cut(masks), strict=True):
            for mask in (None, shown, np.asfortranarray(shown), shown[:1]):
                yield view, mask


@checked
def long_rows() -> Views:
    """Yield rows about as long as a chunk, or as rows reduced in place, up to a guard page."""
    memory = guarded(40)
    for dtype in EVERY_TYPE:
        for n in (960 // dtype.itemsize, 1500, CHUNK - 1, CHUNK, CHUNK + 1):
            every = itertools.product((n - 1, n, n + 1), (1, 2, 5, 9))
            for length, height in chosen(every, dtype):
                nbytes = height * (length + 3) * dtype.itemsize
                if nbytes > memory.size:
                    continue
                whole = memory[memory.size - nbytes :].view(dtype).reshape(height, length + 3)
                whole[:] = whole_numbers(dtype, whole.size, n).reshape(whole.shape)
                for view in (whole[:, 3:], whole[::-1, 1:-2], whole[:, :length:2]):
                    yield view, None


def bits() -> None:
    """Check that rounded sums are as accurate as for flat arrays, and equal for any threads."""
    random = np.random.default_rng(5)
    for dtype in FLOATS:
        x = (random.random((300, 1003)) / 10).astype(dtype)
        shown = random.random(x.shape) < 0.7
        for view in (x[:, 1:-1], x[::3], x[:, ::2], x[:, :100].T, x[::2, ::5], x[:, 5:-700]):
            got = note(gred.sum(view))
            assert near(got, home(view).ravel(), dtype), (dtype, got)
            for name in ("mean", "var", "norm", "nansum"):
                note(getattr(gred, name)(view))
        for options in ({"where": shown}, {"where": shown[:1]}, {"dtype": np.float64}):
            note(gred.sum(x, **options))
            note(gred.mean(x[:, 1:-1], **{**options, "where": True}))


# ---- conversions ----


def alone(value: np.ndarray, place: int, to: np.dtype) -> np.ndarray:
    """Convert a value that is surrounded by zeros, and one at the end of an array."""
    x = np.zeros(70, value.dtype)
    x[place] = value
    return home(note(np.array([gred.sum(x, dtype=to), gred.sum(x[: place + 1], dtype=to)])))


def values_of(dtype: np.dtype) -> np.ndarray:
    if dtype in INTEGERS:
        random = whole_numbers(dtype, 40, 9)
        return random if dtype.kind == "b" else np.append(random, [np.iinfo(dtype).min, 0])
    near = [0, 1, -1, 0.5, -0.75, 2.5, 127, 128, -129, 255, 256, 32767, 32768, 65504, 65519.9]
    more = [65520, 2**31 - 1, 2**31, -(2**31) - 1, 2**53, 2**63, -(2**63), 2**64, 1e-7, 6e-8, 3e-8]
    with np.errstate(over="ignore"):
        return np.array([*near, *more, 1e30, -1e30, np.inf, -np.inf, np.nan], float).astype(dtype)


def conversions() -> None:
    """Convert every type to every type, at various positions in a register."""
    for dtype, to in chosen(itertools.product(EVERY_TYPE, EVERY_TYPE)):
        for place, value in enumerate(values_of(dtype)):
            with silenced():
                got, right = alone(value, place % 70, to), home(np.asarray(value)).astype(to)
            if converts(np.asarray(value), to):
                same = np.array_equal(got, home(np.stack([right, right])), equal_nan=True)
                assert same, (dtype, to, value, got, right)


def halves() -> None:
    """Convert all float16 values, the midpoints between them, and the midpoints' neighbors."""
    half = np.dtype(np.float16)
    finite = np.arange(0x7C01, dtype=np.uint16).view(half).astype(np.float64)
    finite[-1] = 2.0**16
    middle = (finite[1:] + finite[:-1]) / 2
    near = [middle, np.nextafter(middle, 0), np.nextafter(middle, 1e9), finite[:-1]]
    for x in (*near, *(wide.astype(np.float32) for wide in near)):
        with np.errstate(over="ignore"):
            right = x.astype(half)
        for k in chosen(range(0, x.size, 7)):
            got = alone(x[k], k % 70, half), alone(-x[k], k % 70, half)
            assert np.array_equal(got, [[right[k]] * 2, [-right[k]] * 2]), x[k]


CHECKS = (rows, dimensions, long_rows, bits, conversions, halves)
