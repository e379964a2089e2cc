"""Exact moments against fractions: variances, covariances, correlations, each rounded once."""

import operator
import threading
from fractions import Fraction

import numpy as np
import pytest
from devices import everywhere, flat_there
from drawn import examples
from exact_truths import (
    TINY,
    bits_of,
    edges,
    exact_products,
    exact_square,
    exact_sum,
    finite_floats,
    nearest,
    nearest_root,
    same,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import COMPLEX, INTEGERS, REALS
from samples import silenced

import gred
from gred.exact import rationals
from gred.testing import SimulatedArray

FLOAT64 = np.dtype(np.float64)
NAMES = {"var": nearest, "std": nearest_root}
every_name = pytest.mark.parametrize("name", NAMES)


def comoment(a, b):
    """Sum the products of deviations from the means."""
    return exact_products(a, b) - exact_sum(a) * exact_sum(b) / len(a)


def truth(name, x, dtype, ddof=0):
    """Round a variance, or its root, once."""
    x = np.ravel(x)
    of_sums = exact_sum(x.real) ** 2 + exact_sum(x.imag) ** 2
    return NAMES[name]((exact_square(x) - of_sums / x.size) / (x.size - Fraction(ddof)), dtype)


def spread_out(n, dtype, seed=1):
    """Draw numbers of many sizes around one that is far from 0."""
    random = np.random.default_rng(seed)
    far = 0 if dtype.itemsize == 2 else 2.0 ** min(random.integers(10, 60), 100)
    return (far + random.normal(size=n) * np.exp2(random.integers(-9, 9, n))).astype(dtype)


@every_name
@pytest.mark.parametrize("dtype", REALS, ids=str)
@settings(deadline=None, max_examples=examples(60))
@given(data=st.data())
def test_a_variance_is_rounded_once(name, dtype, data):
    x = data.draw(finite_floats(dtype).filter(len))
    ddof = data.draw(st.sampled_from([0, 0.5, len(x) - 1, -1]))
    if len(x) > ddof:
        got = getattr(gred, name)(x, ddof=ddof, method="exact")
        assert same(got, truth(name, x, dtype, ddof))


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_fractions_and_roots_are_rounded_at_every_edge(dtype):
    for value in edges(dtype):
        for signed in (value, -value):
            assert same(rationals.nearest(signed, dtype), nearest(signed, dtype))
        for square in (value**2, value**2 + TINY**4, value**2 * (1 - TINY**4), value / 3):
            if square >= 0:
                assert same(rationals.root(square, dtype), nearest_root(square, dtype))


@every_name
def test_no_variance_overflows_or_cancels(name):
    reduce = getattr(gred, name)
    for x in (np.array([1.7e308, -1.7e308, 0.0]), np.array([5e-324, 0.0, 5e-324])):
        assert same(reduce(x, method="exact"), truth(name, x, FLOAT64))
    for x in (np.array([3e38, -3e38], "f4"), 1e8 + np.arange(1000.0), 2.0**53 + np.arange(4.0)):
        assert same(reduce(x, method="exact"), truth(name, x, x.dtype))


@every_name
@pytest.mark.parametrize("dtype", [*INTEGERS, *COMPLEX], ids=str)
def test_integers_and_complex_numbers_have_exact_variances(name, dtype):
    x = np.random.default_rng(3).normal(size=300) * 100
    x = (x + 1j * x[::-1] if dtype.kind == "c" else abs(x)).astype(dtype)
    result = np.dtype(np.float32) if dtype.itemsize == 8 and dtype.kind == "c" else FLOAT64
    assert same(getattr(gred, name)(x, method="exact"), truth(name, x, result))
    if dtype.kind in "iu" and dtype.itemsize == 8:
        x = np.iinfo(dtype).max - np.arange(5, dtype=dtype)
        assert same(getattr(gred, name)(x, method="exact"), truth(name, x, FLOAT64))


@every_name
@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), (0, 1, 2), ()], ids=str)
def test_axes_keepdims_masks_and_types_are_as_in_numpy(name, axis):
    x = spread_out(210, FLOAT64).reshape(5, 6, 7)
    mask = np.random.default_rng(1).random((6, 7)) < 0.8
    reduce, numpys = getattr(gred, name), getattr(np, name)
    for options in ({}, {"keepdims": True}, {"ddof": 1}, {"where": mask}, {"correction": 1}):
        with silenced():
            got = reduce(x, axis, method="exact", **options)
            want = numpys(x.astype(np.longdouble), axis, **options)
        assert got.shape == want.shape
        # NumPy rounds each of 210 squares of deviations, sums and a mean of up to 2^60.
        scale = np.abs(x).max()
        bound = 300 * np.finfo(np.longdouble).eps * scale * (scale if name == "var" else 1)
        assert np.allclose(got, want.astype(float), 1e-15, float(bound), equal_nan=True)
    narrow = reduce(x, axis, dtype=np.float32, method="exact")
    assert narrow.dtype == np.float32
    if axis == 1:
        rows = x.transpose(0, 2, 1).reshape(35, 6)
        want = [truth(name, row, FLOAT64, 1) for row in rows]
        got = reduce(x, axis, method="exact", ddof=1)
        assert np.array_equal(bits_of(got.ravel()), bits_of(np.array(want)))


