"""`dtype=`, `initial=` and calls: NumPy's answers and refusals, for every reduction."""

import math
import warnings

import ml_dtypes
import numpy as np
import pytest
from inputs import OPS, shown
from numpys import FLOATS, SMALL, A, as_in_numpy, everywhere
from reference import BFLOAT16, COMPLEX, agrees, truth
from samples import quietly, silenced, wrong
from truths import NAMES

import gred

WITH_NAN = np.array([1.75, np.nan, -2.5, 3.875, np.nan, 0.5])
INITIALS = [5, -5, 2.5, True, np.float32(1.5), np.uint8(200), np.int64(-1), np.array(4), 10**9]
INITIALS += ["2", "x", [1], [1, 2], (), {}, object(), b"3", 1j, np.complex64(2), 2**63, 2**70]
INITIALS += [np.nan, np.inf, np.array([3]), np.array([1, 2]), 300, -129, np.bool_(False), 1e300]
INITIALS += [-(2**63), None, np._NoValue]


@everywhere
@pytest.mark.parametrize("initial", INITIALS, ids=shown)
def test_initial_is_converted_as_numpys(initial, where):
    """None is no identity; NumPy passes its own mark on, for what its caller left out."""
    for op in ("sum", "prod", "min", "max"):
        for a in (A, FLOATS, SMALL, FLOATS.astype(np.float32), A > 2, A[:0]):
            as_in_numpy(op, a, where, initial=initial)
            if initial is None or initial is np._NoValue:
                for mask in (a > 1, True, np._NoValue):
                    as_in_numpy(op, a, where, initial=initial, where=mask)
        if isinstance(initial, int | float):
            if op != "prod" or math.isfinite(initial):
                as_in_numpy(op, A * (1 + 2j), {}, initial=initial)
            for dtype in (np.int8, np.float64, np.uint16, bool) if op in ("sum", "prod") else ():
                as_in_numpy(op, A, where, initial=initial, dtype=dtype)
            several = () if op == "prod" and initial == 1e300 else (WITH_NAN,)  # rounded
            for x in (*several, WITH_NAN[:0], WITH_NAN[1:2], WITH_NAN[:1]):
                as_in_numpy(f"nan{op}", x, {"device": where["device"]}, initial=initial)


@everywhere
def test_initial_counts_once_whatever_the_length_and_decides_the_sign_of_zero(where):
    for n in (0, 1, 33, 255, 257, 4097, 100_003):
        a, zeros = np.arange(n), np.full(n, -0.0)
        assert gred.sum(a, initial=7, **where) == a.sum() + 7
        assert gred.prod(np.ones(n), initial=-3, **where) == -3
        assert gred.max(a, initial=10**6, **where) == 10**6
        for options in ({}, {"initial": -0.0}, {"initial": 0.0}):
            got = gred.sum(zeros, **where, **options)
            assert (got, np.signbit(got)) == (0, np.signbit(np.sum(zeros, **options)))


DTYPES = [int, float, bool, complex, "f2", "i1", "bfloat16", ml_dtypes.bfloat16, np.uint16, "=i4"]
DTYPES += [np.dtype("<f8"), np.half, np.intp, np.longlong, np.ulonglong, "|i1", ">i1", "int32"]


@everywhere
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_name_of_a_type_is_a_dtype(dtype, where):
    dtype = np.dtype(dtype)
    got = gred.sum(A, dtype=dtype, **(where if dtype not in COMPLEX else {}))
    assert agrees(got, truth("sum", A, dtype))


@everywhere
def test_a_dropped_imaginary_part_is_warned_of(where):
    z = A * (1 + 2j)
    for dtype in (np.float64, np.int32, np.float16):
        with pytest.warns(np.exceptions.ComplexWarning, match="imaginary"):
            assert gred.sum(z, dtype=dtype, **where) == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gred.sum(z, dtype=bool) == np.True_
        assert gred.sum(z, dtype=np.complex64) == 30 + 60j
        with pytest.raises(np.exceptions.ComplexWarning):
            gred.sum(z, dtype=float, **where)


@pytest.mark.parametrize("mask", [None, [True, True, False, True, False, False]])
@pytest.mark.parametrize("to", ["i1", "i8", "u8", "?", "f8", "c8"])
@pytest.mark.parametrize("x", [WITH_NAN, WITH_NAN.astype(">f4"), WITH_NAN + 1j])
@pytest.mark.parametrize("name", ["nansum", "nanprod", "nanmean"])
def test_nan_is_left_out_before_it_is_cut_off(name, x, to, mask, device):
    options = {"dtype": to} | ({} if mask is None else {"where": mask})
    if name == "nanmean" and to in ("i1", "i8", "u8", "?"):
        with pytest.raises(TypeError, match="dtype"), silenced():
            gred.nanmean(x, **options, device=device)
        return
    for axis in (None, 0):
        with silenced():
            right = getattr(np, name)(x, axis=axis, **options)
        got = quietly(name, x, axis=axis, **options, device=device)
        assert (got, got.dtype) == (right, right.dtype)
    with silenced():
        assert gred.explain(x, name, **options, device=device).size == len(WITH_NAN)


def test_minmax_and_norms_have_a_dtype(device):
    x, whole = np.array([1.75, -2.5, 300.25]), np.arange(-50, 50, dtype=np.int16)
    for dtype in map(np.dtype, (np.float32, np.float16, np.int32)):
        assert not wrong("minmax", x, x, device=device, dtype=dtype)
    for dtype in map(np.dtype, (np.float32, np.float16, np.float64, BFLOAT16)):
        assert not wrong("norm", x, x, device=device, dtype=dtype)
        assert not wrong("norm", whole, whole, device=device, dtype=dtype)


def test_all_arguments_go_together():
    out = np.zeros((), np.float32)
    options = {"method": "shuffle", "block_size": 64, "device": "simulated", "dtype": np.float64}
    assert gred.sum(A, initial=0.5, where=A > 2, out=out, stream=1, **options) is out
    assert out == A[A > 2].sum() + 0.5


@pytest.mark.parametrize("name", [name for name in (*OPS, *NAMES) if name != "describe"])
def test_the_array_is_passed_by_its_name(name):
    call = getattr(gred, name)
    assert shown(call(**{"x" if name == "norm" else "a": A})) == shown(call(A))
