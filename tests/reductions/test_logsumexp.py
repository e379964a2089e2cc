"""`logsumexp`: beside exponentials of wider types, of what would overflow, and of infinities."""

import numpy as np
import pytest
from devices import PLACES, laid_out, parameter, to_host

import gred

places = pytest.mark.parametrize("place", [parameter(place) for place in PLACES])
INFINITE = [
    ([np.inf, 1], np.inf),
    ([-np.inf, -np.inf], -np.inf),
    ([-np.inf, 3], 3),
    ([np.inf, -np.inf], np.inf),
    ([np.inf, np.nan], np.nan),
    ([np.nan, 1], np.nan),
    ([-np.inf, np.nan], np.nan),
    ([], -np.inf),
]


@places
@pytest.mark.parametrize(("x", "right"), INFINITE, ids=str)
def test_infinities_and_nan(place, x, right):
    for dtype in ("f2", "f4", "f8"):
        column = np.array(x, dtype)[:, None]
        for n in (1, 40):  # the same value again, so that parts merge
            long = np.repeat(column, n, 0)
            wanted = right + (np.log(n) if np.isfinite(right) else 0)
            for axis, shape in ((0, long.shape), (1, long.T.shape), (None, long.shape)):
                got = to_host(gred.logsumexp(laid_out(long.reshape(shape), place), axis))
                assert np.allclose(np.float64(got), wanted, 1e-3, equal_nan=True), (axis, n)


@places
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("scale", [1e-3, 1, 30, 1e4, 1e30])
def test_of_any_size(place, dtype, scale):
    """Exponentials would overflow, and so would differences of some elements."""
    x = (np.random.default_rng(1).normal(size=(70, 300)) * scale).astype(dtype)
    for axis, rows in ((1, x), (0, x.T)):
        got = to_host(gred.logsumexp(laid_out(x, place), axis))
        for one, row in zip(got, rows, strict=True):
            wide = row.astype(np.longdouble)
            right = wide.max() + np.log(np.exp(wide - wide.max()).sum())
            assert abs(one - right) <= 40 * np.finfo(dtype).eps * (1 + abs(right))


@places
def test_of_integers_it_is_a_float(place):
    with pytest.raises(TypeError, match="must be a float or complex type"):
        gred.logsumexp(laid_out(np.arange(3), place), dtype=int)
