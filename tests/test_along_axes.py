"""Along any axes every reduction gives NumPy's answer, in an array of NumPy's shape and type.


Values are held against the truth about each result's own elements, which NumPy's indexing selects;
signatures, shapes, types and errors against NumPy's own functions.
"""

import contextlib
import inspect
import itertools
import sys
import warnings

import ml_dtypes
import numpy as np
import pytest
from drawn import arrays, converts, examples, masks, misaligned
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, REALS, agrees, result_type, truth
from samples import quietly, shown, takes
from thin import chosen
from truths import COUNTS, ORDERS, PLACES, SPREADS, WITHOUT_NAN, answer, type_of

import gred
from gred.testing import SimulatedArray

LADDER = ("sum", "prod", "min", "max", "mean")
NAMES = (*LADDER, *COUNTS, *PLACES, *SPREADS, "ptp", *WITHOUT_NAN, "norm")
INITIAL = ("sum", "prod", "min", "max", "nansum", "nanprod", "nanmin", "nanmax")
NEEDS_SOME = ("min", "max", "nanmin", "nanmax", *PLACES, "ptp")
often = settings(
    max_examples=examples(300),
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
every_name = pytest.mark.parametrize("name", NAMES)


def numpys(name):
    """Give NumPy's function of that name."""
    return np.linalg.norm if name == "norm" else getattr(np, name)


# ---- signatures ----


@every_name
def test_the_signature_begins_as_numpys(name):
    """Names, their order and how they can be given; gred's own are keywords behind them."""
    theirs = list(inspect.signature(numpys(name)).parameters.values())
    ours = list(inspect.signature(getattr(gred, name)).parameters.values())
    by_position = [p.name for p in theirs if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [p.name for p in ours if p.kind is p.POSITIONAL_OR_KEYWORD] == by_position
    assert {p.name for p in theirs} <= {p.name for p in ours}
    assert not [p for p in ours if p.kind is p.POSITIONAL_ONLY]
    assert {"method", "block_size", "device", "stream"} <= {
        p.name for p in ours if p.kind is p.KEYWORD_ONLY
    }
    for p, q in itertools.product(theirs, ours):
        if p.name == q.name and p.default is not np._NoValue:
            assert p.default is q.default or p.default == q.default


@every_name
def test_every_argument_goes_where_the_signature_says(name):
    """By position and by name: what is said of an argument that is wrong names it."""
    x = np.ones((2, 3))
    parameters = list(inspect.signature(getattr(gred, name)).parameters.values())
    wrong = {"axis": "x", "out": 3, "keepdims": "x", "dtype": "x", "ord": "x", "ddof": "x"}
    wrong |= {"initial": "x", "where": np.ones(3)}
    defaults = {"axis": 0, "keepdims": False, "ddof": 0, "initial": 1}
    before = []
    for p in parameters[1:]:
        if p.name in wrong:
            with pytest.raises((TypeError, ValueError)) as named:
                quietly(name, x, **{p.name: wrong[p.name]})
            if p.kind is p.POSITIONAL_OR_KEYWORD:
                with pytest.raises(type(named.value)) as placed:
                    getattr(gred, name)(x, *before, wrong[p.name])
                assert str(placed.value) == str(named.value)
        before.append(defaults.get(p.name))


# ---- answers ----


@st.composite
def calls(draw):
    """Draw a reduction, an array, axes and arguments."""
    name = draw(st.sampled_from(NAMES))
    array = draw(arrays().filter(lambda x: takes(name, x.dtype)))
    options = {"axis": draw(axes_of(array.ndim, name)), "keepdims": draw(st.booleans())}
    if name == "norm" and not isinstance(options["axis"], tuple):
        options["ord"] = draw(st.sampled_from(ORDERS))
    if name in SPREADS and draw(st.booleans()):
        options["ddof"] = draw(st.sampled_from([0, 1, 2, 0.5]))
    if draw(st.integers(0, 2)) == 0:
        options["where"] = draw(masks(array.shape))
    if name in INITIAL and draw(st.booleans()):
        kind = result_type(WITHOUT_NAN.get(name, name), array.dtype)
        options["initial"] = kind.type(draw(st.sampled_from([0, 1, 1 if kind == np.bool_ else 2])))
    if name in (*LADDER, "nansum", "nanprod", *SPREADS) and draw(st.integers(0, 4)) == 0:
        options["dtype"] = draw(st.sampled_from(types_for(name, array.dtype.newbyteorder("="))))
        options.pop("initial", None)
    return name, array, options


def axes_of(dimensions, name):
    """Draw what axis= takes: none, one, or several in any order."""
    if dimensions == 0:
        return st.none()
    one = st.integers(-dimensions, dimensions - 1)
    if name in PLACES:
        return one | st.none()
    several = st.lists(one, unique_by=lambda k: k % dimensions, max_size=dimensions)
    return one | several.map(tuple) | st.none()


def types_for(name, given):
    """List the types that elements can be converted to."""
    if given in COMPLEX:
        return COMPLEX
    if name in SPREADS:
        return REALS
    if name in WITHOUT_NAN and given not in INTEGERS:
        return [kind for kind in EVERY_TYPE if kind not in INTEGERS]
    return EVERY_TYPE


def normal(axis, dimensions):
    """List the axes that are meant."""
    if axis is None:
        return list(range(dimensions))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return sorted(k % dimensions for k in axes)


def rows_of(x, axes):
    """List each result's elements, in C order of the results and of the elements."""
    kept = [k for k in range(x.ndim) if k not in axes]
    count = int(np.prod([x.shape[k] for k in kept], dtype=int))
    length = int(np.prod([x.shape[k] for k in axes], dtype=int))
    return np.asarray(x).transpose(kept + axes).reshape(count, length)


def shape_of(x, axes, keepdims):
    """Give the results' shape."""
    return tuple(
        1 if k in axes else length for k, length in enumerate(x.shape) if k not in axes or keepdims
    )


def right_for(name, row, shown_there, options):
    """Find the truth about one result; None where it has no value."""
    options = {k: v for k, v in options.items() if k not in ("axis", "keepdims", "where")}
    nothing = not shown_there.any() and "initial" not in options
    if nothing and name in ("min", "max", *PLACES, "ptp"):
        return None
    if nothing and name == "norm" and options.get("ord") == -np.inf:
        return None
    if name in LADDER:
        if name == "mean" and not shown_there.any():
            return None
        return truth(name, row, options.pop("dtype", None), where=shown_there, **options)
    return answer(name, row, where=shown_there, **options)


def is_refused(name, x, axes, options):
    """Tell whether there are no elements for what needs some, or may be none."""
    mask = options.get("where", True)
    if np.ndim(mask) > x.ndim:
        return True
    if "initial" in options:
        return False
    if name in ("min", "max", "nanmin", "nanmax") and mask is not True:
        return True
    needs = name in NEEDS_SOME or (name == "norm" and options.get("ord") == -np.inf)
    if not needs:
        return False
    shown_there = rows_of(np.broadcast_to(mask, x.shape), axes)
    return shown_there.shape[1] == 0 or not shown_there.any(axis=1).all()


def is_decided(x, options):
    """Tell whether C defines what elements become in another type."""
    dtype = options.get("dtype")
    taken = x[np.broadcast_to(options.get("where", True), x.shape)]
    return dtype is None or converts(taken, dtype)


def wrong_results(name, got, x, axes, options):
    """Say what is wrong with an array of results; nothing if all are right."""
    shape = shape_of(x, axes, options["keepdims"])
    if got.shape != shape or isinstance(got, np.ndarray) != bool(shape):
        return f"{name}: {type(got)} of {got.shape}, not {shape}"
    rows = rows_of(x, axes)
    masked = rows_of(np.broadcast_to(options.get("where", True), x.shape), axes)
    flat = np.asarray(got).reshape(-1)
    for k, (row, mask) in enumerate(zip(rows, masked, strict=True)):
        right = right_for(name, row, mask, options)
        if right is None:
            if got.dtype.kind in "fc" and not np.isnan(flat[k]):
                return f"{name} of nothing: {flat[k]!r}"
        elif not agrees(flat[k], right):
            return f"{name} of {row!r} {mask}, {options}: {flat[k]!r}, not {shown(right)}"
    return ""


@often
@given(call=calls())
def test_answers_and_refusals_are_numpys(call):
    name, x, options = call
    axes, before = normal(options["axis"], x.ndim), x.tobytes()
    if is_refused(name, x, axes, options):
        with pytest.raises(ValueError, match=f"{name}|where"):
            quietly(name, x, **options)
    else:
        with np.errstate(all="ignore"):
            got = quietly(name, x, **options)
            found = wrong_results(name, got, x, axes, options) if is_decided(x, options) else ""
        assert not found
    assert x.tobytes() == before


SHAPES = [((3, 5000), 1), ((5000, 3), 0), ((300, 400), 0), ((7, 900, 11), 1), ((900, 4, 9), (0, 2))]
SHAPES += [((2, 300_000), 1), ((40, 2, 600), (1, 2)), ((3, 9001), 1), ((17, 40), 0), ((33, 5), 0)]


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "f4", "f8", "c8"])
@every_name
def test_larger_arrays_are_reduced_along_rows_columns_and_others(name, dtype):
    """Held against NumPy in the widest type, in which small integers are added exactly."""
    if not takes(name, dtype):
        pytest.skip("NumPy has none of truth values")
    random = np.random.default_rng(3)
    for shape, axis in chosen(SHAPES, name, dtype):
        if (name == "norm" and axis == (0, 2)) or (name in PLACES and isinstance(axis, tuple)):
            continue
        x = random.integers(0, 2 if "prod" in name else 5, shape).astype(dtype)
        wide = x.astype({"f": "f8", "c": "c16"}.get(x.dtype.kind, x.dtype))
        right = numpys(name)(wide, axis=axis)
        for view in (x, np.asfortranarray(x), misaligned(x), x[..., ::-1][..., ::-1]):
            got = quietly(name, view, axis=axis)
            tolerance = 4e-3 if dtype == "f2" else 1e-5
            if got.dtype == np.float16:
                with np.errstate(over="ignore"):
                    right = right.astype(np.float16)
            np.testing.assert_allclose(got, right, rtol=tolerance)


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_floats_are_no_less_accurate_than_numpys_along_the_last_axis(axis):
    """As mean squares of many results of many lengths, since each has some luck."""
    random = np.random.default_rng(8)
    ours = numpys = 0.0
    for n in (700, 1000, 3000, 5000, 30_000, 50_000, 100_000):
        rows = random.random((64, n), np.float32)
        exact = rows.astype(np.float64).sum(axis=1)
        x = rows if axis else np.ascontiguousarray(rows.T)
        ours += np.mean(((gred.sum(x, axis) - exact) / exact) ** 2)
        numpys += np.mean(((rows.sum(axis=1) - exact) / exact) ** 2)
    assert ours <= 1.1 * numpys


