"""Arrays of every layout and alignment, masks, and narrow types are read where they lie.

Lengths and alignments are around all that a group of threads takes at a time: windows of 64 bytes
of values a thread, by loads of 16 bytes where elements touch, masks by 4.

Integers of one and two bytes are taken in by words, a batch of 64 bytes at a time. A thread meets
one where the array has more than a batch for each thread of the grid; the simulated device has
2,048 of them, so 131,072 bytes are the first with a batch each.
"""

import itertools

import numpy as np
import pytest
from devices import everywhere, laid_out
from inputs import OPS
from reference import BFLOAT16, EVERY_TYPE, agrees, truth
from samples import all_right, takes, there, wrong
from thin import chosen
from truths import NAMES, PLACES

import gred
from gred.testing import SimulatedArray

LAYOUTS = {
    "every second column": lambda x: x[:, ::2],
    "every second row": lambda x: x[::2],
    "inner columns": lambda x: x[:, 1:-1],
    "far apart": lambda x: x[::3, ::5],
    "short rows": lambda x: x[:, :8],
    "short rows off a boundary": lambda x: x[:, 3:12],
    "columns first": lambda x: x.T,
    "columns backwards": lambda x: x[:, ::-3],
    "three dimensions": lambda x: x[:, :600].reshape(-1, 3, 200)[::2, 1:, 1::3],
    "a row again and again": lambda x: np.broadcast_to(x[0], (3, x.shape[1])),
}
ROWS, COLUMNS = 7, 613
every_name = pytest.mark.parametrize("name", [*OPS, *NAMES])
BATCHES = 2048 * 64
NARROW = tuple(map(np.dtype, (np.bool_, np.int8, np.uint8, np.int16, np.uint16)))
every_narrow_type = pytest.mark.parametrize("dtype", NARROW, ids=str)


def some_mask(shape, seed=0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).integers(0, 3, shape) > 0


def initial_of(name: str, dtype: np.dtype) -> dict:
    """Give what a mask may leave nothing of a value to begin with."""
    return {"initial": dtype.type(1)} if name.removeprefix("nan") in ("min", "max") else {}


@everywhere
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PLACES)
def test_the_first_of_equals_is_found_in_every_layout(place, name, layout):
    take = LAYOUTS[layout]
    best = -1 if name == "argmin" else 1
    for seed, dtype in enumerate((np.int8, np.float32, np.float64, np.complex64)):
        random = np.random.default_rng(seed)
        for share in (0.5, 0.01, 0.0005, 0):
            whole = np.where(random.random((ROWS, COLUMNS)) < share, best, 0).astype(dtype)
            x, shown = take(whole), take(some_mask(whole.shape, seed))
            visible = np.where(shown, x, -2 * best)
            assert getattr(gred, name)(laid_out(x, place)) == getattr(np, name)(x)
            got = getattr(gred, name)(laid_out(x, place), where=laid_out(shown, place))
            assert got == getattr(np, name)(visible)


def around(*limits: int) -> list[int]:
    return sorted({n + more for n in limits for more in (-3, -1, 0, 1, 3) if n + more > 0})


LENGTHS = [*range(1, 21), *around(32, 64, 128, 256, 512, 1024, 2048, 4096)]


@everywhere
@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "float32", "float64", "complex64"])
def test_masks_and_arrays_of_any_alignment_and_length(place, dtype):
    """One after the other both, so that they are read in words; the mask is not the array's."""
    random = np.random.default_rng(1)
    values = random.integers(-9, 10, LENGTHS[-1] + 40).astype(dtype)
    shown = random.integers(0, 2, values.size).astype(bool)
    for turn, n in enumerate(LENGTHS):
        first, mask_first = turn % 5, turn * 7 % 9
        x, where = values[first : first + n], shown[mask_first : mask_first + n]
        a, shown_there = laid_out(x, place), laid_out(where, place)
        right = truth("sum", x, where=where)
        assert agrees(gred.sum(a, where=shown_there), right), (n, first, mask_first)
        assert gred.count_nonzero(a, where=shown_there) == np.count_nonzero(x[where])


@everywhere
@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "int64", "complex128"])
def test_rows_of_any_length_and_alignment(place, dtype):
    """Rows that begin at every distance from a boundary: they are longer than they are read."""
    for n in chosen(LENGTHS, dtype):
        whole = np.random.default_rng(n).integers(-9, 10, (5, n + 3)).astype(dtype)
        for x in (whole[:, 1 : n + 1], whole[:, :n:2], whole[1:, 3:]):
            a = laid_out(x, place)
            assert agrees(gred.sum(a), truth("sum", x))
            assert gred.argmax(a) == np.argmax(x)


