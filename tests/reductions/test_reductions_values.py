"""Every reduction that is not on the ladder is right for every type, length and special value."""

import itertools
import warnings

import numpy as np
import pytest
from devices import everywhere
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, PARTS, REALS
from samples import all_right, options_of, quietly, sample, silenced, takes, there, wrong
from thin import chosen
from truths import COUNTS, NAMES, PLACES, SPREADS, WITHOUT_NAN, numpys, type_of

import gred

LENGTHS = (1, 2, 3, 7, 31, 32, 33, 255, 256, 257, 1023, 1025, 4095, 4096, 4097, 8191, 8193)
ON_THE_SIMULATED = (1, 2, 31, 32, 33, 255, 256, 257, 1025, 4097)
LONG_TYPES = tuple(map(np.dtype, (np.float32, np.int64, np.complex64, np.bool_, np.float16)))

every_name = pytest.mark.parametrize("name", NAMES)


# ---- types and lengths ----


def lengths(name, dtype, device):
    """Give the lengths to be tried, every other: each reduction and each type meet all of them."""
    turn = NAMES.index(name) + EVERY_TYPE.index(dtype)
    return (ON_THE_SIMULATED if device == "simulated" else LENGTHS)[turn % 2 :: 2]


@every_name
@pytest.mark.parametrize("resides", [False, True], ids=["brought there", "there"])
def test_every_type_and_length_is_right(name, device, resides):
    all_right(
        wrong(name, *((there(x, device), x) if resides else (x, x)), device=place, **options)
        for place in [None if resides else device]
        for dtype in EVERY_TYPE
        if takes(name, dtype)
        for n in chosen(lengths(name, dtype, device), name, dtype, device, resides)
        for x in [sample(name, dtype, n)]
        for options in options_of(name)
        if options.get("ddof", 0) < n
    )


@every_name
def test_long_arrays_are_right(name, device):
    n = {"host": 2**18, "simulated": 2**16, "cuda": 2**20}[device] + 1
    types = LONG_TYPES if device == "cuda" else (np.dtype(np.float32),)
    if device == "host" and name in (*COUNTS, *PLACES, *SPREADS):
        types = (*types, np.dtype(np.float64), np.dtype(np.int8))
    arrays = (sample(name, t, n) for t in types if takes(name, t))
    all_right(wrong(name, x, x, device=device) for x in arrays)


@pytest.mark.parametrize(
    "dtype", [t for t in EVERY_TYPE if t.kind in "fV" and t.itemsize > 1], ids=str
)
def test_the_norm_of_one_element_is_its_magnitude_to_the_last_bit(dtype, device):
    x = np.append(sample("norm", dtype, 257), np.array([0.1, -3, np.inf], dtype))
    got = gred.norm(x[:, np.newaxis], axis=1, device=device)
    assert got.dtype == dtype
    assert np.array_equal(got, np.abs(x), equal_nan=True)


# ---- where the element that decides is ----


