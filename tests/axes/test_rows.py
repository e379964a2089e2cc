"""Whole arrays and masks of every length, layout and alignment are read in place.

Lengths and alignments are around what a group of threads takes at a time: windows of 64 bytes of
values per thread, with loads of 16 bytes where elements are contiguous, and of 4 for masks.

Integers of one and two bytes are accumulated in words, in batches of 64 bytes. Threads have batches
only if there is more than one for each thread of the grid; the simulated device has 2,048 threads,
so that 131,072 bytes are the first with a batch each.
"""

import itertools

import calls
import numpy as np
import pytest
from along import DATA, filled
from devices import laid_out
from inputs import OPS
from reference import BFLOAT16, EVERY_TYPE, INTEGERS
from samples import all_right, options_of, silenced, takes, wrong
from thin import chosen
from truths import NAMES, PLACES

import gred
from gred.testing import SimulatedArray

SHAPE = (7, 613)
LENGTHS = sorted({n + k for n in (2**k for k in range(13)) for k in (-3, -1, 0, 1, 3) if n + k > 0})
LAYOUTS = calls.LAYOUTS | {
    "short rows at boundaries": lambda x: x[:, :8],
    "three dimensions": lambda x: x[:, :600].reshape(-1, 3, 200)[::2, 1:, 1::3],
}
# Contiguous elements, around the number read at a time; and rows of such lengths.
LAYOUTS |= {
    f"{n} from {n % 5} on": lambda x, n=n: x.reshape(-1)[n % 5 : n % 5 + n] for n in LENGTHS
}
LAYOUTS |= {
    f"rows of {n} from {n % 6} on": lambda x, n=n: np.resize(x, (4, n + 6))[1:, n % 6 : n % 6 + n]
    for n in (*LENGTHS[::3], 1100, 2310, 4620, 9241)
}
# Enough elements for several parts of a grid, or several of the host's threads.
LAYOUTS |= {f"{n} elements": lambda x, n=n: np.resize(x, n) for n in (2**16 + 1, 2**18 + 1)}
BATCHES = 2048 * 64
NARROW = tuple(map(np.dtype, (np.bool_, np.int8, np.uint8, np.int16, np.uint16)))
every_name = pytest.mark.parametrize("name", [*OPS, *NAMES])
every_narrow_type = pytest.mark.parametrize("dtype", NARROW, ids=str)


def some_mask(x, layout, seed):
    """Draw a mask with the array's layout, with another offset, or repeated along an axis."""
    shown = np.random.default_rng(seed).random((2, *SHAPE)) < 0.6
    mask = LAYOUTS[layout](shown[0])
    if seed % 4 < 2:
        return mask[:1] if seed % 4 else mask[..., :1]
    elsewhere = np.resize(shown, x.size + 9)[seed % 9 :][: x.size].reshape(x.shape)
    return mask if seed % 4 == 2 else elsewhere


@pytest.mark.parametrize("name", ["any", "all"])
def test_the_last_element_may_decide(name, device):
    for n, dtype in chosen(itertools.product((*LENGTHS, 2**16 + 1), EVERY_TYPE), name, device):
        x = np.full(n, name == "all", dtype)
        x[-1] = name == "any"
        assert getattr(gred, name)(laid_out(x, device)) == (name == "any"), (n, dtype)


@every_name
def test_every_layout_type_and_mask_is_read_where_it_lies(device, name):
    every = itertools.product(LAYOUTS, chosen(EVERY_TYPE, name), (False, True))
    more = options_of(name)
    for turn, (layout, dtype, masked) in enumerate(chosen(every, name)):
        random = np.random.default_rng([turn, *map(ord, name)])
        data = "equals" if name in PLACES else DATA[turn % len(DATA)]
        x = LAYOUTS[layout](filled(name, data, dtype, SHAPE, random))
        options, mask = dict(more[turn % len(more)]), {}
        if masked:
            options["where"] = some_mask(x, layout, turn)
            given = options["where"]
            if turn % 5 == 0:  # any nonzero byte is true
                given = (given * np.uint8(2 + turn % 254)).view(bool)
            mask["mask"] = laid_out(given, "host" if turn % 4 == 3 else device)
        if masked and name in ("min", "max", "nanmin", "nanmax"):
            options["initial"] = dtype.type(1)
        elif name in ("sum", "mean") and dtype in INTEGERS and turn % 2:
            options["dtype"] = np.dtype(random.choice(["i4", "f4", "f8", "c8"]))
        if takes(name, dtype) and (not masked or options["where"].any()):
            with silenced():  # converting signaling NaNs warns
                found = wrong(name, laid_out(x, device), x, **options, **mask)
            assert not found, (layout, data, found)


@every_name
def test_nothing_is_copied_first(name):
    for dtype in EVERY_TYPE:
        if not takes(name, dtype) or dtype == BFLOAT16:
            continue
        a, mask = (SimulatedArray(np.ones((4, 100), t)) for t in (dtype, bool))
        begun = {"initial": dtype.type(1)} if name.removeprefix("nan") in ("min", "max") else {}
        for plan in (gred.explain(a[:, ::2], name), gred.explain(a, name, where=mask, **begun)):
            assert "rows" in plan.array, f"{name} of {dtype}: {plan.array}"
            assert plan.steps[0].work == "pass 1"


@every_narrow_type
@every_name
def test_all_of_a_batch_is_right(name, dtype, device):
    """Batches are right for any values, wherever the array begins and ends relative to them.

    Memory that a library calls bool may hold bytes other than 0 and 1, which are true.
    """
    n = BATCHES // dtype.itemsize
    constant = [np.full(n, value, np.uint8).astype(dtype) for value in (0, 1)]
    if dtype != np.bool_:
        constant = [np.full(n, end, dtype) for end in (np.iinfo(dtype).min, np.iinfo(dtype).max)]
    whole = np.random.default_rng(3).integers(0, 256, (n + 70) * dtype.itemsize, np.uint8)
    whole = (whole * (whole > 127)).view(dtype) if dtype == np.bool_ else whole.view(dtype)
    cut = [whole[k : n + 3 * k] for k in chosen((0, 5, 23), name, dtype)]
    floats = [{"dtype": np.dtype(one)} for one in ("f4", "f8") if name in ("sum", "mean")]
    few = whole if dtype.itemsize == 1 else whole % dtype.type(256)  # sums are exact
    all_right(
        wrong(name, x, x, device=device, **options)
        for x, options in [*((x, {}) for x in (*constant, *cut)), *((few, one) for one in floats)]
        if takes(name, dtype)
    )


@every_narrow_type
def test_every_place_in_a_batch_counts(dtype, device):
    """One element differs from all others, at each place in the words that one thread reads."""
    least, greatest = (0, 1) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    n = BATCHES // dtype.itemsize
    x, y = np.full(n, least, dtype), np.full(n, greatest, dtype)
    first = np.array([0, 2048 * 16, 2 * 2048 * 16, 3 * 2048 * 16]) // dtype.itemsize
    places = (first[:, None] + np.arange(16 // dtype.itemsize)).ravel()
    for at in chosen(map(int, places), dtype):
        x[at], y[at] = greatest, least
        on_device, other = laid_out(x, device), laid_out(y, device)
        assert gred.argmax(on_device) == gred.argmin(other) == at
        assert gred.minmax(on_device) == gred.minmax(other) == (least, greatest)
        assert gred.count_nonzero(on_device) == (1 if least == 0 else n)
        assert gred.sum(on_device) == least * (n - 1) + greatest
        assert gred.sum(other) == greatest * (n - 1) + least
        x[at], y[at] = least, greatest