@everywhere
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float16"])
def test_no_element_is_taken_twice_where_a_row_is_read_in_stretches(place, dtype):
    """Rows that begin off a boundary, and are longer than what a group reads at a stretch."""
    whole = np.random.default_rng(3).integers(1, 4, (4, 9300)).astype(dtype)
    for first, length in itertools.product(range(6), (1100, 2310, 4620, 9240)):
        x = whole[:, first : first + length]
        got = gred.sum(laid_out(x, place), dtype="f4" if dtype == "float16" else "i8")
        assert got == x.sum(dtype="i8")


@everywhere
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
def test_means_know_how_many_a_mask_shows(place, dtype):
    """Sums of integers, which are means by dtype= alone, are counted apart."""
    x = np.random.default_rng(1).integers(0, 9, (ROWS, COLUMNS)).astype("int16")
    for seed, take in enumerate(LAYOUTS.values()):
        view, where = take(x), take(some_mask(x.shape, seed))
        got = gred.mean(laid_out(view, place), where=laid_out(where, place), dtype=dtype)
        assert agrees(got, truth("mean", view, np.dtype(dtype), where=where)), (dtype, seed)


@every_name
def test_nothing_is_copied_first(name):
    for dtype in EVERY_TYPE:
        if not takes(name, dtype) or dtype == BFLOAT16:
            continue
        a, mask = (SimulatedArray(np.ones((4, 100), t)) for t in (dtype, bool))
        masked = {"where": mask, **initial_of(name, dtype)}
        for plan in (gred.explain(a[:, ::2], name), gred.explain(a, name, **masked)):
            assert "rows" in plan.array, f"{name} of {dtype}: {plan.array}"
            assert plan.steps[0].work == "pass 1"


# ---- narrow types ----


def ends(dtype):
    return (0, 1) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)


def drawn(dtype, n, seed):
    least, greatest = ends(dtype)
    values = np.random.default_rng(seed).integers(least, greatest, n, endpoint=True)
    return values.astype(dtype)


@every_narrow_type
@every_name
def test_all_of_a_batch_is_right(name, dtype, device):
    """Whatever the values are, and wherever the array begins and ends beside the batches."""
    if not takes(name, dtype):
        pytest.skip("NumPy has no difference of truth values")
    n = BATCHES // dtype.itemsize
    constant = [np.full(n, value, dtype) for value in ends(dtype)]
    cut = [drawn(dtype, n + 70, k)[k : n + 3 * k] for k in chosen((0, 5, 33), name, dtype)]
    all_right(wrong(name, x, x, device=device) for x in (*constant, *cut))


@every_narrow_type
def test_every_place_in_a_batch_counts(dtype, device):
    """One element is unlike all others, in turn at each place of words that one thread takes in."""
    least, greatest = ends(dtype)
    n = BATCHES // dtype.itemsize
    x = np.full(n, least, dtype)
    y = np.full(n, greatest, dtype)
    first = np.array([0, 2048 * 16, 2 * 2048 * 16, 3 * 2048 * 16]) // dtype.itemsize
    places = (first[:, None] + np.arange(16 // dtype.itemsize)).ravel()
    for at in chosen(map(int, places), dtype):
        x[at], y[at] = greatest, least
        on_device, other = there(x, device), there(y, device)
        assert gred.argmax(on_device) == gred.argmin(other) == at
        assert (gred.max(on_device), gred.min(other)) == (greatest, least)
        assert gred.minmax(on_device) == (least, greatest)
        assert gred.count_nonzero(on_device) == (1 if least == 0 else n)
        assert gred.sum(on_device) == least * (n - 1) + greatest
        assert gred.sum(other) == greatest * (n - 1) + least
        x[at], y[at] = least, greatest


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"])
def test_any_byte_but_zero_is_true(name, device):
    """Memory that a library calls bool may hold other bytes than 0 and 1."""
    for zero in (None, 0, BATCHES // 2 + 13):
        bytes_of_truth = np.arange(BATCHES, dtype=np.uint32).astype(np.uint8) | 1
        if zero is not None:
            bytes_of_truth[zero] = 0
        x = there(bytes_of_truth.view(np.bool_), device)
        right = getattr(np, name)(bytes_of_truth != 0)
        assert getattr(gred, name)(x) == right, (name, zero)


@every_narrow_type
@pytest.mark.parametrize("dtype_asked", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_sums_in_floats_are_those_of_the_integers(name, dtype, dtype_asked, device):
    """Sums below 2^24 are exact in float32, too, whatever the order."""
    x = drawn(dtype, BATCHES // dtype.itemsize + 5, 3)
    x = (x // 256 if dtype.itemsize == 2 else x % 100 if dtype != np.bool_ else x).astype(dtype)
    total = int(x.sum(dtype=np.int64))
    assert abs(x.astype(np.int64)).sum() < 2**24
    got = getattr(gred, name)(there(x, device), dtype=dtype_asked)
    right = dtype_asked(total) if name == "sum" else dtype_asked(total) / dtype_asked(len(x))
    assert type(got) is dtype_asked
    assert got == right