def test_the_number_of_threads_changes_no_bit():
    random = np.random.default_rng(4)
    most = gred.threads()
    try:
        for name, (shape, axis) in itertools.product(("sum", "mean", "var", "norm"), SHAPES):
            x = random.normal(size=shape).astype(np.float32)
            results = []
            for count in (1, 2, 3):
                gred.threads(count)
                results.append(quietly(name, x, axis=axis).tobytes())
            assert len(set(results)) == 1
    finally:
        gred.threads(most)


def test_a_result_does_not_depend_on_its_neighbours():
    """The same bits for columns of many and for two by themselves."""
    x = np.random.default_rng(5).normal(size=(3000, 700)).astype(np.float32)
    together = gred.sum(x, 0)
    for k in (0, 1, 255, 698):
        assert gred.sum(x[:, k : k + 2], 0)[0] == together[k]


def test_64_dimensions_are_taken():
    shape = (2, 1, 1, 3) + (1,) * 58 + (2, 2)
    x = np.arange(24.0).reshape(shape)
    for axis in (0, 63, (0, 3), (62, 63), tuple(range(64)), tuple(range(0, 64, 2)), ()):
        for keepdims in (False, True):
            got = gred.sum(x, axis, keepdims=keepdims)
            np.testing.assert_array_equal(got, x.sum(axis, keepdims=keepdims))


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=lambda dtype: dtype.name)
@every_name
def test_every_type_has_results_of_its_type(name, dtype):
    if not takes(name, dtype):
        pytest.skip("NumPy has none of truth values")
    x = np.arange(1, 7).reshape(2, 3).astype(dtype)
    got = quietly(name, x, axis=0)
    expected = type_of(name, dtype) if name not in LADDER else result_type(name, dtype)
    assert got.dtype == expected
    assert got.shape == (3,)
    assert got.flags.c_contiguous
    assert got.flags.owndata


