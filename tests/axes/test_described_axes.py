"""`gred.describe` along axes: the fields' own types, of nothing, and in libraries of devices.

Values are held against the truth where all reductions along axes are, in test_axes_kernels.py.
"""

import numpy as np
import pytest
from along import drawn_for
from devices import to_host
from gpu_libraries import Cupy, Torch, of
from reference import EVERY_TYPE
from samples import quietly, silenced
from thin import chosen

import gred
from gred.testing import SimulatedArray

SHAPES = [((6, 5, 40), axis) for axis in (0, 1, (0, 2), -1, (0, 1, 2))]
SHAPES += [(shape, axis) for shape in ((70, 30), (10, 50, 9), (257, 12)) for axis in (0, 1)]


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_fields_are_those_of_what_is_not_nan_wherever_the_array_lies(dtype):
    """On the host, brought to a device, and where the array lies there."""
    for seed in chosen(range(70), dtype):
        x, axis, options, *_ = one = drawn_for("describe", dtype, SHAPES, seed)
        for got in (
            quietly("describe", x, axis=axis, **options),
            quietly("describe", x, axis=axis, device="simulated", **options),
            quietly("describe", SimulatedArray(x), axis=axis, **options),
        ):
            assert not one.wrong("describe", to_host(got))


@pytest.mark.parametrize("dtype", ["i1", "u8", "?"])
def test_extremes_of_integers_are_floats_where_nothing_may_be_shown(dtype):
    x, shown = np.arange(60).reshape(6, 10).astype(dtype), np.arange(60).reshape(6, 10) % 7 > 1
    shown[2] = False
    for array in (x, SimulatedArray(x)):
        with silenced():
            got = to_host(gred.describe(array, axis=1, where=shown, keepdims=True))
        wide = np.where(shown, x.astype("f8"), np.nan)
        with silenced():
            right = (np.nanmin(wide, 1, keepdims=True), np.nanmax(wide, 1, keepdims=True))
        for field, want in zip((got.min, got.max), right, strict=True):
            np.testing.assert_array_equal(field, want, strict=True)


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
    host = np.random.default_rng(0).normal(size=(30, 50, 40)).astype("f4") * 9
    host[1, 2, ::3] = host[0, 0] = np.nan
    x, keys = library.make(host), np.arange(30) % 4
    both = ((x, library.make(keys)), (host, keys))
    for k, describe in enumerate(
        (
            lambda y, _: gred.describe(y, axis=1),
            lambda y, _: gred.describe(y, axis=1, method="exact"),
            lambda y, keys: gred.by_key("describe", keys, y, 5),
        )
    ):
        there, here = (describe(*arrays) for arrays in both)
        assert {type(field) for field in there} == {type(x)}
        for field, right in zip(there, here, strict=True):
            # Sums of 50 elements of up to 4 or so, one rounding of 2^-24 each.
            np.testing.assert_allclose(to_host(field), right, 1e-5, 1e-5, equal_nan=True)
        assert k != 1 or to_host(there.var).tobytes() == here.var.tobytes()
    assert gred.describe(x, method="exact") == gred.describe(host, method="exact")


def test_fields_that_are_arrays_print_and_spreads_come_to_the_host():
    x = np.array([[1.0, 4.0], [3.0, 4.0]])
    for there in (x, SimulatedArray(x)):
        np.testing.assert_array_equal(to_host(gred.describe(there, axis=0).std), [1, 0])
    assert "std    [1. 0.]" in repr(gred.describe(x, axis=0))
