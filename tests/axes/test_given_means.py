"""`mean=` of var and std: deviations from what is given, as NumPy takes them."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from devices import to_host
from thin import chosen

import gred
from gred.testing import SimulatedArray

RANDOM = np.random.default_rng(0)
VIEWS = {"as it is": lambda a: a, "turned": lambda a: a.T, "sliced": lambda a: a[::-1, :, ::-2]}
both = pytest.mark.parametrize("name", ["var", "std"])


def about(name, x, mean, axis, ddof=0, shown=True):
    """Take deviations from `mean` in twice the bits."""
    away = np.abs(x.astype(np.clongdouble) - mean) ** 2
    shown = np.broadcast_to(shown, x.shape)
    with np.errstate(invalid="ignore"):
        var = np.where(shown, away, 0).sum(axis=axis) / (shown.sum(axis=axis) - ddof)
    return np.sqrt(var) if name == "std" else var


@both
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", "i1", "u4", "u8", "?"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2, (0, 2), (1, 2), (0, 1, 2), -1], ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_deviations_are_from_the_mean_that_is_given(name, dtype, axis, view):
    """Of arrays, masks and means on the host or a device, or brought there, in little memory."""
    x = VIEWS[view](abs(RANDOM.normal(size=(7, 5, 20)) * 5).astype(dtype))
    mask = VIEWS[view](RANDOM.random((7, 5, 20)) > 0.2)
    true = np.asarray(x.astype(np.result_type(dtype, "f8")).mean(axis=axis, keepdims=True))
    there, function = SimulatedArray(x), getattr(gred, name)
    means = (true, true + 1.5, true[..., :1] * 0 + 3, 2.5, np.float32(0), [[[1]]], np.ones((1, 1)))
    every = itertools.product(range(len(means)), (0, 1), (True, False))
    for turn, (k, ddof, masked) in enumerate(chosen(every, name, dtype, axis, view)):
        mean, where = means[k], mask if masked else True
        exact = np.asarray(about(name, x, mean, axis, ddof, where))
        more = {"ddof": ddof, "mean": mean, "where": where}
        got = [function(a, axis, keepdims=k, **more) for a in (x, there) for k in (False, True)]
        with gred.workspace_limit(1 if turn == 0 else 5000):
            got.append(function(x, axis, device="simulated", **more))
        if axis not in (None, (0, 1, 2)):
            out = SimulatedArray(np.zeros(exact.shape, function(x, axis).dtype))
            more["mean"] = SimulatedArray(np.asarray(mean))
            got += [function(there, axis, **more), function(there, axis, out=out, **more)]
        for results in map(to_host, got):
            near = 2e-3 if dtype == "f2" else 2e-6
            np.testing.assert_allclose(np.reshape(results, exact.shape), exact, rtol=near)
            assert results.dtype == function(x, axis, ddof=ddof).dtype


@both
def test_a_mean_may_be_whatever_numpy_broadcasts(name):
    """Of another type or of more dimensions; of a whole array on a device one element; or none."""
    x, function = np.arange(12.0).reshape(3, 4), getattr(gred, name)
    four = np.arange(4.0)[None, None]
    for fits in (3, True, Fraction(7, 2), np.ones((1, 1, 4)), [[1, 2.5, 3, 4]], four):
        right = about(name, x, np.asarray(fits, float).reshape(-1), 0)
        np.testing.assert_allclose(function(x, 0, mean=fits), right)
        got = [function(SimulatedArray(x), 0, mean=fits)]
        if isinstance(fits, np.ndarray):
            got.append(function(SimulatedArray(x), 0, mean=SimulatedArray(fits)))
        for one in got:
            np.testing.assert_allclose(to_host(one), right)
    x, out, one = RANDOM.normal(size=5000), SimulatedArray(np.zeros(())), SimulatedArray(np.ones(1))
    function(SimulatedArray(x), mean=0.5, out=out)
    np.testing.assert_allclose(to_host(out), about(name, x, 0.5, None))
    got = function(SimulatedArray(x), mean=one, keepdims=True)
    np.testing.assert_allclose(to_host(got), [about(name, x, 1, None)])
    assert function(x, mean=np._NoValue) == function(x)
    with pytest.warns(RuntimeWarning):  # of nothing
        assert np.isnan(function(np.zeros((0, 4)), 0, mean=SimulatedArray(np.ones((1, 4))))).all()


HOST, THERE = np.ones((3, 4)), SimulatedArray(np.ones((3, 4)))
WRONG = [
    (HOST, 0, np.ones((3, 1)), ValueError, "broadcast"),
    (HOST, None, np.ones(4), ValueError, "broadcast"),
    (HOST, 0, 1j, TypeError, "complex"),
    (HOST, 0, "x", TypeError, "mean must be a number or an array of numbers, not of <U1"),
    (HOST, 0, np.ones((2, 1, 4)), ValueError, "mean cannot be broadcast"),
    (HOST, 0, SimulatedArray(np.ones(4)), ValueError, "bring both"),
    (THERE, None, SimulatedArray(np.ones(1)), NotImplementedError, "keepdims"),
    (THERE, 0, SimulatedArray(np.ones((3, 1))), ValueError, "broadcast"),
    (THERE, 0, SimulatedArray(np.ones((2, 1, 4))), ValueError, "broadcast"),
    (THERE, 0, SimulatedArray(np.ones(4, complex)), TypeError, "complex"),
]


@both
@pytest.mark.parametrize(("x", "axis", "mean", "error", "words"), WRONG)
def test_a_mean_that_does_not_fit_is_refused(name, x, axis, mean, error, words):
    with pytest.raises(error, match=words):
        getattr(gred, name)(x, axis, mean=mean)


@pytest.mark.gpu
@both
def test_a_mean_that_another_call_leaves_on_the_gpu_is_given(name, library):
    """Without waiting for it; its memory may go at once."""
    host = RANDOM.normal(size=(3000, 400)).astype("f4") + 100
    x, function = library.make(host), getattr(gred, name)
    for axis in (0, 1):
        got = function(x, axis, mean=gred.mean(x, axis, keepdims=True))
        assert type(got) is type(x) or library.module == "driver"
        want = getattr(np, name)(host.astype("f8"), axis)
        np.testing.assert_allclose(to_host(got), want, rtol=1e-5)