def test_minmax_gives_two_arrays():
    x = np.random.default_rng(6).normal(size=(5, 6, 7))
    least, greatest = gred.minmax(x, (0, 2))
    np.testing.assert_array_equal(least, x.min((0, 2)))
    np.testing.assert_array_equal(greatest, x.max((0, 2)))
    assert gred.minmax(x, 1, keepdims=True)[1].shape == (5, 1, 7)


# ---- nothing ----


EMPTY = [((0, 3), 0), ((3, 0), 0), ((0, 3), 1), ((0, 0), 0), ((2, 0, 3), 1), ((2, 0, 3), (0, 1))]
EMPTY += [((2, 0, 3), ()), ((2, 3), ()), ((0,), 0), ((0, 3), (0, 1)), ((0, 3), None)]


@pytest.mark.parametrize(("shape", "axis"), EMPTY)
@every_name
def test_no_elements_are_as_in_numpy(name, shape, axis):
    if isinstance(axis, tuple) and (name in PLACES or name == "norm"):
        pytest.skip("NumPy takes one axis")
    for keepdims in (False, True):
        x = np.ones(shape, np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                theirs = numpys(name)(x, axis=axis, keepdims=keepdims)
            except ValueError:
                with pytest.raises(ValueError, match=name):
                    getattr(gred, name)(x, axis=axis, keepdims=keepdims)
                continue
        got = quietly(name, x, axis=axis, keepdims=keepdims)
        np.testing.assert_array_equal(got, theirs)
        assert (got.dtype, got.shape, type(got)) == (theirs.dtype, theirs.shape, type(theirs))


def test_warnings_are_numpys_and_come_once():
    x = np.zeros((4, 0))
    nan = np.full((3, 4), np.nan)
    for call, words in (
        (lambda: gred.mean(x, 1), "Mean of empty slice"),
        (lambda: gred.var(np.zeros((5, 1)), 1, ddof=1), "Degrees of freedom"),
        (lambda: gred.nanmax(nan, 0), "All-NaN slice"),
        (lambda: gred.nanmean(nan, 0), "Mean of empty slice"),
        (lambda: gred.mean(np.ones((2, 2)), 0, where=[True, False]), "Mean of empty slice"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = call()
        assert [words in str(warning.message) for warning in caught] == [True]
        assert caught[0].filename == __file__
        assert np.isnan(got).any()


def test_a_place_of_nothing_is_refused():
    for name in ("argmin", "argmax", "ptp", "minmax"):
        with pytest.raises(ValueError, match="hides"):
            getattr(gred, name)(np.ones((2, 2)), 0, where=[True, False])


# ---- out= ----


@every_name
def test_out_takes_results_of_any_layout_and_type(name):
    x = np.random.default_rng(7).normal(size=(4, 5, 6)).astype(np.float32)
    right = quietly(name, x, axis=1)
    kinds = ["i8"] if name in PLACES else ["f4", "f8", ">f8", "c16", "f2"]
    for kind in kinds:
        memory = np.zeros((9, 13), kind)
        for out in (np.zeros((4, 6), kind), np.zeros((6, 4), kind).T, memory[1:5, 12:0:-2]):
            assert quietly(name, x, axis=1, out=out) is out
            with np.errstate(all="ignore"):
                np.testing.assert_allclose(out, right.astype(kind), rtol=2e-3)
        assert (memory[5:] == 0).all()
        assert (memory[:, 1::2] == 0).all()


@often
@given(call=calls(), data=st.data())
def test_out_is_numpys(call, data):
    """Where NumPy takes an out and where it does not; and what it holds then."""
    name, x, options = call
    if name in ("norm", "count_nonzero") or x.dtype == BFLOAT16:
        return
    if set(options) - {"axis", "keepdims"}:
        options = {k: options[k] for k in ("axis", "keepdims")}
    axes = normal(options["axis"], x.ndim)
    shape = shape_of(x, axes, options["keepdims"])
    kinds = [np.dtype(np.int64)] if name in PLACES else [*EVERY_TYPE[:-2], np.dtype(">f4")]
    kind = data.draw(st.sampled_from([kind for kind in kinds if kind != BFLOAT16]))
    if name in ("ptp", "nanmean", *SPREADS):
        kind = quietly_type(name, x)
    theirs, out = np.zeros(shape, kind), np.zeros(shape, kind)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            numpys(name)(x, out=theirs, **options)
        except (ValueError, TypeError):
            with pytest.raises((ValueError, TypeError)):
                quietly(name, x, out=out, **options)
            return
        assert quietly(name, x, out=out, **options) is out
    # NumPy's extremes begin with what out makes of the first element: 255 is -1 in an int8.
    narrowed = name in ("min", "max") and not np.can_cast(x.dtype, kind)
    if (
        kind in INTEGERS
        and not narrowed
        and name in ("sum", "min", "max", *COUNTS, *PLACES)
        and (x.dtype.newbyteorder("=") in INTEGERS)
    ):
        np.testing.assert_array_equal(out, theirs)


def quietly_type(name, x):
    """Name the type that results have without an out."""
    return type_of(name, x.dtype)


def test_out_may_overlap_with_the_array():
    for axis in (0, 1):
        x = np.random.default_rng(9).normal(size=(6, 6))
        for name in ("sum", "max", "var", "any", "norm"):
            for where in (np.s_[0], np.s_[:, 0], np.s_[2], np.s_[:, 5], np.s_[::-1, 3]):
                memory = x.copy()
                right = getattr(gred, name)(x, axis=axis)
                getattr(gred, name)(memory, axis=axis, out=memory[where])
                np.testing.assert_array_equal(memory[where], right)


def test_out_may_overlap_with_the_mask_and_the_mean():
    x = np.random.default_rng(9).normal(size=(6, 6))
    mask = x > 0
    right = np.any(x, 0, where=mask)
    gred.any(x, 0, where=mask, out=mask[1])
    np.testing.assert_array_equal(mask[1], right)
    memory = np.append(x.mean(0), 0)
    right = np.var(x, 0, mean=memory[None, :6].copy())
    gred.var(x, 0, mean=memory[None, :6], out=memory[1:])
    np.testing.assert_allclose(memory[1:], right, rtol=1e-12)


@pytest.mark.parametrize("shape", [(2, 9001), (3, 5, 700), (20, 4100), (9001, 2), (1, 70), (0, 70)])
@pytest.mark.parametrize("dtype", ["i1", "u2", "f2", "f4", "i8", "?"])
def test_out_is_written_as_a_whole_and_nothing_beside_it(shape, dtype):
    x = np.random.default_rng(1).integers(0, 7, shape).astype(dtype)
    for name in ("sum", "max") if shape[0] else ("sum",):
        right = getattr(np, name)(x.astype("f8") if dtype == "f2" else x, axis=0)
        right = right.astype(result_type(name, x.dtype))
        guard = 2 * right.itemsize
        memory = np.full(right.nbytes + 2 * guard, 7, np.uint8)
        out = memory[guard:-guard].view(right.dtype).reshape(right.shape)
        assert getattr(gred, name)(x, axis=0, out=out) is out
        np.testing.assert_array_equal(out, right)
        assert set(memory[:guard]) == set(memory[-guard:]) == {7}


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_of_negative_zeros_alone_the_sign_is_numpys(name, dtype, device):
    for shape in [(300, n) for n in (1, 2, 3, 8, 31, 64, 200)] + [(2, 300), (8, 300), (3, 5000)]:
        x = np.full(shape, -0.0).astype(dtype)
        for axis in (0, 1):
            got, right = (getattr(lib, name) for lib in (gred, np))
            got, right = got(x, axis, device=device), right(x, axis)
            assert np.signbit(got.real).tolist() == np.signbit(right.real).tolist()


def test_a_wrong_out_is_refused_and_not_written():
    x = np.ones((2, 3))
    for out, keepdims in (
        (np.zeros(2), False),
        (np.zeros((1, 3)), False),
        (np.zeros(()), False),
        (np.zeros(3), True),
        (np.zeros(4), False),
    ):
        with pytest.raises(ValueError, match="shape"):
            gred.sum(x, 0, out=out, keepdims=keepdims)
        assert not out.any()
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        gred.sum(x, 0, out=read_only)
    for out in ([0, 0, 0], 3, "x", object()):
        with pytest.raises(TypeError):
            gred.sum(x, 0, out=out)
    with pytest.raises(TypeError, match="int64"):
        gred.argmax(x, 0, np.zeros(3))


# ---- axis= ----


BAD_AXES = [True, np.True_, 1.0, "x", [0], {}, object(), (0, 0), (0, -2), (1.0,), ("x",), 2, -3]
BAD_AXES += [(0, 5), 2**31, 2**70, -(2**70), (2**70,), np.float64(0), np.arange(2), b"0", 1j]


@every_name
def test_axes_are_refused_with_numpys_errors(name):
    x = np.ones((2, 3))
    for axis in BAD_AXES:
        with pytest.raises((TypeError, ValueError, OverflowError)):
            getattr(gred, name)(x, axis=axis)
    for axis in (True, "x", [0], {}, ("x",), (1.0,), 1j):
        with pytest.raises(TypeError, match="axis"):
            getattr(gred, name)(x, axis=axis)
    for axis in ((0, 0), (0, -2)):
        with pytest.raises(TypeError if name in PLACES else ValueError, match="axis"):
            getattr(gred, name)(x, axis=axis)
    for axis in (2, -3):
        with pytest.raises(np.exceptions.AxisError, match="out of bounds"):
            getattr(gred, name)(x, axis=axis)
        with pytest.raises(IndexError):
            getattr(gred, name)(x, axis=axis)


def test_axes_of_numpys_integers_and_of_own_kinds_are_taken():
    class Second:
        def __index__(self):
            return 1

    x = np.arange(6.0).reshape(2, 3)
    for axis in (1, -1, np.int8(1), np.uint64(1), np.array(1), Second(), (1,), (Second(),)):
        np.testing.assert_array_equal(gred.sum(x, axis), x.sum(1))


@every_name
def test_a_single_number_has_the_axes_that_numpy_lets_it_have(name):
    for axis in (0, -1, 1, (), (0,), None):
        if name == "norm" and axis == ():
            continue
        try:
            theirs = numpys(name)(np.float64(3), axis=axis)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                getattr(gred, name)(3.0, axis=axis)
        else:
            assert getattr(gred, name)(3.0, axis=axis) == theirs


def test_a_norm_of_matrices_is_refused():
    x = np.ones((2, 3, 4))
    assert gred.norm(x, axis=(0, 1)).shape == (4,)
    np.testing.assert_allclose(gred.norm(x, axis=(0, 1)), np.linalg.norm(x, axis=(0, 1)))
    with pytest.raises(ValueError, match="matrices"):
        gred.norm(x, 1, (0, 1))


def test_methods_are_for_whole_arrays():
    x = np.ones((2, 3))
    for method in ("unroll8", "recursive", "last_block"):
        for options in ({"axis": 0}, {"keepdims": True}, {"axis": (0, 1)}):
            with pytest.raises(ValueError, match="'auto'"):
                gred.sum(x, method=method, **options)
    np.testing.assert_array_equal(gred.sum(x, 0, method="auto"), [2, 2, 2])
    with pytest.raises(ValueError, match="does not exist"):
        gred.sum(x, 0, method="unrol8")


# ---- hostile callers ----


class Refuses:
    """A value all of whose methods raise."""

    def __index__(self):
        raise ZeroDivisionError

    __bool__ = __len__ = __iter__ = __int__ = __float__ = __array__ = __index__


JUNK = [*BAD_AXES, None, 0, 1, -1, (), (0, 1), Refuses(), (Refuses(),), np.zeros(3), np.zeros(2)]
JUNK += [
    np.zeros((1, 3)),
    np.zeros((2, 3), "V8"),
    np.zeros(3, object),
    np.zeros(3, ">i2"),
    range(3),
]
JUNK += [np.broadcast_to(np.zeros(1), 3), SimulatedArray(np.zeros(3)), memoryview(bytearray(3))]
JUNK += [np.zeros(3, "M8[s]"), np.zeros((0, 3)), [True, False, True], np.ones((2, 1), bool), 1.5]
ANY = (TypeError, ValueError, RuntimeError, BufferError, OverflowError, ZeroDivisionError)


@every_name
def test_any_value_of_any_argument_is_taken_or_refused(name):
    """A result or an exception: never a crash, a hang or another's memory."""
    random = np.random.default_rng(11)
    keywords = [*inspect.signature(getattr(gred, name)).parameters][1:]
    for _ in chosen(range(1200)):
        some = random.choice(keywords, random.integers(1, 4), replace=False)
        options = {keyword: JUNK[random.integers(len(JUNK))] for keyword in some}
        x = random.integers(0, 9, (2, 3)).astype(random.choice(["i4", "f8", "c8", ">f4", "?"]))
        with contextlib.suppress(ANY):
            quietly(name, x, **options)
    assert gred.sum([[1, 2], [3, 4]], 0).tolist() == [4, 6]


def test_references_are_kept_and_given_back():
    x, mask, out = np.ones((4, 5)), np.ones((4, 5), bool), np.zeros(5)
    axes, dtype = (0,), np.dtype(np.float32)
    watched = (x, mask, out, axes, dtype, None, np._NoValue)

    def refuse(**bad):
        try:
            gred.sum(x, **bad)
        except (TypeError, ValueError):
            return
        raise AssertionError(f"{bad} is taken")

    def all_kinds():
        gred.sum(x, axes, dtype, where=mask)
        gred.sum(x, axes, out=out)
        gred.minmax(x, 1, keepdims=True)
        gred.sum(x, keepdims=True)
        for bad in ({"axis": 9}, {"axis": (0, 0)}, {"axis": 1, "out": out}, {"keepdims": "x"}):
            refuse(**bad)

    all_kinds()
    before = [sys.getrefcount(o) for o in watched]
    blocks = sys.getallocatedblocks()
    for _ in range(200):
        all_kinds()
    after = [sys.getrefcount(o) for o in watched]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 20
    assert sys.getallocatedblocks() - blocks < 200


def test_bfloat16_results_are_of_ml_dtypes():
    x = np.arange(6).reshape(2, 3).astype(ml_dtypes.bfloat16)
    got = gred.sum(x, 0)
    assert got.dtype == ml_dtypes.bfloat16
    assert got.tolist() == [3, 5, 7]
