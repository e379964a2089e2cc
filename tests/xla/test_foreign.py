"""Calls of code that is not Python's make what Python's make, to the last bit, on every device."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from devices import PLACES, everywhere, laid_out, parameter, to_host
from foreign import left, run, settled

import gred

RANDOM = np.random.default_rng(31)
X = RANDOM.normal(size=(6, 50, 7)) * np.exp2(RANDOM.integers(-40, 40, (6, 50, 7)))
CALLS = [
    ("sum", {}),
    ("sum", {"method": "exact"}),
    ("sum", {"axis": 1, "method": "exact"}),
    ("sum", {"axis": (0, 2), "method": "batch_invariant"}),
    ("sum", {"axis": 2, "dtype": "float64"}),
    ("sum", {"axis": ()}),
    ("mean", {"axis": (0, 1)}),
    ("mean", {"method": "exact"}),
    ("prod", {"axis": 0}),
    ("max", {}),
    ("min", {"axis": -1}),
    ("var", {"axis": 1, "ddof": 1}),
    ("std", {}),
    ("norm", {"axis": 0, "ord": 1}),
    ("norm", {"method": "exact"}),
    ("logsumexp", {"axis": 1}),
    ("any", {"axis": 1}),
    ("all", {}),
    ("count_nonzero", {"axis": 0}),
    ("argmin", {}),
    ("argmax", {"axis": 1}),
]
TYPES = ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64"]
places = pytest.mark.parametrize("place", [parameter(place) for place in PLACES])


def address(array):
    """Tell where an array lies, wherever that is."""
    interface = getattr(array, "__cuda_array_interface__", None)
    return (interface or array.__array_interface__)["data"][0]


def made(x, op, place, options, factors=None, **changes):
    """Run a call there: its results."""
    call, there = settled(x, op, **options, **changes), laid_out(x, place)
    if factors is not None:
        factors = laid_out(factors, place)
        call.factors = address(factors)
    blank = np.full(left(x, call), 7, np.dtype(call.result.decode()))
    out = laid_out(blank, place)
    call.data, call.results = address(there), address(out)
    call.results_bytes = blank.nbytes
    call.on_device, call.stream = place != "host", 1 if place == "cuda" else 0
    run(call)
    return to_host(out)


def elements(dtype):
    values = X if dtype != "uint64" else np.abs(X)
    return (values > 0) if dtype == "bool" else np.nan_to_num(values).clip(-100, 100).astype(dtype)


@places
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("op", "options"), CALLS)
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_a_call_of_others_makes_the_bits_of_pythons(op, options, dtype, place):
    """Of a whole array on a device, those that stay there."""
    x = elements(dtype)
    got = made(x, op, place, options)
    there = laid_out(x, place)
    stays = place != "host" and "axis" not in options
    out = {"out": laid_out(np.zeros((), got.dtype), place)} if stays else {}
    expected = to_host(getattr(gred, op)(there, **options, **out))
    assert got.dtype == expected.dtype
    assert got.tobytes() == np.asarray(expected).tobytes()


@places
@pytest.mark.parametrize("method", ["auto", "exact"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64"])
def test_products_are_those_of_dot(dtype, method, place):
    a, b = elements(dtype)[0].ravel().copy(), elements(dtype)[1].ravel().copy()
    expected = gred.dot(*(laid_out(one, place) for one in (a, b)), method=method)
    got = made(a, "sum", place, {"method": method}, b, elements=dtype.encode())
    assert got.dtype == expected.dtype
    assert got.tobytes() == expected.tobytes()


@places
def test_there_may_be_nothing(place):
    for shape, axis in (((0,), None), ((0, 3), 0), ((3, 0), 0), ((2, 0), 1)):
        x = np.zeros(shape)
        np.testing.assert_array_equal(made(x, "sum", place, {"axis": axis}), x.sum(axis))
        assert np.isnan(made(x, "mean", place, {"axis": axis})).all()
    nothing = np.zeros(0)
    assert made(nothing, "sum", place, {}, nothing, elements=b"float64") == 0


NARROW = [
    ("argmax", "float32", "int32"),
    ("count_nonzero", "bool", "int32"),
    ("sum", "int64", "int32"),
    ("prod", "int8", "int32"),
    ("sum", "uint64", "uint32"),
    ("mean", "int8", "float32"),
    ("var", "int64", "float32"),
]


@places
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
@pytest.mark.parametrize(("op", "dtype", "narrow"), NARROW)
def test_results_may_be_narrower_than_gred_makes_them(op, dtype, narrow, axis, place):
    """Integers wrap, and floats are rounded to what they are in 64 bits."""
    x = elements(dtype)
    got = made(x, op, place, {"axis": axis}, result=narrow.encode())
    assert got.dtype == narrow
    wide = np.asarray(getattr(np, op)(x, axis))
    got = got.reshape(wide.shape)
    if narrow == "float32":
        np.testing.assert_allclose(got, wide, rtol=2**-24 * (1 + 1e-6))
    else:
        np.testing.assert_array_equal(got, wide.astype(narrow))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"reduction": b"median"}, "no median of float64 as float64 to float64: another version"),
        ({"elements": b"float8"}, "no sum of float64 as float8"),
        ({"data_bytes": 9}, "do not fill"),
        ({"result": b"float32"}, "1 results of float32, which do not fill 8 bytes"),
        ({"dimensions": 65}, "too many dimensions, which are 65"),
    ],
)
def test_what_cannot_be_is_refused_in_words(changes, says):
    call = settled(X, "sum")
    out = np.zeros(())
    call.data, call.results, call.results_bytes = address(X), address(out), 8
    for name, value in changes.items():
        setattr(call, name, value)
    with pytest.raises(RuntimeError, match=says):
        run(call)


@everywhere
def test_memory_that_is_nowhere_is_refused(place):
    call = settled(X, "sum", on_device=True)
    call.data, call.results, call.results_bytes = 64, 64, 8
    with pytest.raises(RuntimeError):
        run(call)


def test_threads_may_call_at_the_same_time():
    expected = gred.sum(X, 1).tobytes()

    def several(_):
        return {made(X, "sum", "host", {"axis": 1}).tobytes() for _ in range(50)}

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(several, range(4))) == [{expected}] * 4