@everywhere
@every_name
def test_arrays_of_devices_make_the_same_bits(place, name):
    x = spread_out(3000, FLOAT64)
    reduce = getattr(gred, name)
    assert same(reduce(flat_there(x, place), method="exact"), truth(name, x, FLOAT64))
    both = [flat_there(x[:1000], place), flat_there(x[1000:], place)]
    assert same(reduce(both, method="exact"), truth(name, x, FLOAT64))


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


@settings(deadline=None, max_examples=examples(60))
@given(x=finite_floats(FLOAT64, 40).filter(lambda x: len(x) > 3), seed=st.integers(0, 9))
def test_covariances_and_correlations_are_rounded_once(x, seed):
    y = np.random.default_rng(seed).permutation(x)
    both = gred.ExactMoments(x, y)
    for ddof in (0, 1, 2.5):
        want = [[comoment(a, b) / (len(x) - Fraction(ddof)) for b in (x, y)] for a in (x, y)]
        got = both.cov(ddof)
        assert all(same(got[i, j], nearest(want[i][j], FLOAT64)) for i, j in np.ndindex(2, 2))
    of_x, of_y, of_both = comoment(x, x), comoment(y, y), comoment(x, y)
    got = both.corrcoef()
    if of_x == 0:
        assert np.isnan(got).all()
    else:
        want = nearest_root(of_both**2 / (of_x * of_y), FLOAT64) * (-1 if of_both < 0 else 1)
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


def test_what_is_added_bit_by_bit_begins_with_nothing():
    x, y = spread_out(500, FLOAT64, 4), spread_out(500, FLOAT64, 5)
    whole, empty = gred.ExactMoments(x, y), gred.ExactMoments()
    streamed = gred.ExactMoments()
    for part in np.array_split(np.arange(500), 7):
        streamed.add(x[part], y[part])
    assert empty + whole == whole + empty == streamed == whole != 3
    assert (streamed.count, empty.count, empty.words.shape) == (500, 0, (0, 140))
    assert gred.ExactMoments.from_words(empty.words) == empty
    with pytest.warns(RuntimeWarning):
        assert empty.cov().shape == empty.corrcoef().shape == (0, 0)
    assert "500 values of 2 variables" in repr(whole)


def test_types_are_asked_for_by_any_name():
    x = np.array([1.0, 2.0, 4.0])
    for name, kind in (("f4", "f4"), ("float32", "f4"), (">f8", "f8"), ("e", "f2"), (float, "f8")):
        got = gred.var(x, dtype=name, method="exact")
        assert same(got, truth("var", x, np.dtype(kind)))
        assert gred.cov(x, dtype=name).dtype == kind
    for name in (int, bool, "S3", np.longdouble, complex):
        for call in (
            gred.cov,
            gred.corrcoef,
            lambda y, dtype: gred.var(y, dtype=dtype, method="exact"),
        ):
            with pytest.raises(TypeError, match="dtype must be float16"):
                call(x, dtype=name)


def test_lists_are_the_one_array_of_all_elements():
    arrays = [spread_out(50, np.dtype(np.float32)), spread_out(30, FLOAT64).reshape(5, 6)]
    both = np.concatenate([one.ravel() for one in arrays])
    assert same(gred.var(arrays, method="exact"), truth("var", both, FLOAT64))
    assert same(gred.std(iter(arrays), ddof=1, method="exact"), truth("std", both, FLOAT64, 1))
    assert same(gred.var([[1, 2], [3, 4.0]], axis=0, method="exact")[0], np.float64(1))
    for options in ({"axis": 0}, {"keepdims": True}, {"where": [True] * 30}):
        with pytest.raises(TypeError, match="of a list of arrays takes no axis"):
            gred.var([SimulatedArray(one) for one in arrays], method="exact", **options)


