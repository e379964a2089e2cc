"""Reductions along any axes give NumPy's results, in arrays of NumPy's shape and type.

Values are compared with the truth of each result's own elements, which NumPy's indexing selects;
signatures, shapes, types, warnings and errors with NumPy's functions. test_axes_kernels.py tests
devices with every way to share work among threads.
"""

import inspect
import itertools
import math
import warnings
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from along import NAMES, calls, check_call, normal, shape_of
from devices import to_host
from drawn import often
from hostile import Index
from hypothesis import given
from hypothesis import strategies as st
from reference import BFLOAT16, EVERY_TYPE, INTEGERS
from refusals import refused_by
from samples import options_of, quietly, silenced, takes
from truths import COUNTS, PLACES, RECORDS, SPREADS, numpys, type_of

import gred
from gred import _testing
from gred.testing import SimulatedArray

every_name = pytest.mark.parametrize("name", NAMES)


@often(300)
@given(call=calls())
def test_answers_and_refusals_are_numpys(call):
    check_call(call)


@pytest.mark.parametrize("axis", [0, 1])
def test_sums_of_floats_are_no_less_accurate_than_numpys_along_the_last_axis(axis):
    """Compare mean squares over many results and lengths, since each error is partly luck."""
    random = np.random.default_rng(8)
    ours = numpys = 0.0
    for n in (700, 1000, 3000, 5000, 30_000, 50_000, 100_000):
        rows = random.random((64, n), np.float32)
        exact = rows.astype(np.float64).sum(axis=1)
        x = rows if axis else np.ascontiguousarray(rows.T)
        ours += np.mean(((gred.sum(x, axis) - exact) / exact) ** 2)
        numpys += np.mean(((rows.sum(axis=1) - exact) / exact) ** 2)
    assert ours <= 1.1 * numpys


def test_a_result_does_not_depend_on_its_neighbours():
    """Columns have the same bits among many and in pairs."""
    x = np.random.default_rng(5).normal(size=(3000, 700)).astype(np.float32)
    together = gred.sum(x, 0)
    for k in (0, 1, 255, 698):
        assert gred.sum(x[:, k : k + 2], 0)[0] == together[k]


def test_many_dimensions_are_taken(device):
    x = np.arange(24.0).reshape((2, 1, 1, 3) + (1,) * 58 + (2, 2))
    every = (0, 63, (0, 3), (62, 63), tuple(range(64)), tuple(range(0, 64, 2)), ())
    for axis, keepdims in itertools.product(every, (False, True)):
        got = gred.sum(x, axis, keepdims=keepdims, device=device)
        np.testing.assert_array_equal(got, x.sum(axis, keepdims=keepdims), strict=True)


EMPTY = [((0, 3), 0), ((3, 0), 0), ((0, 3), 1), ((0, 0), 0), ((2, 0, 3), 1), ((2, 0, 3), (0, 1))]
EMPTY += [((2, 0, 3), ()), ((2, 3), ()), ((0,), 0), ((0, 3), (0, 1)), ((0, 3), None)]


@pytest.mark.parametrize("name", [*NAMES, *RECORDS])
def test_no_elements_are_as_in_numpy(name, device):
    types = [("f4", {})]  # sums also with conversion
    for kind, dtype in itertools.product("?eiQ", ("f4", "f8", "i8", "c16") * (name == "sum")):
        types.append((kind, {"dtype": np.dtype(dtype)}))
    for (shape, axis), keepdims, (kind, more) in itertools.product(EMPTY, (False, True), types):
        if not (isinstance(axis, tuple) and name in (*PLACES, "norm")):
            options = {"axis": axis, "keepdims": keepdims, **more}
            check_call((name, np.ones(shape, kind), options), device=device)
    x, masks = np.ones((2, 3)), (False, [False] * 3, np.zeros((), bool), np.zeros((2, 3), bool))
    for dtype, options in itertools.product(EVERY_TYPE, options_of(name)):
        for a, masked in ((x[:0], {}), *((x, {"where": mask}) for mask in masks)):
            call = {"axis": None, "keepdims": False, **options, **masked}
            if takes(name, dtype):
                check_call((name, a.astype(dtype), call), device=device)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", ["sum", "mean"])
def test_of_negative_zeros_alone_the_sign_is_numpys(name, dtype, device):
    for shape in [(300, n) for n in (1, 2, 3, 8, 31, 64, 200)] + [(2, 300), (8, 300), (3, 5000)]:
        x = np.full(shape, -0.0).astype(dtype)
        for axis in (0, 1):
            got, right = getattr(gred, name)(x, axis, device=device), getattr(np, name)(x, axis)
            assert np.signbit(got.real).tolist() == np.signbit(right.real).tolist()