def test_one_element_decides_wherever_it_is(device):
    """One true among false, one false among true, one least and one greatest: at every edge."""
    n = 4097 if device == "simulated" else 9001
    edges = (0, 1, 31, 32, 33, 255, 256, 257, 1023, 1024, 4095, 4096, n // 2, n - 2, n - 1)
    for dtype in map(np.dtype, (np.bool_, np.int8, np.float32, np.float64, np.complex128)):
        for at in edges:
            x = np.zeros(n, dtype)
            x[at] = 1
            assert gred.any(x, device=device), (dtype, at)
            assert gred.argmax(x, device=device) == at, dtype
            assert gred.count_nonzero(x, device=device) == 1, (dtype, at)
            y = x == 0
            assert not gred.all(y.astype(dtype), device=device), (dtype, at)
            assert gred.argmin(y.astype(dtype), device=device) == at, dtype
        assert not gred.any(np.zeros(n, dtype), device=device)
        assert gred.all(np.ones(n, dtype), device=device)


# ---- the first of equals ----


def test_the_first_of_equals_has_the_place(device):
    """Zeros of both signs are equal."""
    random = np.random.default_rng(11)
    some = [
        random.integers(0, most, n).astype(dtype)
        for dtype in EVERY_TYPE
        for n in (2, 33, 257, 4097)
        for most in (1, 2, 3)
    ]
    zeros = itertools.product((0.0, -0.0), repeat=4)
    some += [np.tile(np.array(signs, t), n) for signs in zeros for t in REALS for n in (1, 300)]
    for z in ([0j, complex(-0.0, 0)], [complex(0, -0.0), 0j], [complex(-0.0, -0.0), 0j]):
        some += [np.array(z, dtype) for dtype in COMPLEX]
    for x in some:
        values = x.astype(complex).real.tolist()
        for name, extreme in (("argmin", min), ("argmax", max)):
            got = getattr(gred, name)(x, device=device)
            assert got == values.index(extreme(values)), f"{name} of {x.size} {x.dtype}"
            assert type(got) is np.int64


def test_the_first_nan_has_the_place(device):
    n = 1027
    for dtype in (*REALS, *COMPLEX):
        nans = [np.nan] if dtype not in COMPLEX else [np.nan, complex(0, np.nan)]
        nans += [complex(np.nan, np.inf)] if dtype in COMPLEX else [-np.nan]
        for nan, at in itertools.product(nans, (0, 1, 31, 32, 256, 1024, n - 1)):
            x = np.ones(n, dtype)
            x[at:] = nan
            x[at + 1 :: 2] = np.inf
            x[: at // 2] = -np.inf
            for name in PLACES:
                assert getattr(gred, name)(x, device=device) == at, f"{name} of {dtype}, {nan}"


# ---- special values ----


def special_arrays(dtype: np.dtype):
    """Offer what a type has that is unlike other numbers, in short arrays and long ones."""
    if dtype in INTEGERS:
        ends = (False, True) if dtype == np.bool_ else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        short = [[ends[0]], [ends[1]], [*ends], [*ends[::-1]], [0], [0, 0], [1, 0, ends[0]]]
        yield from (np.array(values, dtype) for values in short)
        yield np.array([*ends] * 600, dtype)
        return
    numbers = (0.0, -0.0, 1.0, np.nan, np.inf, -np.inf)
    info = np.finfo(np.float32) if dtype == BFLOAT16 else np.finfo(dtype)
    tiny = float(info.smallest_subnormal)
    most = float(info.max) * (0.99 if dtype == BFLOAT16 else 1)
    short = [[a] for a in (*numbers, tiny, most)]
    short += [list(pair) for pair in itertools.product(numbers, repeat=2)]
    short += [[tiny] * 4, [tiny, -tiny], [-most, most], [most, most], [most, 1.0], [tiny, 1.0]]
    short += [[1.0, np.nan, 3.0], [np.nan, np.nan, 5.0], [np.nan] * 3, [np.inf, np.nan, -np.inf]]
    short += [[-np.inf, 1.0, np.inf], [np.inf, np.inf, 2.0]]
    with np.errstate(all="ignore"):
        for values in short:
            if dtype not in COMPLEX:
                yield np.array(values, dtype)
            elif np.isfinite(values).all():
                parts = np.array(values, PARTS[dtype])
                yield (parts + 1j * parts[::-1]).astype(dtype)
                yield parts.astype(dtype)
            else:
                yield np.array([complex(value, 1) for value in values], dtype)
    if dtype not in COMPLEX:
        for at in (0, 5, 256, 1026):
            for value in (np.nan, np.inf, -np.inf):
                x = np.arange(1027).astype(dtype)
                x[at] = value
                yield x
        yield np.full(1027, np.nan, dtype)
        yield np.full(1027, 0.1).astype(dtype)
        yield np.full(1027, -0.0).astype(dtype)


def step_on(device: str, name: str) -> int:
    """Take fewer on the simulated device, where a call takes longer; norms have five orders."""
    return (5 if name in ("norm", "describe") else 2) if device == "simulated" else 1


@every_name
def test_special_values_are_numpys(name, device):
    all_right(
        wrong(name, x, x, device=device, **options)
        for dtype in EVERY_TYPE
        if takes(name, dtype)
        for x in itertools.islice(special_arrays(dtype), 0, None, step_on(device, name))
        for options in options_of(name)
        if options.get("ddof", 0) < x.size
    )


def test_signs_of_zeros_are_numpys(device):
    for name in ("nanprod", "nanmin", "nanmax", "nanmean", "ptp", "norm", "var"):
        for x in map(np.array, ([-0.0], [-0.0, -0.0], [-0.0, np.nan], [-3.0])):
            with silenced():
                right = numpys(name)(x)
            got = quietly(name, x, device=device)
            same = got == right and np.signbit(got) == np.signbit(right)
            assert same or (np.isnan(got) and np.isnan(right)), f"{name} of {x}"


# ---- of nothing ----


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 5)], ids=str)
def test_of_nothing_there_is_what_numpy_says(shape, device):
    known = {"any": False, "all": True, "count_nonzero": 0, "nansum": 0, "nanprod": 1, "norm": 0}
    warned = dict.fromkeys(SPREADS, "Degrees of freedom <= 0") | {"nanmean": "Mean of empty slice"}
    for dtype in EVERY_TYPE:
        x = np.zeros(shape, dtype)
        for name in (*PLACES, "nanmin", "nanmax", "minmax", "ptp"):
            if takes(name, dtype):
                with pytest.raises(ValueError, match=name):
                    getattr(gred, name)(x, device=device)
        for name, right in known.items():
            got = getattr(gred, name)(x, device=device)
            assert (got, got.dtype) == (right, type_of(name, dtype))
        for name, words in warned.items():
            with pytest.warns(RuntimeWarning, match=words):
                got = getattr(gred, name)(x, device=device)
            assert np.isnan(got)
            assert got.dtype == type_of(name, dtype)
        assert all(gred.norm(x, order, device=device) == 0 for order in (None, 2, 1, 0))


