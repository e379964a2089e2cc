"""Every method, op, element type and block size is right at the lengths where many go wrong."""

import functools
import itertools
import warnings

import numpy as np
import pytest
from devices import laid_out
from inputs import (
    ELEMENT_TYPES,
    FLOATS,
    KINDS,
    MORE_KINDS,
    OPS,
    block_sizes,
    exact,
    lengths,
    longest,
    mixed,
    reduce,
    rounding,
    takes,
)
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, agrees, result_type
from thin import chosen

every_op = pytest.mark.parametrize("op", OPS)


def named(kind):
    return kind.name


def check(case, op, **options):
    got = reduce(op, case.array, **options)
    assert agrees(got, case.truth), (
        f"{op} of {case.array.size} {case.array.dtype} with {options}: {got!r}, "
        f"not {case.truth.value!r} +- {float(case.truth.error):.3g} as {case.truth.dtype}"
    )


def test_an_array_may_begin_off_a_boundary(device, rung):
    for dtype, first, n in itertools.product(("i4", "f8"), (1, 3), (1, 30, 97, 1025)):
        x = np.arange(first + n, dtype=dtype)
        got = reduce("sum", laid_out(x[first:], device), method=rung, dtype=dtype)
        assert got == x[first:].sum(), (dtype, first, n)


@every_op
@pytest.mark.parametrize("kind", KINDS, ids=named)
def test_every_length_and_block_size_is_exact_on_exact_data(device, method, op, kind):
    """But where it takes long, ops and kinds share the block sizes out.

    Each op and each kind meet all of them, and the longest array once a block size: an op and a
    kind have a turn, and the first op what the others leave of its kind.
    """
    sizes = block_sizes(method)
    turn = (OPS.index(op) + KINDS.index(kind)) % len(sizes)
    turns = {
        turn,
        *((turn - k - 1) % len(sizes) for k in range(len(sizes) - len(OPS)) if op == OPS[0]),
    }
    for place, block_size in enumerate(sizes):
        everything = device != "simulated" or place == turn
        if not everything and place not in turns:
            continue
        options = {"method": method, "block_size": block_size, "dtype": kind.dtype}
        every = (*lengths(block_size), *[longest(device, method)] * everything)
        for n in chosen(every, op, kind, method):
            if n or op in ("sum", "prod"):
                check(exact(op, kind, n), op, device=device, **options)


@every_op
def test_the_other_element_types_are_exact_on_exact_data(device, method, op):
    for kind, n in chosen(itertools.product(MORE_KINDS, (1, 33, 4097)), op, method, device):
        if takes(method, kind.given):
            check(exact(op, kind, n), op, method=method, device=device)


@pytest.mark.parametrize("op", ["sum", "prod", "mean"])
def test_the_other_floats_are_within_their_bound(device, method, op):
    """float16 and bfloat16 are accumulated in float32 and rounded once: the bound is so."""
    for kind in MORE_KINDS:
        if kind.given not in INTEGERS and takes(method, kind.given):
            for n in (33, 4097):
                check(rounding(op, kind, n), op, method=method, device=device)


@every_op
def test_complex_numbers_are_refused_where_they_do_not_run(device, method, op):
    for dtype in COMPLEX:
        if not takes(method, dtype):
            with pytest.raises(TypeError, match=f"{method}.*complex|complex.*{method}"):
                reduce(op, np.ones(5, dtype), method=method, device=device)
            with pytest.raises(TypeError, match="complex"):
                reduce(op, np.ones(5), method=method, device=device, dtype=dtype)


@pytest.mark.parametrize("op", ["sum", "prod", "mean"])
@pytest.mark.parametrize("kind", FLOATS, ids=named)
def test_rounding_errors_stay_within_their_bound(device, method, op, kind):
    every = itertools.product(block_sizes(method), (33, 1000, 4097))
    for block_size, n in chosen(every, op, kind, method, device):
        case = rounding(op, kind, n)
        check(case, op, method=method, block_size=block_size, device=device)
    check(rounding(op, kind, longest(device, method)), op, method=method, device=device)


@every_op
def test_each_element_is_converted_to_the_dtype_first(device, method, op):
    """Where it takes long, ops share the long arrays out, and each pair of types meets them."""
    every = itertools.product(ELEMENT_TYPES, ELEMENT_TYPES)
    for turn, (given, dtype) in chosen(enumerate(every), op, method, device):
        long = device != "simulated" or (turn + OPS.index(op)) % 3 == 0
        for n in (1, 33, *[4097] * long):
            check(mixed(op, given, dtype, n), op, method=method, device=device, dtype=dtype)


CONVERTING = (
    ("host", "auto"),
    ("host", "recursive"),
    ("simulated", "last_block"),
    ("simulated", "interleaved"),
    ("simulated", "shuffle_vector"),
)


