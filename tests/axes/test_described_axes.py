"""`gred.describe` along axes: every field is what NumPy says of each result's elements."""

import itertools

import numpy as np
import pytest
from devices import to_host
from gpu_libraries import Cupy, Torch, of
from thin import chosen

import gred
from gred.testing import SimulatedArray

RANDOM = np.random.default_rng(0)
TYPES = ["f2", "f4", "f8", "c8", "c16", "i1", "u2", "i4", "u8", "?"]
typed = pytest.mark.parametrize("dtype", TYPES)


def drawn(shape, dtype):
    """Draw numbers, of floats some of them NaN, and nothing else in places."""
    x = (RANDOM.normal(size=shape) * 9).astype(dtype)
    if x.dtype.kind in "fc":
        x[1, 2, ::3] = x[0, 0] = np.nan
    return x


def truth(x, axis, ddof, shown):
    """Describe by NumPy, one result's elements after the other."""
    rows = np.moveaxis(x, axis, range(-len(axis), 0))
    masks = np.moveaxis(np.broadcast_to(shown, x.shape), axis, range(-len(axis), 0))
    shape = rows.shape[: x.ndim - len(axis)]
    fields = [np.empty(shape, object) for _ in gred.statistics.summary.Summary._fields]
    for place in np.ndindex(shape):
        elements = rows[place][masks[place]]
        numbers = elements[elements == elements]
        wide = numbers.astype(np.result_type(x.dtype, "f8"))
        with np.errstate(all="ignore"):
            n = numbers.size
            of_one = [n, elements.size - n, numbers.min() if n else np.nan]
            of_one += [numbers.max() if n else np.nan, wide.mean() if n else np.nan]
            away = abs(wide - wide.mean()) ** 2 if n else wide.real
            of_one += [away.sum() / (n - ddof) if n > ddof else away.sum() / np.float64(0)]
            total = wide.sum() if x.dtype.kind in "fc" else numbers.sum()
        for field, value in zip(fields, [*of_one, total], strict=True):
            field[place] = value
    return fields


def types(x, maybe_nothing):
    """Name the fields' types: those of the reductions that they are called by."""
    integer = x.dtype.kind in "iub"
    ends = np.dtype("f8") if integer and maybe_nothing else x.dtype
    mean = np.dtype("f8") if integer else x.dtype
    return ["i8", "i8", ends, ends, mean, np.zeros(0, mean).real.dtype, x[:0].sum().dtype]


def check(got, x, axis, ddof=0, shown=True, keepdims=False):
    """Compare every field with NumPy's."""
    axis = tuple(k % x.ndim for k in np.atleast_1d(axis))
    shape = x.sum(axis=axis, keepdims=keepdims).shape
    wanted = types(x, shown is not True and len(axis) < x.ndim)  # of all there is something
    near = {"rtol": 4e-3, "atol": 0.1} if x.dtype == "f2" else {"rtol": 1e-5, "atol": 1e-5}
    for field, right, dtype in zip(got, truth(x, axis, ddof, shown), wanted, strict=True):
        here = to_host(field)
        assert (here.shape, here.dtype) == (shape, dtype)
        right = np.reshape(right, shape).astype(complex if x.dtype.kind == "c" else float)
        np.testing.assert_allclose(here.astype(right.dtype), right, **near)


@typed
@pytest.mark.parametrize(
    "view", [np.asarray, lambda x: x.T, lambda x: x[::-1, 1:, ::-2]], ids=["plain", "T", "sliced"]
)
@pytest.mark.parametrize("axis", [0, 1, (0, 2), -1, (0, 1, 2)])
def test_fields_are_numpys(dtype, view, axis):
    """On the host, brought to a device, and where the array lies there."""
    x = view(drawn((6, 5, 40), dtype))
    mask = view(RANDOM.random((6, 5, 40)) > 0.3)
    there = SimulatedArray(x)
    for options in chosen(({}, {"ddof": 1}, {"keepdims": True}), dtype, axis):
        check(gred.describe(x, axis=axis, **options), x, axis, **options)
        check(gred.describe(x, axis=axis, device="simulated", **options), x, axis, **options)
        check(gred.describe(there, axis=axis, **options), x, axis, **options)
    check(gred.describe(there, axis=axis, where=SimulatedArray(mask)), x, axis, shown=mask)


@pytest.mark.parametrize("shape", [(2, 3000), (3000, 2), (70_000,), (257, 129), (10, 50, 9)])
def test_long_and_many_results_are_described_on_a_device(shape):
    """By teams of every size, and by several blocks a result; in little memory, too."""
    x = RANDOM.normal(size=shape).astype("f4")
    for axis in chosen(range(len(shape)), shape):
        with gred.thread_order("shuffled", seed=axis):
            check(gred.describe(SimulatedArray(x), axis=axis), x, axis)
        for limit in (1, 1000, 6000) if len(shape) == 3 else ():
            with gred.workspace_limit(limit):
                check(gred.describe(x, axis=axis, device="simulated"), x, axis)


def test_nothing_is_described():
    for x, place in itertools.product((np.zeros((0, 3)), np.zeros((3, 0))), ("host", "simulated")):
        got = gred.describe(x, axis=0, device=place)
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
    exact = gred.describe(x, axis=1, method="exact"), gred.describe(host, axis=1, method="exact")
    by_key = (
        gred.by_key("describe", one, array, 5)
        for one, array in ((library.make(keys), x), (keys, host))
    )
    for made, want in (exact, by_key):
        assert {type(field) for field in made} == {type(x)}
        for field, right in zip(made, want, strict=True):
            # Sums of 50 elements of up to 4 or so, one rounding of 2^-24 each.
            np.testing.assert_allclose(to_host(field), right, 1e-5, 1e-5, equal_nan=True)
    assert to_host(exact[0].var).tobytes() == exact[1].var.tobytes()
    assert gred.describe(x, method="exact") == gred.describe(host, method="exact")


def test_fields_that_are_arrays_print_and_spreads_come_to_the_host():
    x = np.array([[1.0, 4.0], [3.0, 4.0]])
    for there in (x, SimulatedArray(x)):
        np.testing.assert_array_equal(to_host(gred.describe(there, axis=0).std), [1, 0])
    assert "std    [1. 0.]" in repr(gred.describe(x, axis=0))


def test_descriptions_do_not_add_up_as_tuples():
    summary = gred.describe([1.0, 2.0])
    assert (summary + summary).count == 4
    for other in (tuple(summary), 1):
        with pytest.raises(TypeError):
            summary + other
        with pytest.raises(TypeError):
            other + summary