def test_methods_are_for_whole_arrays(device):
    x = np.ones((2, 3))
    for method in ("unroll8", "recursive", "last_block"):
        for options in ({"axis": 0}, {"keepdims": True}, {"axis": (0, 1)}):
            with pytest.raises(ValueError, match="'auto'"):
                gred.sum(x, method=method, device=device, **options)
    np.testing.assert_array_equal(gred.sum(x, 0, method="auto", device=device), [2, 2, 2])


TOO_LITTLE = [
    *((name, np.zeros((2, 0, 5)), None, {}, "Mean of empty slice") for name in ("mean", "nanmean")),
    *((name, np.ones(3), None, {"where": False}, "Degrees of freedom") for name in SPREADS),
    *((name, np.full(1027, np.nan), None, {}, "All-NaN") for name in ("nanmin", "nanmax")),
    ("mean", np.zeros((4, 0)), 1, {}, "Mean of empty slice"),
    ("var", np.zeros((5, 1)), 1, {"ddof": 1}, "Degrees of freedom"),
    ("std", np.ones((5, 2)), 1, {"ddof": np.inf}, "Degrees of freedom"),
    ("nanmax", np.full((3, 4), np.nan), 0, {}, "All-NaN slice"),
    ("nanmean", np.full((3, 4), np.nan), 0, {}, "Mean of empty slice"),
    ("mean", np.ones((2, 2)), 0, {"where": [True, False]}, "Mean of empty slice"),
    ("std", np.ones((2, 2)), 1, {"where": [[True] * 2, [False] * 2]}, "Degrees of freedom"),
    ("var", np.ones((1, 2)), 1, {"where": False, "out": np.zeros(1)}, "Degrees of freedom"),
]


def test_warnings_are_numpys_and_come_once(device):
    for name, x, axis, options, words in TOO_LITTLE:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = getattr(gred, name)(x, axis, device=device, **options)
        assert [words in str(warning.message) for warning in caught] == [True], (name, options)
        assert caught[0].filename == __file__
        with silenced():
            np.testing.assert_array_equal(got, getattr(np, name)(x, axis, **options))


@every_name
def test_the_signature_begins_as_numpys_and_every_argument_goes_where_it_says(name):
    """Compare names, order and kinds of arguments; gred's own follow as keywords.

    An error names the wrong argument, whether it is given by position or by name.
    """
    theirs = inspect.signature(numpys(name)).parameters
    ours = inspect.signature(getattr(gred, name)).parameters

    def named(parameters, kind):
        return [p.name for p in parameters.values() if p.kind is kind]

    positional, keyword = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
    assert named(ours, positional) == named(theirs, positional)
    assert {"method", "block_size", "device", "stream"} <= set(named(ours, keyword))
    assert set(theirs) <= set(ours)
    assert not named(ours, inspect.Parameter.POSITIONAL_ONLY)
    for key, parameter in theirs.items():
        if parameter.default is not np._NoValue:
            assert ours[key].default == parameter.default
    x, before = np.ones((2, 3)), []
    wrong = {"axis": "x", "out": 3, "keepdims": "x", "dtype": "x", "ord": "x", "ddof": "x"}
    wrong |= {"initial": "x", "where": np.ones(3)}
    defaults = {"axis": 0, "keepdims": False, "ddof": 0, "initial": 1}
    for p in list(ours.values())[1:]:
        if p.name in wrong:
            with pytest.raises((TypeError, ValueError)) as named:
                quietly(name, x, **{p.name: wrong[p.name]})
            if p.kind is p.POSITIONAL_OR_KEYWORD:
                with pytest.raises(type(named.value)) as placed:
                    getattr(gred, name)(x, *before, wrong[p.name])
                assert str(placed.value) == str(named.value)
        before.append(defaults.get(p.name))
    named_first = getattr(gred, name)(**{next(iter(theirs)): x})
    np.testing.assert_array_equal(named_first, getattr(gred, name)(x))


@often(300)
@given(call=calls(), kind=st.sampled_from(EVERY_TYPE[:-2]), order=st.sampled_from("CF"))
def test_out_is_numpys_or_refused_where_numpy_refuses_it(call, kind, order):
    """Every call is tested with outs of any layout; this test covers conversion to out's type."""
    name, x, options = call
    options = {k: options[k] for k in ("axis", "keepdims")}
    if BFLOAT16 in (x.dtype, kind) or name in ("norm", "count_nonzero", "logsumexp"):
        return  # NumPy's functions do not support these
    kind = np.dtype("i8") if name in PLACES else kind
    if name in ("ptp", "nanmean", *SPREADS):
        kind = type_of(name, x.dtype)
    shape = shape_of(x.shape, normal(options["axis"], x.ndim), options["keepdims"])
    theirs, out = np.zeros(shape, kind), np.zeros(shape, kind, order)
    with silenced():
        try:
            numpys(name)(x, **options, out=theirs)
        except (ValueError, TypeError):
            with pytest.raises((ValueError, TypeError)):
                quietly(name, x, out=out, **options)
            assert not out.any()
            return
        assert quietly(name, x, out=out, **options) is out
    # NumPy's extremes begin with the first element as out's type: 255 is -1 in an int8.
    narrowed = name in ("min", "max") and not np.can_cast(x.dtype, kind)
    whole = kind in INTEGERS and x.dtype.newbyteorder("=") in INTEGERS
    if whole and not narrowed and name in ("sum", "min", "max", *COUNTS, *PLACES):
        np.testing.assert_array_equal(out, theirs)
    elif kind == type_of(name, x.dtype):
        np.testing.assert_array_equal(out, quietly(name, x, **options))