@every_op
@pytest.mark.parametrize(("place", "way"), CONVERTING)
@pytest.mark.filterwarnings("ignore:.*imaginary part:numpy.exceptions.ComplexWarning")
def test_every_type_becomes_every_other_as_in_numpy(place, way, op):
    for given, dtype in chosen(itertools.product(EVERY_TYPE, EVERY_TYPE), op, place, way):
        of_bits = given in INTEGERS and dtype in INTEGERS and place == "host"
        for n in (1, 333, *[5000] * of_bits) if takes(way, given, dtype) else ():
            check(mixed(op, given, dtype, n), op, method=way, device=place, dtype=dtype)


NAN = float("nan")
EXTREMES = [
    (op, dtype(5), dtype(special))
    for op, special, types in (
        *((op, NAN, (np.float32, np.float64)) for op in ("min", "max")),
        *((op, end, (np.int32, np.uint64, np.float64)) for op, end in (("min", 2), ("max", 9))),
    )
    for dtype in types
]


@pytest.mark.parametrize(("op", "filler", "special"), EXTREMES)
def test_the_extreme_is_found_wherever_it_lies(device, method, op, filler, special):
    """NaN is the one of all floats; by the smallest blocks."""
    for position in chosen(range(257), method, op, filler):
        array = np.full(257, filler)
        array[position] = special
        got = reduce(op, array, method=method, device=device, block_size=block_sizes(method)[0])
        assert np.array_equal(got, special, equal_nan=True), f"lost at {position} of 257"


@pytest.mark.parametrize("op", ["min", "max"])
def test_nan_wins_in_the_other_floats(device, method, op):
    nans = [(np.float16, NAN), (BFLOAT16, NAN), (np.complex64, complex(9, NAN))]
    nans += [(np.complex128, complex(NAN, -9)), (np.complex128, complex(0, NAN))]
    for dtype, nan in nans:
        for position in (0, 1, 31, 128, 255, 256) if takes(method, dtype) else ():
            array = np.ones(257, dtype)
            array[position] = nan
            got = reduce(op, array, method=method, device=device)
            assert np.isnan(got), f"{nan} at {position} of 257 is lost"


SPECIAL_ARRAYS = {
    "nan": [1, np.nan, 2],
    "nan first, then infinities": [np.nan, np.inf, -np.inf],
    "infinities around nan": [np.inf, np.nan, -np.inf],
    "both infinities": [np.inf, 1, -np.inf],
    "infinity and zero": [np.inf, 0, 3],
    "negative zero and a number": [-0.0, 2, 3],
    **{f"{value} among numbers": [1, value, 2] for value in (np.inf, -np.inf)},
    **{f"nothing but {value}": [value] * 3 for value in (np.inf, -np.inf, -0.0)},
    "one negative zero": [-0.0],
}


@functools.cache
def special_arrays(op, dtype):
    """Spread each few values over arrays of some lengths, with what NumPy makes of them."""
    filler = {"sum": -0.0, "prod": 1, "mean": -0.0, "min": np.inf, "max": -np.inf}[op]
    made = []
    for name, values in SPECIAL_ARRAYS.items():
        for n in (len(values), 100, 1500):
            array = np.full(n, filler, dtype)
            array[np.linspace(0, n - 1, len(values)).astype(int)] = values
            with np.errstate(all="ignore"):
                made.append((f"{name}, n {n}", array, getattr(np, op)(array)))
    return made


@every_op
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_special_values_are_numpys(device, method, op, dtype):
    for name, array, expected in special_arrays(op, dtype):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            got = reduce(op, array, method=method, device=device)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, expected, err_msg=name)
        assert np.isnan(got) or np.signbit(got) == np.signbit(expected), f"{got!r}, {name}"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floats_overflow_to_infinity(device, method, dtype):
    for sign, (op, n) in itertools.product((1, -1), (("sum", 100), ("mean", 100), ("prod", 99))):
        array = np.full(n, sign * np.finfo(dtype).max)
        assert reduce(op, array, method=method, device=device) == sign * np.inf


def test_subnormal_floats_are_not_flushed_to_zero(device, method):
    for dtype in (np.float16, np.float32, np.float64):
        least = np.finfo(dtype).smallest_subnormal
        array = np.full(1000, least)
        assert reduce("sum", array, method=method, device=device) == 1000 * least
        assert reduce("max", array, method=method, device=device) == least


def test_nothing_has_a_sum_and_a_product_and_no_extreme_and_its_mean_is_nan(device, method):
    for given in (dtype for dtype in EVERY_TYPE if takes(method, dtype)):
        options = {"method": method, "device": device}
        for op, value in (("sum", 0), ("prod", 1)):
            got = reduce(op, np.empty((3, 0), given), **options)
            assert (got, got.dtype) == (value, result_type(op, given))
        for op in ("min", "max"):
            with pytest.raises(ValueError, match=f"{op}.*empty"):
                reduce(op, np.empty(0, given), **options)
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            got = reduce("mean", np.empty(0, given), **options)
        assert np.isnan(got)
        assert got.dtype == result_type("mean", given)
