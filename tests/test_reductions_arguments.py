"""What the reductions that are not on the ladder take: layouts, masks, out=, dtype= and initial=.

And what they refuse: other types, rungs of the ladder, and whatever a hostile caller thinks of.
"""

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest
from findings import all_right
from inputs import shown
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, REALS, agrees, truth
from samples import element_there, fetched, options_of, quietly, takes, there, wrong
from truths import (
    COUNTS,
    NAMES,
    PLACES,
    RECORDS,
    SCALARS,
    SPREADS,
    WITHOUT_NAN,
    answer,
    type_of,
)

import gred
from gred.testing import SimulatedArray

REFUSALS = (TypeError, ValueError, RuntimeError, BufferError, OverflowError, MemoryError)
TYPES = tuple(map(np.dtype, (np.bool_, np.int8, np.uint64, np.float16, np.float32, np.complex128)))
A = np.array([[3.0, 1.0, 2.0], [9.0, 8.0, 7.0]])

INITIAL = {"nanmin": {"initial": 1}, "nanmax": {"initial": 1}}

every_name = pytest.mark.parametrize("name", NAMES)
every_scalar = pytest.mark.parametrize("name", SCALARS)


@pytest.fixture(autouse=True)
def the_next_call_is_right():
    yield
    assert gred.sum([1, 2, 3]) == 6
    assert gred.sum([1, 2, 3], device="simulated") == 6


def filled(dtype: np.dtype, shape: tuple) -> np.ndarray:
    """Fill an array with a few values, some of them equal, some NaN."""
    x = (np.arange(np.prod(shape)) ** 2 % 13 - 3).astype(dtype).reshape(shape)
    if dtype not in INTEGERS:
        x.reshape(-1)[5::11] = np.nan
    return x


def plain(dtype: np.dtype, shape: tuple) -> np.ndarray:
    """Fill an array with a few values and no NaN."""
    return (np.arange(np.prod(shape)) ** 2 % 13 - 3).astype(dtype).reshape(shape)


# ---- layouts ----

LAYOUTS = {
    "C order": lambda x: x,
    "transposed": lambda x: x.T,
    "every other": lambda x: x[::2, ::3, ::2],
    "an inner part": lambda x: x[1:3, 2:4, 1:],
    "backwards": lambda x: x[::-1, :, ::-1],
    "backwards, every other": lambda x: x[::-2, ::-1, ::-3],
    "one column": lambda x: x[:, 3, 2],
    "one element": lambda x: x[1:2, 2:3, 3:4],
    "no dimensions": lambda x: x[1, 2, 4, ...],
}


@every_name
def test_every_layout_is_read_where_it_lies(name, device):
    """Places are those in the order of the array's own indices, however it lies."""
    all_right(
        wrong(name, there(x, device, layout), layout(x))
        for dtype in TYPES
        if takes(name, dtype)
        for fill in (filled, plain)
        for x in [fill(dtype, (3, 4, 37))]
        for layout in LAYOUTS.values()
    )


@every_name
def test_host_arrays_of_every_layout_reach_the_device(name, device):
    x = plain(np.dtype(np.float32), (60, 70))
    z = np.asfortranarray(plain(np.dtype(np.complex64), (40, 50)))
    views = [x.T, x[:, ::2], x[::-1], np.broadcast_to(x[:3], (5, 3, 70)), np.asfortranarray(x)]
    views += [np.broadcast_to(np.float64(3), (4, 1000)), z, z[::3, ::-1]]
    views += [np.lib.stride_tricks.sliding_window_view(np.arange(200.0), 7)]
    all_right(wrong(name, view, view, device=device) for view in views)


@every_name
def test_big_endian_and_misaligned_elements_are_read(name, device):
    for code in ("i2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"):
        x = plain(np.dtype(code), (5, 7, 9))
        memory = np.zeros(x.nbytes + 1, np.uint8)
        shifted = memory[1:].view(x.dtype).reshape(x.shape)
        shifted[...] = x
        swapped = x.astype(x.dtype.newbyteorder())
        for view in (swapped, swapped.T[::2], shifted, shifted[:, ::-1]):
            assert not wrong(name, view, view, device=device)