ANY = (TypeError, ValueError, OverflowError)
BAD_AXES = {
    (TypeError, "axis"): (True, "x", [0], {}, ("x",), (1.0,), 1j),
    (np.exceptions.AxisError, "out of bounds"): (2, -3),
    (ValueError, "axis"): ((0, 0), (0, -2)),
    (ANY, None): (np.True_, 1.0, object(), (0, 5), 2**31, 2**70, -(2**70), (2**70,), b"0"),
    (ANY[:2], None): (np.float64(0), np.arange(2)),
}


@every_name
def test_axes_are_refused_with_numpys_errors(name):
    for (error, words), every in BAD_AXES.items():
        of_two = name in PLACES and error is ValueError
        for axis in every:
            with pytest.raises(TypeError if of_two else error, match=words):
                getattr(gred, name)(np.ones((2, 3)), axis=axis)


def test_axes_of_numpys_integers_and_of_own_kinds_are_taken_and_its_bools():
    x = np.arange(6.0).reshape(2, 3)
    for axis in (1, -1, np.int8(1), np.uint64(1), np.array(1), Index(1), (1,), (Index(1),)):
        np.testing.assert_array_equal(gred.sum(x, axis), x.sum(1))
    for name, kept in itertools.product(("sum", "argmax", "var"), (True, False)):
        got = getattr(gred, name)(x, 1, keepdims=np.bool_(kept))
        np.testing.assert_array_equal(got, getattr(x, name)(1, keepdims=kept))


@every_name
def test_a_single_number_has_the_axes_that_numpy_lets_it_have(name):
    for axis in (0, -1, 1, (0,), None, *[()] * (name != "norm")):
        try:
            theirs = numpys(name.replace("nanarg", "arg"))(np.float64(3), axis=axis)
        except (TypeError, ValueError) as error:
            with pytest.raises(type(error)):
                getattr(gred, name)(3.0, axis=axis)
        else:
            assert getattr(gred, name)(3.0, axis=axis) == theirs


def test_a_norm_of_matrices_is_refused():
    x = np.ones((2, 3, 4))
    np.testing.assert_allclose(gred.norm(x, axis=(0, 1)), np.linalg.norm(x, axis=(0, 1)))
    with pytest.raises(ValueError, match="matrix norm"):
        gred.norm(x, 1, (0, 1))


# ---- a given mean of variances ----

spreads = pytest.mark.parametrize("name", SPREADS)


@spreads
def test_a_mean_may_be_whatever_numpy_broadcasts(name):
    """Other types or more dimensions, one element for a whole device array, or the default."""
    x, function, numpys_own = np.arange(12.0).reshape(3, 4), getattr(gred, name), getattr(np, name)
    four = np.arange(4.0)[None, None]
    for fits in (3, True, Fraction(7, 2), np.ones((1, 1, 4)), [[1, 2.5, 3, 4]], four):
        right = numpys_own(x, 0, mean=np.asarray(fits, float).reshape(-1))
        got = [function(x, 0, mean=fits), function(SimulatedArray(x), 0, mean=fits)]
        if isinstance(fits, np.ndarray):
            got.append(function(SimulatedArray(x), 0, mean=SimulatedArray(fits)))
        for one in got:
            np.testing.assert_allclose(to_host(one), right)
    x, out, one = np.random.default_rng(0).normal(size=5000), *map(SimulatedArray, (0.0, [1.0]))
    function(SimulatedArray(x), mean=0.5, out=out)
    np.testing.assert_allclose(to_host(out), numpys_own(x, mean=0.5))
    got = function(SimulatedArray(x), mean=one, keepdims=True)
    np.testing.assert_allclose(to_host(got), [numpys_own(x, mean=1)])
    assert function(x, mean=np._NoValue) == function(x)
    with pytest.warns(RuntimeWarning):  # empty
        assert np.isnan(function(np.zeros((0, 4)), 0, mean=SimulatedArray(np.ones((1, 4))))).all()


