"""Exact variances, covariances and correlations, rounded once, compared with fractions."""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from devices import everywhere, flat_there
from drawn import examples
from exact_truths import TINY, any_floats, comoment, edges, nearest, nearest_root, rows_of, same
from exactly import NARROW, WIDE, exact
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import COMPLEX, INTEGERS, PARTS, REALS
from refusals import refused
from samples import silenced

import gred
from gred.exact import rationals
from gred.testing import SimulatedArray

NAMES = {"var": nearest, "std": nearest_root}
every_name = pytest.mark.parametrize("name", NAMES)


def finite_floats(dtype, max_size=30):
    """Draw arrays of finite floats."""
    return any_floats(dtype, max_size).map(lambda x: x[np.isfinite(x.astype(WIDE))])


def truth(name, x, dtype=None, ddof=0):
    """Compute a variance, or its root, rounded once."""
    x = np.ravel(x)
    dtype = dtype or PARTS.get(x.dtype, WIDE if x.dtype in INTEGERS else x.dtype)
    return NAMES[name](comoment(x, x) / (x.size - Fraction(ddof)), dtype)


def spread_out(n, dtype=WIDE, seed=1):
    """Draw numbers of many magnitudes around one far from 0."""
    random = np.random.default_rng(seed)
    far = 2.0 ** random.integers(10, 60)
    return (far + random.normal(size=n) * np.exp2(random.integers(-9, 9, n))).astype(dtype)


# ---- variances ----

THERE = gred.sum(SimulatedArray(np.arange(6.0).reshape(2, 3)), axis=0)


@every_name
@pytest.mark.parametrize("dtype", REALS, ids=str)
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_a_variance_of_any_floats_is_rounded_once(name, dtype, data):
    x = data.draw(finite_floats(dtype).filter(len))
    ddof = data.draw(st.sampled_from([0, 0.5, len(x) - 1, -1]))
    if len(x) > ddof:
        assert same(exact(name, x, ddof=ddof), truth(name, x, ddof=ddof))


@every_name
@pytest.mark.parametrize("dtype", [*INTEGERS, *COMPLEX], ids=str)
def test_integers_and_complex_numbers_have_exact_variances(name, dtype):
    x = np.random.default_rng(3).normal(size=300) * 100
    x = (x + 1j * x[::-1] if dtype.kind == "c" else abs(x)).astype(dtype)
    assert same(exact(name, x), truth(name, x))
    if dtype.itemsize == 8 and dtype in INTEGERS:
        x = np.iinfo(dtype).max - np.arange(5, dtype=dtype)
        assert same(exact(name, x), truth(name, x))


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_fractions_and_roots_are_rounded_at_every_edge(dtype):
    for value in edges(dtype):
        for signed in (value, -value):
            assert same(rationals.nearest(signed, dtype), nearest(signed, dtype))
        for square in (value**2, value**2 + TINY**4, value**2 * (1 - TINY**4), value / 3):
            if square >= 0:
                assert same(rationals.root(square, dtype), nearest_root(square, dtype))


@every_name
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (0, 1, 2)], ids=str)
def test_axes_masks_degrees_and_types_have_their_meaning(name, axis):
    x = spread_out(210).reshape(5, 6, 7)
    mask = np.random.default_rng(1).random(x.shape) < 0.8
    mask[0] = mask[:, 0] = mask[..., 0] = True
    options = [{}, {"keepdims": True}, {"ddof": 1}, {"where": mask}, {"correction": 1}]
    for more in (*options, {"dtype": NARROW}):
        (rows, shape), (masks, _) = (rows_of(y, axis) for y in (x, more.get("where", x == x)))
        asked = more.get("dtype"), more.get("ddof", more.get("correction", 0))
        each = [truth(name, row[one], *asked) for row, one in zip(rows, masks, strict=True)]
        with silenced():
            got = exact(name, x, axis, **more)
            shape = np.var(x, axis, keepdims=True).shape if "keepdims" in more else shape
        assert same(got, np.reshape(each, shape))


@everywhere
@every_name
def test_arrays_of_devices_and_lists_make_the_same_bits(place, name):
    x = spread_out(3000)
    assert same(exact(name, flat_there(x, place)), truth(name, x))
    both = [flat_there(x[:1000], place), flat_there(x[1000:], place)]
    assert same(exact(name, both), truth(name, x))
    arrays = [spread_out(50, NARROW), spread_out(30).reshape(5, 6)]
    whole = np.concatenate([one.ravel() for one in arrays])
    assert same(exact(name, iter(arrays), ddof=1), truth(name, whole, WIDE, 1))
    assert same(exact("var", [[1, 2], [3, 4.0]], axis=0)[0], np.float64(1))
    assert exact("var", THERE) == np.var([3.0, 5.0, 7.0])  # taken whole, as no library can slice it


# ---- covariances ----


@settings(deadline=None, max_examples=examples(60))
@given(x=finite_floats(WIDE, 40).filter(lambda x: len(x) > 3), seed=st.integers(0, 9))
def test_covariances_and_correlations_are_rounded_once(x, seed):
    y = np.random.default_rng(seed).permutation(x)
    both = gred.ExactMoments(x, y)
    for ddof in (0, 1, 2.5):
        want = [[comoment(a, b) / (len(x) - Fraction(ddof)) for b in (x, y)] for a in (x, y)]
        got = both.cov(ddof)
        assert all(same(got[i, j], nearest(want[i][j], WIDE)) for i, j in np.ndindex(2, 2))
    of_x, of_y, of_both = comoment(x, x), comoment(y, y), comoment(x, y)
    got = both.corrcoef()
    if of_x == 0:
        assert np.isnan(got).all()
    else:
        want = nearest_root(of_both**2 / (of_x * of_y), WIDE) * (-1 if of_both < 0 else 1)
        assert got[0, 1] == got[1, 0] == want
        assert got[0, 0] == got[1, 1] == 1