@every_name
def test_lists_scalars_and_nested_sequences_are_arrays(name, device):
    for a in ([3, 1, 2], (1.5, 2.5), [[1, 2], [3, 4]], 7, 2.5, 3 + 4j, np.float32(2), np.int8(-3)):
        assert not wrong(name, a, np.asarray(a), device=device)
    for dtype in (ml_dtypes.bfloat16, np.float16):
        assert not wrong(name, dtype(2.5), np.asarray(dtype(2.5)), device=device)


@every_name
def test_inputs_are_never_written(name, device):
    x = filled(np.dtype(np.float64), (3, 4, 37))
    before = x.tobytes()
    a = there(x, device)
    for layout in LAYOUTS.values():
        quietly(name, layout(x) if device == "cuda" else layout(a))
    assert x.tobytes() == before
    x.setflags(write=False)
    quietly(name, x, device=device)


@every_name
@pytest.mark.parametrize("limit", [256, 4096])
def test_with_little_workspace_arrays_go_in_pieces(name, limit):
    """Places count on from piece to piece, and so do means."""
    x = plain(np.dtype(np.int16), (60, 211))
    x[41, 100], x[50, 3] = -300, 400
    mask = np.arange(x.size).reshape(x.shape) % 3 != 1
    more = INITIAL.get(name, {})
    with gred.workspace_limit(limit):
        for a in (x, SimulatedArray(x), x.T[::2], x[::-1, ::3], x.astype(np.float32)):
            y = a.get() if isinstance(a, SimulatedArray) else a
            assert not wrong(name, a, y, device="simulated")
        assert not wrong(name, x, x, device="simulated", where=mask, **more)
        assert not wrong(name, x.T, x.T, device="simulated", where=mask.T, **more)


# ---- masks ----


def masks_of(shape: tuple):
    """Offer masks of every shape that broadcasts to this one, none of which hides all."""
    random = np.random.default_rng(len(shape))
    yield True
    yield np.True_
    for own in itertools.product(*((1, length) for length in shape)):
        mask = random.random(own) < 0.6
        mask.reshape(-1)[0] = True
        yield mask
    for first in range(1, len(shape)):
        mask = random.random(shape[first:]) < 0.6
        mask.reshape(-1)[-1:] = True
        yield mask
    yield np.asfortranarray(random.random(shape) < 0.5)
    yield (random.random(shape) < 0.5)[::-1]
    last = np.zeros(shape, bool)
    last.reshape(-1)[-1] = True
    yield last


@every_name
def test_masks_of_every_shape_select_as_in_numpy(name, device):
    """Each mask meets each type, in one of the layouts."""
    layouts = (lambda x: x, lambda x: x.transpose(2, 0, 1), lambda x: x[::-1, ::2])
    for turn, dtype in enumerate(TYPES[1:], start=NAMES.index(name)):
        x = layouts[turn % len(layouts)](plain(dtype, (3, 5, 37)))
        more = INITIAL.get(name, {})
        for mask in masks_of(x.shape):
            found = wrong(name, x, x, device=device, where=mask, **more)
            assert not found, f"mask of {np.shape(mask)}: {found}"


@every_name
def test_masks_in_the_devices_memory_are_read_there(name, device):
    more = INITIAL.get(name, {})
    for dtype in TYPES[1:]:
        x = filled(dtype, (33, 41))
        mask = np.arange(x.size).reshape(x.shape) % 3 != 1
        for layout in (lambda y: y, lambda y: y.T, lambda y: y[:, ::2], lambda y: y[::-1, 1:]):
            a, hidden = there(x, device, layout), there(mask, device, layout)
            found = wrong(name, a, layout(x), where=layout(mask), mask=hidden, **more)
            assert not found, found
            found = wrong(name, a, layout(x), where=layout(mask), **more)
            assert not found, found


