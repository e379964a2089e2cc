"""`dtype=`, `initial=` and calls: NumPy's answers and refusals, for every reduction."""

import math
import warnings

import ml_dtypes
import numpy as np
import pytest
from hostile import Refuses
from inputs import OPS, reduce, shown
from level import stays_level
from numpys import FLOATS, SMALL, A, as_in_numpy, everywhere
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, REALS, agrees, result_type, truth
from samples import quietly, takes, wrong
from test_streams import CudaStream
from truths import COUNTS, NAMES, SCALARS, SPREADS, WITHOUT_NAN, type_of
from truths import PLACES as POSITIONS

import gred
from gred.testing import SimulatedArray

every_name = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def the_next_call_is_right():
    yield
    assert gred.sum(A) == 30
    assert gred.max(A, method="interleaved", device="simulated") == 9


# ---- initial ----

INITIALS = [5, -5, 2.5, True, np.float32(1.5), np.uint8(200), np.int64(-1), np.array(4), 10**9]
INITIALS += ["2", "x", [1], [1, 2], (), {}, object(), b"3", 1j, np.complex64(2), 2**63, 2**70]
INITIALS += [-(2**63)]
INITIALS += [np.nan, np.inf, np.array([3]), np.array([1, 2]), 300, -129, np.bool_(False), 1e300]


@everywhere
@pytest.mark.parametrize("initial", INITIALS, ids=shown)
@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
def test_initial_is_converted_as_numpys(op, initial, where):
    for a in (A, FLOATS, SMALL, FLOATS.astype(np.float32), A > 2, A[:0]):
        as_in_numpy(op, a, where, initial=initial)
    if isinstance(initial, int | float):
        if op != "prod" or math.isfinite(initial):
            as_in_numpy(op, A * (1 + 2j), {}, initial=initial)
        for dtype in (np.int8, np.float64, np.uint16, bool):
            if op in ("sum", "prod"):
                as_in_numpy(op, A, where, initial=initial, dtype=dtype)


@everywhere
@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
def test_initial_none_is_no_identity(op, where):
    for a in (A, A[:0], FLOATS, A > 1):
        as_in_numpy(op, a, where, initial=None)
        as_in_numpy(op, a, where, initial=None, where=a > 1)
        as_in_numpy(op, a, where, initial=None, where=True)


@everywhere
def test_initial_counts_once_whatever_the_length(where):
    for n in (0, 1, 2, 33, 255, 256, 257, 513, 4097, 100003):
        a = np.arange(n)
        assert gred.sum(a, initial=7, **where) == a.sum() + 7
        assert gred.prod(np.ones(n), initial=-3, **where) == -3
        assert gred.max(a, initial=10**6, **where) == 10**6
        assert gred.min(a, initial=-4, **where) == -4


@everywhere
def test_a_sum_of_negative_zeros_has_the_sign_of_its_initial(where):
    for n in (0, 1, 5, 300):
        a = np.full(n, -0.0)
        for initial in (-0.0, 0.0):
            got = gred.sum(a, initial=initial, **where)
            assert got == 0
            assert np.signbit(got) == np.signbit(np.sum(a, initial=initial))
        assert np.signbit(gred.sum(a, **where)) == np.signbit(np.sum(a))


@everywhere
@pytest.mark.parametrize("op", ["sum", "prod", "min", "max"])
def test_an_initial_of_no_value_is_left_out(op, where):
    """NumPy passes its own mark on, for what its caller left out."""
    for a in (A, A[:0], FLOATS):
        as_in_numpy(op, a, where, initial=np._NoValue)
        as_in_numpy(op, a, where, initial=np._NoValue, where=np._NoValue)


@everywhere
def test_nan_as_initial_wins(where):
    for op in ("min", "max", "sum", "prod"):
        assert np.isnan(reduce(op, FLOATS, initial=np.nan, **where))


def test_a_conversion_that_raises_is_heard():
    class Hostile:
        def __int__(self):
            raise ZeroDivisionError("no number")

        __float__ = __index__ = __int__

    with pytest.raises(ZeroDivisionError, match="no number"):
        gred.sum(A, initial=Hostile())