HOST, THERE = np.ones((3, 4)), SimulatedArray(np.ones((3, 4)))
test_a_mean_that_does_not_fit_is_refused = refused_by(
    gred.var,
    ((HOST, 0), {"mean": np.ones((3, 1))}, ValueError, "broadcast"),
    ((HOST, None), {"mean": np.ones(4)}, ValueError, "broadcast"),
    ((HOST, 0), {"mean": 1j}, TypeError, "complex"),
    ((HOST, 0), {"mean": "x"}, TypeError, "must be a number or an array of numbers, not of <U1"),
    ((HOST, 0), {"mean": np.ones((2, 1, 4))}, ValueError, "mean cannot be broadcast"),
    ((HOST, 0), {"mean": SimulatedArray(np.ones(4))}, ValueError, "move both"),
    ((THERE, None), {"mean": SimulatedArray(np.ones(1))}, NotImplementedError, "keepdims"),
    ((THERE, 0), {"mean": SimulatedArray(np.ones((3, 1)))}, ValueError, "broadcast"),
    ((THERE, 0), {"mean": SimulatedArray(np.ones((2, 1, 4)))}, ValueError, "broadcast"),
    ((THERE, 0), {"mean": SimulatedArray(np.ones(4, complex))}, TypeError, "complex"),
)


@pytest.mark.gpu
@spreads
def test_a_mean_that_another_call_leaves_on_the_gpu_is_given(name, library):
    """Without waiting for it; its memory may be freed immediately."""
    host = np.random.default_rng(0).normal(size=(3000, 400)).astype("f4") + 100
    x, function = library.make(host), getattr(gred, name)
    for axis in (0, 1):
        got = function(x, axis, mean=gred.mean(x, axis, keepdims=True))
        assert type(got) is type(x) or library.module == "driver"
        want = getattr(np, name)(host.astype("f8"), axis)
        np.testing.assert_allclose(to_host(got), want, rtol=1e-5)


# ---- the normal form of axes: merged dimensions, and layouts of the same form ----


def form(shape, strides, axes, size=8, mask=None):
    """Return the kind, the alignment, and the kept and reduced extents and strides."""
    bits = sum(1 << axis for axis in axes)
    told = _testing.axes(shape, strides, mask, size=size, axes=bits, in_order=False)
    return SimpleNamespace(kind=told[0], aligned=told[1], kept=told[-2], reduced=told[-1])


def of(shape, axes, size=4, **more):
    """Return the form of an array in C order."""
    strides = tuple(size * math.prod(shape[k + 1 :]) for k in range(len(shape)))
    return form(shape, strides, axes, size, **more)


# Shapes, reduced axes and mask strides; the kind, and the kept and reduced extents.
MERGED = [
    ((64, 1000), [1], None, "rows", (64,), (1000,)),
    ((2, 3, 4, 5), [2, 3], None, "rows", (6,), (20,)),
    ((64, 1000), [0], None, "columns", (1000,), (64,)),
    ((2, 3, 4, 5), [0, 1], None, "columns", (20,), (6,)),
    ((8, 1024, 64), [1], None, "columns", (8, 64), (1024,)),  # batches
    ((4, 5, 6), [1, 2], (30, 6, 1), "rows", (4,), (30,)),
    ((4, 5, 6), [1, 2], (0, 0, 1), None, (4,), (5, 6)),  # the mask prevents merging
    ((4, 5, 6), [0], (1, 0, 1), None, (5, 6), (4,)),
    ((0, 3), [0], None, None, (3,), (0,)),
    ((), [], None, None, (), ()),
    ((2, 1, 2, 1) * 16, range(0, 64, 4), None, None, (2,) * 16, (2,) * 16),
]


@pytest.mark.parametrize(("shape", "axes", "mask", "kind", "kept", "reduced"), MERGED)
def test_dimensions_are_merged(shape, axes, mask, kind, kept, reduced):
    told = of(shape, axes, mask=mask)
    assert (told.kept[0], told.reduced[0]) == (kept, reduced)
    if kind:
        assert (told.kind, told.aligned) == (kind, True)
        assert (told.reduced if kind == "rows" else told.kept)[1][-1] == 4


def test_rows_of_no_aligned_distance_are_told():
    assert [form((3, 4), (pitch, 8), [1]).aligned for pitch in (32, 33)] == [True, False]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_transposed_or_reversed_array_has_the_form_of_the_plain_one(order):
    shape, strides = (4, 5, 6), (240, 48, 8)
    for signs in itertools.product([1, -1], repeat=3):
        turned = tuple(shape[k] for k in order), tuple(strides[k] * signs[k] for k in order)
        for axes in ([0], [1], [2], [0, 1], [1, 2], [0, 2]):
            plain = form(shape, strides, axes)
            got = form(*turned, [order.index(axis) for axis in axes])
            assert got.kind == plain.kind
            assert plain.kind != "rows" or got.reduced == plain.reduced