@every_name
def test_any_byte_that_is_not_zero_is_true(name, device):
    bytes_ = np.array([0, 1, 2, 255, 128, 0, 4], np.uint8)
    strange, usual = bytes_.view(bool), bytes_ != 0
    x = np.array([5, 3, 9, 2, 7, 8, 1.5])
    more = {"initial": 3} if name in ("nanmin", "nanmax") else {}
    assert not wrong(name, x, x, device=device, where=usual, mask=strange, **more)
    if takes(name, np.bool_):
        assert not wrong(name, strange, usual, device=device)
        assert not wrong(name, np.tile(strange, 200), np.tile(usual, 200), device=device)


@every_name
def test_a_masked_element_is_not_looked_at(name, device):
    """NaN, infinities and extremes behind the mask are not there."""
    x = np.tile([1.0, np.nan, 2.0, np.inf, 3.0, -np.inf, 1e300], 200)
    mask = np.isin(x, [1, 2, 3])
    more = {"initial": 2} if name in ("nanmin", "nanmax") else {}
    mask &= np.arange(x.size) < 300
    assert not wrong(name, x, x, device=device, where=mask, **more)


@every_name
def test_a_mask_that_hides_all_leaves_nothing(name, device):
    call = getattr(gred, name)
    for where in (False, np.zeros(A.shape, bool), np.zeros((), bool), [False] * 3):
        options = {"where": where, "device": device}
        if name in (*PLACES, "ptp", "minmax"):
            with pytest.raises(ValueError, match=name):
                call(A, **options)
        elif name in ("nanmin", "nanmax"):
            with pytest.raises(ValueError, match="initial"):
                call(A, **options)
            assert call(A, initial=4, **options) == 4
        elif name in SPREADS:
            with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"):
                assert np.isnan(call(A, **options))
        elif name == "nanmean":
            with pytest.warns(RuntimeWarning, match="Mean of empty slice"):
                assert np.isnan(call(A, **options))
        elif name == "describe":
            assert quietly(name, A, **options).count == 0
        else:
            right = {"all": True, "nanprod": 1}.get(name, 0)
            assert call(A, **options) == right


NO_MASKS = [np.ones((2, 2), bool), [], [[True, False]], [[True], [True, False]]]
NO_MASKS += [np.ones((2, 2, 3), bool), np.ones(6, bool), np.ones((3, 2), bool)]
NO_MASKS += [A, [1, 0, 1], 1.5, "yes", object(), np.zeros(3, "M8[s]"), [None, True, False]]


@every_name
def test_what_is_no_mask_is_refused(name, device):
    """What is no mask for a sum is none here."""
    for mask in NO_MASKS:
        try:
            gred.sum(A, where=mask, device=device)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                getattr(gred, name)(A, where=mask, device=device)
        else:
            quietly(name, A, where=mask, device=device, **INITIAL.get(name, {}))


# ---- initial and dtype ----


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
    "name", [name for name in NAMES if name not in ("nansum", "nanprod", "nanmin", "nanmax")]
)
def test_the_others_have_no_initial(name):
    with pytest.raises(TypeError, match="initial"):
        getattr(gred, name)(A, initial=1)


@pytest.mark.parametrize("name", [*COUNTS, *PLACES])
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


# ---- out ----


@every_scalar
def test_results_go_where_out_is(name, device):
    for dtype in EVERY_TYPE:
        if not takes(name, dtype):
            continue
        for n in (5, 1027):
            x = plain(dtype, (n,))
            for options in options_of(name):
                right = answer(name, x, **options)
                out = element_there(right.dtype, device)
                a = there(x, device)
                assert getattr(gred, name)(a, out=out, **options) is out
                got = fetched(out, device)
                assert agrees(got, right), f"{name} of {n} {dtype}, {options}: {got!r}, not {right}"


@every_scalar
def test_out_on_the_host_takes_what_a_device_makes(name, device):
    x = plain(np.dtype(np.float32), (1027,))
    right = answer(name, x)
    for shape in ((), (1,), (1, 1)):
        out = np.zeros(shape, right.dtype)
        assert getattr(gred, name)(x, out=out, device=device) is out
        assert agrees(out.reshape(-1)[0], right)
    mask = np.arange(x.size) % 2 == 0
    more = INITIAL.get(name, {})
    out = np.zeros((), right.dtype)
    getattr(gred, name)(x, out=out, where=mask, device=device, **more)
    assert agrees(out[()], answer(name, x, where=mask, **more))


