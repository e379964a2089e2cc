"""Segmented reductions one segment at a time, and arrays for which they are exact."""

import numpy as np
import pytest
from along import NAMES
from devices import to_host
from truths import numpys

UFUNCS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
UFUNCS |= {"any": np.logical_or, "all": np.logical_and}
every_op = pytest.mark.parametrize("op", UFUNCS)
NUMPYS = {name: numpys(name) for name in NAMES if name != "ptp"}


def same(result, expected):
    assert type(result) is np.ndarray
    np.testing.assert_array_equal(result, expected, strict=True)


def small(n, dtype, seed=1):
    """Return 0 and 1, whose sums and products are exact in any type."""
    x = np.random.default_rng(seed).integers(0, 3, n)
    return np.where(x == 2, 1, x).astype(dtype)


def whole(n, dtype, seed=1):
    """Draw small integers with repeated extremes, whose sums are exact."""
    x = np.random.default_rng(seed).integers(-9, 10, n)
    return (abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)


def nearly_same(got, want, n):
    """Compare exactly, or to within the roundings of n squared deviations."""
    got, want = to_host(got), np.asarray(want)
    assert got.shape == want.shape
    if got.dtype.kind in "iub":
        assert got.dtype == want.dtype
        assert np.array_equal(got, want)
    else:
        assert np.allclose(got, want, (n + 4) * 2.0**-52, 0, equal_nan=True)


def empty_result(op, dtype):
    if op not in ("min", "max"):
        return UFUNCS[op].identity
    if dtype.kind == "b":
        return op == "min"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.max if op == "min" else limits.min
    infinity = np.inf if op == "min" else -np.inf
    return complex(infinity, infinity) if dtype.kind == "c" else infinity


def by_one(op, x, offsets, *, empty="element"):
    """Reduce segments one by one in Python; those outside `x` are empty.

    Also return which ones are outside.
    """
    ufunc, n, results, outside = UFUNCS[op], len(x), [], []
    dtype = ufunc.reduceat(x[:1], [0]).dtype
    for k, start in enumerate(offsets):
        end = offsets[k + 1] if k + 1 < len(offsets) else n
        within = 0 <= start < n + (empty == "identity") and 0 <= end <= n
        outside.append(not within)
        if within and end <= start and empty == "element":
            end = start + 1
        part = x[start:end] if within else x[:0]
        results.append(ufunc.reduceat(part, [0])[0] if len(part) else empty_result(op, dtype))
    return np.array(results, dtype), np.array(outside, bool)
