"""Exact sums along axes go where they are wanted, and are made one by one where memory is short.

The truth is fractions.
"""

import functools
import itertools

import numpy as np
import pytest
from devices import to_host
from gpu_arrays import GpuArray
from reference import REALS
from samples import there
from test_exact_along import NAMES, check, on_devices, same_bits, typed, wanted
from thin import chosen

import gred
from gred.testing import SimulatedArray

pytestmark = pytest.mark.usefixtures("shuffled")


def put(memory, device, layout):
    """Put memory where a device writes to it, and describe the part of it that is laid out so."""
    part = layout(memory)
    if device == "host":
        return memory, part
    whole = SimulatedArray(memory) if device == "simulated" else GpuArray.of(memory)
    address = whole.__cuda_array_interface__["data"][0] + part.ctypes.data - memory.ctypes.data
    return whole, whole.described(shape=part.shape, strides=part.strides, data=(address, False))


def check_out(device, layout, want, like, made):
    """Have results written to a part of some memory: they are these, and all else is left alone."""
    memory = like.copy()
    whole, out = put(like.copy(), device, layout)
    assert made(whole, out) is out
    layout(memory)[...] = want.astype(memory.dtype)
    assert same_bits(to_host(whole).reshape(memory.shape), memory)


# How many elements there are around results of some shape, and where these lie among them.
OUTS = {
    "as it is": (lambda m, n: (m, n), lambda a: a),
    "transposed": (lambda m, n: (n, m), lambda a: a.T),
    "backwards": (lambda m, n: (m, n), lambda a: a[::-1, ::-1]),
    "every other": (lambda m, n: (2 * m, 2 * n + 1), lambda a: a[::2, 1::2]),
    "between others": (lambda m, n: (m + 2, n + 4), lambda a: a[1:-1, 2:-2]),
}


@typed
@pytest.mark.parametrize("out_type", [*REALS, np.dtype(np.int32)], ids=str)
@pytest.mark.parametrize("out", OUTS)
def test_out_has_any_strides_and_type(device, dtype, out_type, out):
    """Results are rounded once, to out's type or to what makes integers."""
    around, layout = OUTS[out]
    x = (np.random.default_rng(8).normal(size=(3, 4, 140)) * 9).astype(dtype)
    rounded = out_type if out_type in REALS else np.float64
    for axis, name in chosen(itertools.product(range(3), ("sum", "mean")), dtype, out_type, out):
        like = np.full(around(*np.delete(x.shape, axis)), 7, out_type)

        def made(_, out, name=name, axis=axis):
            return getattr(gred, name)(there(x, device), axis=axis, method="exact", out=out)

        check_out(device, layout, wanted(name, x, axis, rounded), like, made)


@typed
@pytest.mark.parametrize(
    ("axis", "part"),
    [
        *[(1, np.s_[:40]), (1, np.s_[1490:1410:-2]), (1, np.s_[3::200]), (1, np.s_[::-200])],
        *[(0, np.s_[100:300]), (0, np.s_[:200]), (0, np.s_[4399:4199:-1]), (0, np.s_[::40])],
    ],
    ids=str,
)
def test_out_may_lie_where_elements_do(device, dtype, axis, part):
    """All are read before any is written over, of rows and of columns; and no others are."""
    x = np.random.default_rng(9).lognormal(0, 2, (40, 200)).astype(dtype)
    x[::3] = -x[::3]
    for name in ("sum", "mean"):

        def made(whole, out, name=name):
            array = whole if device == "host" else whole.described(shape=x.shape)
            return getattr(gred, name)(array, axis=axis, method="exact", out=out)

        want = wanted(name, x, axis, dtype)
        check_out(device, lambda memory: memory.ravel()[part], want, x, made)


# Results that blocks share, for which they need memory.
SHARED = [((1300, 33), 0), ((3, 40_000), 1), ((2, 1300, 40), 1)]


@on_devices
@pytest.mark.parametrize(("shape", "axis"), SHARED)
def test_results_are_made_one_by_one_where_memory_is_short(place, shape, axis):
    x = there(np.ones(shape, np.float32), place)
    whole = gred.explain(x, axis=axis, method="exact")
    assert whole.at_once == whole.results > 1
    assert whole.workspace_nbytes > 0
    for less, at_once in ((0, whole.results), (1, 1)):
        with gred.workspace_limit(whole.workspace_nbytes - less):
            assert gred.explain(x, axis=axis, method="exact").at_once == at_once


@on_devices
@typed
@pytest.mark.parametrize(("shape", "axis"), SHARED)
@pytest.mark.parametrize("name", NAMES)
def test_results_made_one_by_one_are_added_exactly(place, dtype, shape, axis, name):
    x = np.random.default_rng(10).normal(size=shape)
    x = (x * np.exp2(np.random.default_rng(11).integers(-12, 12, shape))).astype(dtype)
    by_results = np.moveaxis(x, axis, -1)
    by_results[..., 1, 5], by_results[..., 0, ::9] = np.inf, np.nan
    with gred.workspace_limit(1):
        check(place, name, x, axis)
        check(place, name, x, axis, lambda x: x[..., ::-1])


@on_devices
@typed
@pytest.mark.parametrize("out_type", REALS, ids=str)
def test_results_made_one_by_one_go_where_they_are_wanted(place, dtype, out_type):
    """As they are, strided, of another type, and where elements lie."""
    x = np.random.default_rng(12).normal(size=(1300, 33)).astype(dtype)
    want, a = wanted("sum", x, 0, out_type), there(x, place)

    def summed(whole, out, array=a):
        return gred.sum(array or whole.described(shape=x.shape), 0, method="exact", out=out)

    with gred.workspace_limit(1):
        for part in (np.s_[1:34], np.s_[1::2], np.s_[64::-2]):
            memory = np.full(67, 7, out_type)
            check_out(place, lambda memory, part=part: memory[part], want, memory, summed)
        own = functools.partial(summed, array=None)
        check_out(place, lambda memory: memory[700], wanted("sum", x, 0, dtype), x, own)