@pytest.mark.parametrize("name", PLACES)
def test_out_of_a_place_is_of_integers_that_int64_holds(name, device):
    for dtype in EVERY_TYPE:
        if not np.can_cast(dtype, np.int64, "safe"):
            with pytest.raises(TypeError, match="out"):
                getattr(gred, name)(A, out=np.zeros((), dtype), device=device)
    out = np.zeros((), np.int64)
    getattr(gred, name)(A, out=out, device=device)
    assert out == getattr(np, name)(A)


@every_scalar
def test_an_out_of_another_type_holds_the_same_or_is_refused(name, device):
    """What is written is the result, converted as NumPy would; nothing is written at a refusal."""
    x = np.array([2.0, 1.0, 6.0])
    right = getattr(np, name if name != "norm" else "ptp")(x) if name != "norm" else np.sqrt(41)
    for dtype in EVERY_TYPE:
        if dtype == np.bool_ and name not in COUNTS:
            continue
        out = np.full((), 77, dtype)
        try:
            quietly(name, x, out=out, device=device)
        except TypeError as error:
            assert "out" in str(error)  # noqa: PT017
            assert out == np.full((), 77, dtype)
        else:
            assert abs(complex(out) - complex(np.asarray(right).astype(dtype))) <= 0.02 * abs(right)


@every_scalar
def test_what_is_no_out_is_refused(name, device):
    kind = type_of(name, np.float64)
    read_only = np.zeros((), kind)
    read_only.setflags(write=False)
    outs = (np.zeros(2, kind), np.zeros(0, kind), np.zeros((1, 2), kind), read_only)
    for out in (*outs, [0], 3, "out", kind.type(0), object(), np.zeros((), object), (0,)):
        with pytest.raises((TypeError, ValueError, RuntimeError), match="out"):
            getattr(gred, name)(A, out=out, device=device)
    assert read_only == 0


def test_records_have_no_out():
    for name in RECORDS:
        with pytest.raises(TypeError, match="out"):
            getattr(gred, name)(A, out=np.zeros(2))


def test_out_may_be_among_the_elements(device):
    for name in SCALARS:
        x = plain(type_of(name, np.float64), (300,))
        if not takes(name, x.dtype):
            continue
        right = answer(name, x.copy())
        if right.dtype == x.dtype:
            getattr(gred, name)(x, out=x[:1], device=device)
            assert agrees(x[0], right)


# ---- methods and devices ----


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


class Refuses:
    """A value all of whose methods raise."""

    def __index__(self):
        raise ZeroDivisionError

    __bool__ = __len__ = __iter__ = __int__ = __float__ = __array__ = __index__


JUNK = (None, True, -1, 0, 1, 2**31, 2**63, 2**64, -(2**70), 0.5, np.nan, np.inf, 1j, "", "x")
JUNK += ((), [], [3], {}, object(), Refuses(), np.zeros(3), np.zeros(()), np.float16(1), "auto")
JUNK += (np.zeros((), "V8"), np.zeros(1, object), range(3), float("-inf"), "float32", A, A > 2)
JUNK += (b"f4", int)
KEYWORDS = ("method", "block_size", "device", "where", "out", "stream", "dtype", "initial")
KEYWORDS += ("ddof", "correction", "ord", "axis", "keepdims", "a", "nonsense", "")


@every_name
def test_any_value_of_any_keyword_is_taken_or_refused(name):
    """A result or an exception: never a crash, a hang or another's memory."""
    for keyword, value in itertools.product(KEYWORDS, JUNK):
        for a in (A.copy(), np.array([3, 1, 2], np.uint8), SimulatedArray(A)):
            try:
                quietly(name, a, **{keyword: value})
            except (*REFUSALS, ZeroDivisionError):
                pass
    random = np.random.default_rng(12)
    for _ in range(300):
        chosen = random.choice(len(KEYWORDS), 3, replace=False)
        options = {KEYWORDS[k]: JUNK[random.integers(len(JUNK))] for k in chosen}
        try:
            quietly(name, A.copy(), **options)
        except (*REFUSALS, ZeroDivisionError):
            pass


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