@pytest.mark.parametrize("make", [gred.ExactMoments, gred.ExactSums])
def test_many_threads_add_and_read_at_once(make):
    total, seen, stop = make([1.0, 3.0]), set(), threading.Event()

    def read():
        while not stop.is_set():
            seen.add(float((total.var if make is gred.ExactMoments else total.mean)()))

    def add():
        for _ in range(200):
            operator.iadd(total, make([1.0, 3.0]))

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=add) for _ in range(3)]
    for thread in (*readers, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    for thread in readers:
        thread.join()
    assert np.asarray(total.count).item() == 2 * 601
    assert seen == {1.0 if make is gred.ExactMoments else 2.0}


def test_words_of_another_kind_or_shape_do_not_add_up():
    wide, tall = gred.ExactSums(np.ones((2, 3)), ()), gred.ExactSums(np.ones((3, 2)), ())
    mixed = [(wide, tall), (gred.ExactSums(np.ones(5), ()), gred.ExactMoments([1.0], [2.0]))]
    mixed += [(gred.ExactSums(np.ones(2), ()), gred.ExactMoments([1.0]))]
    for one, other in mixed:
        added = one.words + other.words.reshape(one.words.shape)
        with pytest.raises(ValueError, match="this kind and shape"):
            type(one).from_words(added)
        with pytest.raises(ValueError, match="this kind and shape"):
            type(other).from_words(added.reshape(other.words.shape))


def test_warnings_are_the_callers_and_one_a_call():
    x = np.ones((4, 1))
    for call in (
        lambda: gred.var(x[0], ddof=1, method="exact"),
        lambda: gred.var(x, axis=1, ddof=1, method="exact"),
        lambda: gred.std([x[0], x[1][:0]], ddof=1, method="exact"),
        lambda: gred.ExactMoments([1.0]).var(ddof=1),
    ):
        with pytest.warns(RuntimeWarning, match="Degrees of freedom") as told:
            call()
        assert [one.filename for one in told] == [__file__]


def test_degrees_of_freedom_are_numbers():
    x = [1.0, 2.0, 4.0]
    for ddof in (1, np.int64(1), np.float32(1), True):
        assert gred.cov(x, ddof=ddof) == gred.var(x, ddof=1, method="exact")
    for ddof, error in (("1", TypeError), (np.nan, ValueError), (np.inf, ValueError)):
        with pytest.raises(error, match="ddof must be"):
            gred.cov(x, ddof=ddof)


def test_arrays_without_a_library_are_taken_whole():
    x = SimulatedArray(np.arange(6.0).reshape(2, 3))
    there = gred.sum(x, axis=0)
    assert gred.var(there, method="exact") == np.var([3.0, 5.0, 7.0])
    for call in (
        lambda: gred.var(there, axis=0, method="exact"),
        lambda: gred.cov(there),
        lambda: gred.ExactSums(there),
        lambda: gred.ExactSums.by_key(there, there),
    ):
        with pytest.raises(TypeError, match="nothing to take parts of it with"):
            call()


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: gred.ExactMoments([1.0], [1.0, 2.0]), ValueError, "one shape"),
        (lambda: gred.ExactMoments([1.0]).add([1.0], [2.0]), ValueError, "there are 1 variables"),
        (lambda: gred.ExactMoments([1.0]) + gred.ExactMoments([1.0], [2.0]), ValueError, "2 are"),
        (lambda: gred.ExactMoments([1.0]) + 1, TypeError, "unsupported operand"),
        (lambda: gred.ExactMoments().add(), ValueError, "a variable"),
        (lambda: gred.ExactMoments([1j]), TypeError, "two sums"),
        (lambda: gred.ExactMoments.from_words(np.zeros((3, 140), int)), ValueError, "shape"),
        (lambda: gred.ExactMoments.from_words(5), ValueError, "shape"),
        (lambda: gred.ExactMoments.from_words(np.zeros((2, 140), int)), ValueError, "changed"),
        (lambda: gred.cov(np.ones((2, 2, 2))), ValueError, "2 dimensions"),
        (lambda: gred.cov(np.ones((1, 4)), np.ones((4, 3)), rowvar=False), ValueError, "one shape"),
        (lambda: gred.cov([1j, 2]), TypeError, "two sums"),
        (lambda: gred.var([1.0], out=np.zeros(()), method="exact"), TypeError, "no out"),
        (lambda: gred.var([1.0], mean=1.0, method="exact"), TypeError, "no out, mean"),
        (lambda: gred.var([1.0], axis=1, method="exact"), IndexError, "out of bounds"),
        (lambda: gred.var([1.0], where=[1], method="exact"), TypeError, "of bool"),
        (lambda: gred.var([1.0], ddof=1, correction=1, method="exact"), ValueError, "two names"),
        (lambda: gred.var([1.0], method="exactly"), ValueError, "method"),
        (lambda: gred.reduceat("var", [1.0], [0], method="exact"), ValueError, "not for var"),
    ],
)
def test_what_cannot_be_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
