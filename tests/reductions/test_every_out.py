"""`out=` of every function that has one: it gets the results, and nothing beside it is written.

On the host or a device, wherever the arrays lie, of any strides and type, and over what is read.
"""

import itertools

import numpy as np
import pytest
from calls import CALLS, OTHERS, SHAPE, drawn, lie, places_of, results
from devices import GPU_IS_HERE, put, to_host
from samples import silenced
from thin import chosen

import gred
from gred.testing import SimulatedArray

every_out = pytest.mark.parametrize("name", [name for name, call in CALLS.items() if call.out])
SIDES = ("host", "simulated", *["cuda"] * GPU_IS_HERE)


def all_along(*bounds):
    """Take the same part along each dimension."""
    return lambda x: x[(slice(*bounds),) * x.ndim or ...]


# Of each the memory's shape for results of some shape, and where in it they go.
OUTS = {
    "as it is": (lambda shape: shape, lambda x: x[...]),
    "transposed": (lambda shape: shape[::-1], lambda x: x.T),
    "backwards": (lambda shape: shape, all_along(None, None, -1)),
    "every other": (lambda shape: tuple(2 * n for n in shape), all_along(None, None, 2)),
    "every third, backwards": (
        lambda shape: tuple(3 * n for n in shape),
        all_along(None, None, -3),
    ),
    "between others": (lambda shape: tuple(n + 4 for n in shape), all_along(2, -2)),
}


def kinds_of(dtype):
    """List types that an out may have beside the results' own."""
    return {"f": ("f8", "f4"), "i": ("i8", "i4"), "u": ("u8",), "b": ("i1", "f4")}[dtype.kind]


def sides_of(name):
    """Pair where arrays may lie with where their results may go: there, to the host or from it."""
    pairs = itertools.product(places_of(name), SIDES)
    if "each" in name:
        return [(place, side) for place, side in pairs if place == side]
    sides = {"host": ("host", "simulated") if "vecdot" in name else SIDES}
    sides["brought"] = ("host", "simulated")
    return [(place, side) for place, side in pairs if side in sides.get(place, ("host", place))]


@every_out
def test_out_of_any_strides_and_type_gets_the_results_alone(name):
    reduces_cubes = "along" in name
    x = drawn(name, "f8", (3, 4, 40) if reduces_cubes else SHAPE)
    arrays = CALLS[name].of(x)
    (want,) = results(name, arrays)
    kinds = kinds_of(want.dtype)
    every = itertools.product(sides_of(name), OUTS, kinds, (1, 2**30))
    for (place, side), layout, kind, limit in chosen(every, name):
        around, part = OUTS[layout]
        model = np.full(around(want.shape), 7, kind)
        memory, out = put(model.copy(), side, part)
        options = {"device": "simulated"} if place == "brought" else {}
        with silenced(), gred.workspace_limit(limit):
            try:
                assert CALLS[name].run(*lie(arrays, place), out=out, **options) is out
            except MemoryError:
                assert name in OTHERS
                continue
        part(model)[...] = want.astype(kind)
        got = to_host(memory).reshape(model.shape)
        near = 0 if CALLS[name].exact else 64 * np.finfo(kind).eps
        np.testing.assert_allclose(got, model, near, near)


PARTS = {0: (np.s_[0], np.s_[2], np.s_[-1, ::-1]), 1: (np.s_[:, 0], np.s_[::-1, 5])}
OVER = [name for name in CALLS if CALLS[name].out and "along" in name]


@pytest.mark.parametrize("name", OVER)
def test_out_may_lie_where_elements_do(name):
    """All are read before any is written over; and no others are."""
    axis = int(name[name.index("along") + 6])
    dtype = results(name, [drawn(name, "f8")])[0].dtype
    x = drawn(name, dtype)
    (want,) = results(name, [x])
    for side, part, order in itertools.product(SIDES, PARTS[axis], ("forwards", "shuffled")):
        memory, out = put(x.copy(), side, lambda x, part=part: x[part])
        array = memory.described(shape=x.shape) if side == "cuda" else memory
        with gred.thread_order(order), silenced():
            CALLS[name].run(array, out=out)
        model = x.copy()
        model[part] = want
        np.testing.assert_allclose(to_host(memory).reshape(x.shape), model, 1e-13, 1e-13)


def test_out_may_be_the_mask_the_mean_or_the_offsets():
    x = np.random.default_rng(9).normal(size=(6, 6))
    for make in (np.array, SimulatedArray):
        mask = make(x > 0)
        gred.any(make(x), 0, where=mask, out=mask[1])
        np.testing.assert_array_equal(to_host(mask)[1], np.any(x, 0, where=x > 0))
        memory = make(np.append(x.mean(0), 0))
        gred.var(make(x), 0, mean=memory[None, :6], out=memory[1:])
        right = np.var(x, 0, mean=x.mean(0, keepdims=True))
        np.testing.assert_allclose(to_host(memory)[1:], right, rtol=1e-12)
        for offsets in ([0, 4, 8], [8, 4, 0], np.arange(0, 900, 2)):
            there = make(np.array(offsets))
            gred.reduceat("sum", make(np.arange(900) ** 2), there, out=there)
            np.testing.assert_array_equal(
                to_host(there), np.add.reduceat(np.arange(900) ** 2, offsets)
            )


def wrong_outs(want):
    """Give what is no out for such results, and the error that it deserves."""
    locked = np.zeros_like(want)
    locked.setflags(write=False)
    there = SimulatedArray(np.zeros_like(want))
    address = there.__cuda_array_interface__["data"][0]
    yield locked, ValueError
    yield there.described(data=(address, True)), ValueError
    for shape in ((*want.shape, 2), (2, *want.shape), (3,), (0,)):
        yield np.zeros(shape, want.dtype), ValueError
        yield SimulatedArray(np.zeros(shape, want.dtype)), ValueError
    for no_array in (3, 3.5, [0.0], (0,), "out", np.float64(1), object(), bytearray(8)):
        yield no_array, (TypeError, ValueError)
    yield np.ma.zeros(want.shape, want.dtype), TypeError
    for dtype in ("O", "S8", "M8[s]", "g", "i4,f4"):
        yield np.zeros(want.shape, dtype), TypeError
    yield there.described(data=(8, False)), (ValueError, RuntimeError)
    yield there.described(typestr="|O8"), TypeError
    yield there.described(mask=object()), ValueError


@every_out
def test_what_is_no_out_is_refused_and_not_written(name):
    arrays = CALLS[name].of(drawn(name, "f8"))
    (want,) = results(name, arrays)
    for out, error in wrong_outs(want):
        if "vecdot" in name and isinstance(out, SimulatedArray) and out.shape == want.shape:
            continue  # which is written by its library
        with pytest.raises(error), silenced():
            CALLS[name].run(*arrays, out=out)
        if isinstance(out, np.ndarray) and out.dtype == want.dtype:
            assert not out.any()