@everywhere
@pytest.mark.parametrize("name", [*COUNTS, *PLACES, "nanmin", "nanmax", "ptp", "minmax"])
def test_devices_agree_bit_for_bit_on_what_is_not_rounded(name, place):
    """Ties are broken the same way, even between zeros of both signs and kinds of NaN."""
    for dtype in (dtype for dtype in EVERY_TYPE if takes(name, dtype)):
        for x in special_arrays(dtype):
            one, another = (np.atleast_1d(quietly(name, x, device=d)) for d in ("host", place))
            for a, b in zip(one, another, strict=True):
                same = a.tobytes() == b.tobytes() or (np.isnan(a) and np.isnan(b))
                assert same, f"{x!r}: {one!r} {another!r}"


def test_greatest_magnitudes_of_nothing_are_numpys(device):
    """NumPy has had 0 and an error for the greatest; for the least there is none."""
    x = np.zeros(0)
    with pytest.raises(ValueError, match=r"^norm of order -inf of an empty array has no value"):
        gred.norm(x, -np.inf, device=device)
    try:
        right = np.linalg.norm(x, np.inf)
    except ValueError:
        with pytest.raises(ValueError, match="norm"):
            gred.norm(x, np.inf, device=device)
    else:
        assert gred.norm(x, np.inf, device=device) == right


@pytest.mark.parametrize("n", [1, 2, 1027])
def test_of_nothing_but_nan_there_is_a_warning(n, device):
    for dtype in (*REALS, *COMPLEX):
        x = np.full(n, np.nan, dtype)
        for name in ("nanmin", "nanmax"):
            with pytest.warns(RuntimeWarning, match="All-NaN"):
                got = getattr(gred, name)(x, device=device)
            assert np.isnan(got)
            assert got.dtype == dtype
        with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
            assert np.isnan(gred.nanmean(x, device=device))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert gred.nansum(x, device=device) == 0
            assert gred.nanprod(x, device=device) == 1


def test_nothing_is_warned_of_where_there_is_an_answer(device):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dtype in EVERY_TYPE:
            x = np.arange(2).astype(dtype)
            for name in NAMES:
                if takes(name, dtype):
                    getattr(gred, name)(x, device=device)
            if dtype not in INTEGERS:
                x = np.array([np.nan, 2, 3, np.nan]).astype(dtype)
                for name in (*WITHOUT_NAN, "describe"):
                    getattr(gred, name)(x, device=device)
