"""`gred.describe` along axes: every field is what NumPy says of each result's elements."""

import numpy as np
import pytest
from devices import to_host
from gpu_libraries import Cupy, Torch, of
from samples import silenced
from thin import chosen

import gred
from gred.testing import SimulatedArray

TYPES = ["f2", "f4", "f8", "c8", "c16", "i1", "u2", "i4", "u8", "?"]
VIEWS = {"as it is": lambda x: x, "T": lambda x: x.T, "sliced": lambda x: x[::-1, 1:, ::-2]}


def drawn(shape, dtype):
    """Draw numbers, of floats some of them NaN, and nothing else in places."""
    x = np.random.default_rng(0).normal(size=shape) * 9
    x = (abs(x) if dtype[0] == "u" else x).astype(dtype)
    if x.dtype.kind in "fc" and x.ndim == 3:
        x[1, 2, ::3] = x[0, 0] = np.nan
    return x


def check(got, x, axis, ddof=0, shown=True, keepdims=False):
    """Compare every field with NumPy's, and its type with that of the reduction it is called by."""
    own, kind = {"axis": axis, "keepdims": keepdims}, x.dtype
    shown = np.broadcast_to(shown, x.shape)
    with silenced():
        y = np.where(shown, x.astype(np.result_type(kind, "f8")), np.nan)
        functions = (np.nanmin, np.nanmax, np.nanmean, np.nanvar, np.nansum)
        more = [{"ddof": ddof} if one is np.nanvar else {} for one in functions]
        right = [one(y, **own, **more) for one, more in zip(functions, more, strict=True)]
    count = (y == y).sum(**own)
    integer = kind.kind in "iub"
    mean = np.dtype("f8") if integer else kind
    # Of all there is something, and so there is of all that are shown.
    ends = mean if integer and not shown.all() and np.size(count) > 1 else kind
    types = ["i8", "i8", ends, ends, mean, np.zeros(0, mean).real.dtype, x[:0].sum().dtype]
    near = {"rtol": 4e-3, "atol": 0.1} if kind == "f2" else {"rtol": 1e-5, "atol": 1e-5}
    for field, want, dtype in zip(
        got, [count, shown.sum(**own) - count, *right], types, strict=True
    ):
        here = to_host(field)
        assert (here.shape, here.dtype) == (np.shape(want), dtype)
        np.testing.assert_allclose(here.astype(y.dtype), np.asarray(want, y.dtype), **near)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("axis", [0, 1, (0, 2), -1, (0, 1, 2)], ids=str)
def test_fields_are_numpys(dtype, view, axis):
    """On the host, brought to a device, and where the array lies there."""
    x = VIEWS[view](drawn((6, 5, 40), dtype))
    mask = VIEWS[view](np.random.default_rng(1).random((6, 5, 40)) > 0.3)
    there = SimulatedArray(x)
    for options in chosen(({}, {"ddof": 1}, {"keepdims": True}), dtype, axis):
        check(gred.describe(x, axis=axis, **options), x, axis, **options)
        check(gred.describe(x, axis=axis, device="simulated", **options), x, axis, **options)
        check(gred.describe(there, axis=axis, **options), x, axis, **options)
    check(gred.describe(there, axis=axis, where=SimulatedArray(mask)), x, axis, shown=mask)


@pytest.mark.parametrize("shape", [(2, 3000), (3000, 2), (70_000,), (257, 129), (10, 50, 9)])
def test_long_and_many_results_are_described_on_a_device(shape):
    """By teams of every size, and by several blocks a result."""
    x = drawn(shape, "f4")
    for axis in chosen(range(len(shape)), shape):
        with gred.thread_order("shuffled", seed=axis):
            check(gred.describe(SimulatedArray(x), axis=axis), x, axis)


def test_nothing_is_described(device):
    for x in (np.zeros((0, 3)), np.zeros((3, 0))):
        got = gred.describe(x, axis=0, device=device)
        assert got.count.shape == x.shape[1:]
        assert np.isnan(got.mean).all()
        assert not got.count.any()


@pytest.mark.gpu
@of(Cupy, Torch)
def test_fields_are_arrays_of_the_callers_library(library):
    """Exact ones and those by key, too."""
    host = drawn((30, 50, 40), "f4")
    x, keys = library.make(host), np.arange(30) % 4
    got = gred.describe(x, axis=1)
    assert {type(field) for field in (*got, got.std)} == {type(x)}
    check(got, host, 1)
    there, here = (
        (gred.describe(y, axis=1, method="exact"), gred.by_key("describe", k, y, 5))
        for y, k in ((x, library.make(keys)), (host, keys))
    )
    for made, want in zip(there, here, strict=True):
        assert {type(field) for field in made} == {type(x)}
        for field, right in zip(made, want, strict=True):
            # Sums of 50 elements of up to 4 or so, one rounding of 2^-24 each.
            np.testing.assert_allclose(to_host(field), right, 1e-5, 1e-5, equal_nan=True)
    assert to_host(there[0].var).tobytes() == here[0].var.tobytes()
    assert gred.describe(x, method="exact") == gred.describe(host, method="exact")


def test_fields_that_are_arrays_print_and_spreads_come_to_the_host():
    x = np.array([[1.0, 4.0], [3.0, 4.0]])
    for there in (x, SimulatedArray(x)):
        np.testing.assert_array_equal(to_host(gred.describe(there, axis=0).std), [1, 0])
    assert "std    [1. 0.]" in repr(gred.describe(x, axis=0))