def test_numpys_forms_of_covariances_are_understood():
    random = np.random.default_rng(2)
    m, y = random.normal(size=(3, 50)), random.normal(size=(2, 50))
    row, table = np.arange(4.0)[None] ** 2, random.normal(size=(4, 3))
    for arguments, options in (
        *(((m,), options) for options in ({}, {"bias": True}, {"ddof": 3}, {"rowvar": False})),
        *(((m, y), {}), ((m[0], y[0]), {}), ((m[0],), {}), ((m.T,), {"rowvar": False})),
        *(((row,), {"rowvar": False}), ((table, row), {"rowvar": False})),
    ):
        for name in ("cov", "corrcoef") if options.keys() <= {"rowvar"} else ("cov",):
            with silenced():
                got, want = (getattr(xp, name)(*arguments, **options) for xp in (gred, np))
            assert np.shape(got) == np.shape(want)
            assert np.allclose(got, want, 1e-12, equal_nan=True)
    assert gred.cov(m, dtype=np.float32).dtype == np.float32


# ---- undefined results, and arguments ----


def test_nothing_and_what_is_not_finite_have_nan():
    for x, ddof in (([], 0), ([1.0], 1), ([1.0, 2.0], 5)):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom <= 0"):
            got = gred.var(x, ddof=ddof, method="exact")
        with np.errstate(all="ignore"), pytest.warns(RuntimeWarning):
            assert np.array_equal(got, np.var(x, ddof=ddof), equal_nan=True)
    for bad in (np.nan, np.inf, -np.inf):
        assert np.isnan(gred.std([1.0, bad, 2.0], method="exact"))
        moments = gred.ExactMoments([1.0, bad], [1.0, 2.0])
        assert np.isnan(moments.cov()).tolist() == [[True, True], [True, False]]
        assert np.isnan(moments.corrcoef()).tolist() == [[True, True], [True, False]]
    assert gred.ExactMoments([np.inf, 1.0]).mean() == np.inf
    empty = gred.ExactMoments()
    assert (empty.count, empty.words.shape) == (0, (0, 140))
    with pytest.warns(RuntimeWarning):
        assert empty.cov().shape == empty.corrcoef().shape == (0, 0)


def test_warnings_are_the_callers_and_one_a_call():
    x = np.ones((4, 1))
    for call in (
        lambda: gred.var(x, axis=1, ddof=1, method="exact"),
        lambda: gred.std([x[0], x[1][:0]], ddof=1, method="exact"),
        lambda: gred.ExactMoments([1.0]).var(ddof=1),
    ):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom") as told:
            call()
        assert [one.filename for one in told] == [__file__]


def test_types_and_degrees_of_freedom_are_asked_for_by_any_name():
    x = np.array([1.0, 2.0, 4.0])
    for name, kind in (("f4", "f4"), ("float32", "f4"), (">f8", "f8"), ("e", "f2"), (float, "f8")):
        assert same(exact("var", x, dtype=name), truth("var", x, np.dtype(kind)))
        assert gred.cov(x, dtype=name).dtype == kind
    for ddof in (1, np.int64(1), np.float32(1), True):
        assert gred.cov(x, ddof=ddof) == exact("var", x, ddof=1)


LIST = [SimulatedArray(np.ones(30)), SimulatedArray(np.ones(2))]
NO_PARTS = "cannot be reshaped and indexed"
NO_AXIS = "of a list of arrays does not take axis"
test_what_cannot_be_is_refused = refused(
    *(
        (partial(call, [1.0, 2.0], dtype=name), TypeError, "dtype must be float16")
        for call in (gred.cov, gred.corrcoef, partial(exact, "var"))
        for name in (int, bool, "S3", np.longdouble, complex)
    ),
    (lambda: gred.cov([1.0], ddof="1"), TypeError, "ddof must be"),
    (lambda: gred.cov([1.0], ddof=np.nan), ValueError, "ddof must be"),
    (lambda: gred.cov([1.0], ddof=np.inf), ValueError, "ddof must be"),
    (lambda: gred.var(THERE, axis=0, method="exact"), TypeError, NO_PARTS),
    (lambda: gred.cov(THERE), TypeError, NO_PARTS),
    (lambda: gred.ExactSums(THERE), TypeError, NO_PARTS),
    (lambda: gred.ExactSums.by_key(THERE, THERE), TypeError, NO_PARTS),
    (lambda: gred.cov(np.ones((2, 2, 2))), ValueError, "2 dimensions"),
    (lambda: gred.cov(np.ones((1, 4)), np.ones((4, 3)), rowvar=False), ValueError, "one shape"),
    (lambda: gred.cov([1j, 2]), TypeError, "two sums"),
    (lambda: exact("var", [1.0], out=np.zeros(())), TypeError, "no out"),
    (lambda: exact("var", [1.0], mean=1.0), TypeError, "no out, mean"),
    (lambda: exact("var", [1.0], axis=1), IndexError, "out of bounds"),
    (lambda: exact("var", [1.0], where=[1]), TypeError, "a bool where"),
    (lambda: exact("var", [1.0], ddof=1, correction=1), ValueError, "aliases"),
    (lambda: gred.var([1.0], method="exactly"), ValueError, "method"),
    (lambda: gred.reduceat("var", [1.0], [0], method="exact"), ValueError, "not support var here"),
    (lambda: exact("var", LIST, axis=0), TypeError, NO_AXIS),
    (lambda: exact("var", LIST, keepdims=True), TypeError, NO_AXIS),
    (lambda: exact("var", LIST, where=[True] * 30), TypeError, NO_AXIS),
)