def test_initial_takes_part_in_sums_and_extremes(device):
    x = np.array([3.0, np.nan, 5.0])
    assert gred.nansum(x, initial=10, device=device) == 18
    assert gred.nanprod(x, initial=-2, device=device) == -30
    assert gred.nanmin(x, initial=1, device=device) == 1
    assert gred.nanmin(x, initial=4, device=device) == 3
    assert gred.nanmax(x, initial=9, device=device) == 9
    assert gred.nanmax(x[:0], initial=9, device=device) == 9
    assert gred.nanmax(x[1:2], initial=9, device=device) == 9
    assert gred.nanmin(np.array([2, 3], np.int8), initial=-7, device=device) == -7
    for n in (1, 33, 257, 4097):
        y = np.where(np.arange(n) % 2, np.nan, 1.0)
        ones = (n + 1) // 2
        assert gred.nansum(y, initial=7, device=device) == ones + 7
        assert gred.nanprod(y, initial=7, device=device) == 7


def test_initials_that_are_nan_are_numpys(device):
    for op in ("nansum", "nanprod", "nanmin", "nanmax"):
        for x in (np.array([3.0, np.nan]), np.array([np.nan]), np.array([2.0])):
            right = quietly_numpys(op, x, initial=np.nan)
            np.testing.assert_array_equal(quietly(op, x, initial=np.nan, device=device), right, op)


def quietly_numpys(op, x, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(np, op)(x, **options)


@pytest.mark.parametrize(
    "name",
    ["mean", *(name for name in NAMES if name not in ("nansum", "nanprod", "nanmin", "nanmax"))],
)
def test_the_others_have_no_initial(name):
    with pytest.raises(TypeError, match="initial"):
        getattr(gred, name)(A, initial=1)


# ---- dtype ----


@everywhere
def test_results_have_numpys_type(where):
    for dtype in EVERY_TYPE:
        place = {} if dtype in COMPLEX else where
        for op in OPS:
            a = np.ones(3, dtype)
            got = reduce(op, a, **place)
            assert got.dtype == result_type(op, dtype)
            if dtype != BFLOAT16:
                expected = getattr(np, op)(a)
                assert type(got) is type(expected)
                assert got == expected


DTYPES = [int, float, bool, complex, "f2", "i1", "bfloat16", ml_dtypes.bfloat16, np.uint16, "=i4"]
DTYPES += [np.dtype("<f8"), np.half, np.intp, np.longlong, np.ulonglong, "|i1", ">i1"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_any_name_of_a_type_is_a_dtype(dtype):
    got = gred.sum(A, dtype=dtype)
    assert got.dtype == np.dtype(dtype)
    assert agrees(got, truth("sum", A, np.dtype(dtype)))


@pytest.mark.parametrize("dtype", [">f8", ">i4", ">c16", ">u2", ">f2"])
def test_a_dtype_in_the_other_byte_order_is_refused(dtype):
    with pytest.raises(TypeError):
        np.sum(A, dtype=dtype)
    with pytest.raises(TypeError, match=r"dtype.*byte order"):
        gred.sum(A, dtype=dtype)


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


@everywhere
def test_bools_are_added_as_any_and_multiplied_as_all(where):
    for values in ([True, False], [True] * 300, [False] * 300, [], [False] * 299 + [True]):
        a = np.array(values, bool)
        assert gred.sum(a, dtype=bool, **where) == any(values)
        assert gred.prod(a, dtype=bool, **where) == all(values)
        assert gred.sum(a, dtype=bool, **where).dtype == bool
        assert gred.sum(a, **where) == values.count(True)


@everywhere
def test_halves_are_rounded_once(where):
    """4096 ones and one: a float16 that grew by ones would stop at 2048, and bfloat16 at 256."""
    for dtype in (np.float16, ml_dtypes.bfloat16):
        a = np.ones(4096, dtype)
        assert gred.sum(a, **where) == 4096
        assert gred.mean(a, **where) == 1
    a = np.array([60000, 60000, -60000, -59000], np.float16)
    assert gred.sum(a, **where) == np.float16(60000) - np.float16(59000)
    assert np.isposinf(gred.sum(np.full(2, 60000, np.float16), **where))


@pytest.mark.parametrize("name", [*COUNTS, *POSITIONS])
def test_counts_and_places_have_no_dtype(name):
    with pytest.raises(TypeError, match="dtype"):
        getattr(gred, name)(A, dtype=np.float64)


def test_nan_is_left_out_before_elements_are_converted(device):
    """NaN that becomes an integer would be any number."""
    x = np.array([1.75, np.nan, 2.5, np.nan] * 100)
    for name in ("nansum", "nanprod"):
        for dtype in map(np.dtype, (np.float32, np.float16, BFLOAT16)):
            y = x if name == "nansum" else x[:8]
            assert not wrong(name, y, y, device=device, dtype=dtype), (name, dtype)
    for x in (np.arange(100, dtype=np.int32), np.arange(100).astype(np.float16)):
        for dtype in map(np.dtype, (np.float32, np.float64, np.complex64)):
            assert not wrong("nansum", x, x, device=device, dtype=dtype)
            assert not wrong("nanmean", x, x, device=device, dtype=dtype)


WITH_NAN = [1.75, np.nan, -2.5, 3.875, np.nan, 0.5]


@pytest.mark.parametrize("where", [True, [True, True, False, True, False, False]], ids=str)
@pytest.mark.parametrize("to", ["i1", "i8", "u8", "?", "f8", "c8"])
@pytest.mark.parametrize("x", [WITH_NAN, np.array(WITH_NAN, ">f4"), np.array(WITH_NAN) + 1j])
@pytest.mark.parametrize("name", ["nansum", "nanprod"])
def test_nan_is_left_out_before_it_is_cut_off(name, x, to, where, device):
    given = {"dtype": to} if where is True else {"dtype": to, "where": where}
    for axis in (None, 0):
        right = quietly_numpys(name, x, axis=axis, **given)
        got = quietly(name, x, axis=axis, **given, device=device)
        assert (got, got.dtype) == (right, right.dtype)
    assert gred.explain(x, name, **given, device=device).size == len(WITH_NAN)


def test_means_leave_nan_out_before_it_is_cut_off(device):
    x = np.array([1, complex(2, np.nan), complex(np.nan, 1), 4j])
    right = quietly_numpys("nanmean", x, dtype=float)
    assert quietly("nanmean", x, dtype=float, device=device) == right == 0.5
    with pytest.raises(TypeError, match="dtype"):
        gred.nanmean(x, dtype=int, device=device)


@pytest.mark.parametrize("name", ["nansum", "nanprod"])
def test_nan_is_not_cut_off_on_devices(name):
    for dtype in (int, float):
        x = SimulatedArray(np.array([1, complex(2, np.nan)]))
        with pytest.raises(TypeError, match=r"dtype of .* must be a"):
            getattr(gred, name)(x, dtype=dtype)


def test_minmax_and_norms_have_a_dtype(device):
    x = np.array([1.75, -2.5, 300.25])
    for dtype in map(np.dtype, (np.float32, np.float16, np.int32)):
        assert not wrong("minmax", x, x, device=device, dtype=dtype)
    for dtype in map(np.dtype, (np.float32, np.float16, np.float64, BFLOAT16)):
        assert not wrong("norm", x, x, device=device, dtype=dtype)
        whole = np.arange(-50, 50, dtype=np.int16)
        assert not wrong("norm", whole, whole, device=device, dtype=dtype)


@pytest.mark.parametrize("name", [*SPREADS, *WITHOUT_NAN, "norm"])
@pytest.mark.parametrize(
    "dtype", ["O", "U3", "M8[s]", "V4", ">f8", "f16", "nonsense", 3, object()], ids=shown
)
def test_what_is_no_dtype_of_numbers_is_refused(name, dtype):
    with pytest.raises((TypeError, ValueError)):
        getattr(gred, name)(A, dtype=dtype)


@every_name
@pytest.mark.parametrize(
    "a", [["x"], [None], [object()], np.zeros(2, "M8[s]"), np.zeros(2, "U2")], ids=shown
)
def test_what_are_no_numbers_is_refused(name, a):
    with pytest.raises(TypeError):
        getattr(gred, name)(a)


def test_bools_have_no_range(device):
    for x in (np.array([True, False]), np.ones((3, 700), bool), [True]):
        with pytest.raises(TypeError, match="bool"):
            gred.ptp(x, device=device)


# ---- calls ----


@pytest.mark.parametrize("op", OPS)
def test_every_argument_has_a_name_and_only_one(op):
    function = getattr(gred, op)
    assert function(a=A) == function(A)
    for name in ("a", "out_", "streams", "overwrite_input"):
        with pytest.raises(TypeError, match=name):
            function(A, **{name: None})
    for count in (2, 3, 9):
        with pytest.raises(TypeError):
            function(*[A] * count)


def test_all_arguments_go_together():
    out = np.zeros((), np.float32)
    options = {"method": "shuffle", "block_size": 64, "device": "simulated", "dtype": np.float64}
    got = gred.sum(A, initial=0.5, where=A > 2, out=out, stream=1, **options)
    assert got is out
    assert out == A[A > 2].sum() + 0.5


def test_arguments_keep_their_references():
    mask, initial, out = A > 2, np.float64(1.5), np.zeros(())
    stream = CudaStream((0, 1))

    def work():
        gred.sum(A, where=mask, initial=initial, out=out, stream=stream)

    stays_level(work, (A, mask, initial, out, stream, out.dtype), slack=10)


@every_name
def test_they_are_not_on_the_ladder(name):
    """last_block is what the default does on a device; no other rung takes them."""
    for method in (m.name for m in gred.methods()):
        for place in ("host", "simulated"):
            if method == "last_block" and place == "simulated":
                continue
            with pytest.raises(ValueError, match="method") as caught:
                getattr(gred, name)(A, method=method, device=place)
            assert method in str(caught.value)
        with pytest.raises(ValueError, match="method"):
            getattr(gred, name)(A, method=method + "?")
    with pytest.raises((TypeError, ValueError), match="method"):
        getattr(gred, name)(A, method=3)
    assert not wrong(name, A, A, method="auto")


@every_name
def test_a_block_size_has_no_meaning_there(name):
    for place in ("host", "simulated"):
        with pytest.raises((ValueError, TypeError), match="block_size"):
            getattr(gred, name)(A, block_size=77, device=place)
        assert not wrong(name, A, A, device=place)


@every_name
def test_a_device_that_is_not_there_is_refused(name):
    for device in ("gpu", "cuda:99", "", "host:1", 3, None, b"host"):
        if device is not None:
            with pytest.raises((ValueError, TypeError, RuntimeError), match=r"device|GPU|CUDA"):
                getattr(gred, name)(A, device=device)
    with pytest.raises((ValueError, RuntimeError), match="device"):
        getattr(gred, name)(SimulatedArray(A), device="host")


# ---- whatever a caller may think of ----


@every_name
def test_arguments_are_passed_by_their_names(name):
    call = getattr(gred, name)
    for arguments in ((), (A,) * 12):
        with pytest.raises(TypeError):
            call(*arguments)
    if name == "describe":
        with pytest.raises(TypeError):
            call(a=A)
    else:
        assert shown(call(**{"x" if name == "norm" else "a": A})) == shown(call(A))
    with pytest.raises(TypeError, match="nonsense"):
        call(A, nonsense=3)


@every_name
def test_an_exception_of_the_callers_is_heard(name):
    for keyword in ("where", "ddof", "ord"):
        if keyword == "where" or (keyword, name) in (("ddof", "var"), ("ord", "norm")):
            with pytest.raises((ZeroDivisionError, TypeError, ValueError)):
                getattr(gred, name)(A, **{keyword: Refuses()})


def test_every_reduction_is_documented_and_listed():
    for name in NAMES:
        assert name in gred.__all__
        text = getattr(gred, name).__doc__
        assert text
        assert "where" in text
        assert "Parameters" in text
        assert "Examples" in text


def test_the_truth_takes_every_type():
    """The reference of these tests names NumPy's types of results."""
    for dtype in (*INTEGERS, *REALS, *COMPLEX):
        if dtype == BFLOAT16:
            continue
        x = np.ones(3, dtype)
        for name in SCALARS:
            if takes(name, dtype) and name != "norm":
                assert type_of(name, dtype) == np.asarray(getattr(np, name)(x)).dtype, name
        assert type_of("norm", dtype) == np.linalg.norm(x).dtype
        assert truth("sum", x).value in (3, (3, 0))
