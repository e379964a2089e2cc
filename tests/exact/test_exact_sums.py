"""`ExactSums`, and what accumulators of every kind promise: merging is exact to the last bit."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from drawn import examples
from exact_truths import exact_sum, mixed, rows_of, same, truth, truths
from exactly import WIDE
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import COMPLEX, EVERY_TYPE
from refusals import refused

import gred

AXES = [None, 0, 1, -1, (0, 2), (), (0, 1, 2)]


def numbers(dtype, seed=1):
    x, dtype = mixed(400, seed)[:105].reshape(3, 5, 7), np.dtype(dtype)
    if dtype.kind in "iub":
        return (x.view(np.int64) >> 3).astype(dtype)
    x = np.ldexp(np.frexp(x)[0], np.random.default_rng(2).integers(-9, 5, x.shape))
    return (x * (1 - 2j) if dtype.kind == "c" else x).astype(dtype)


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_each_sum_and_mean_is_rounded_once(dtype, axis):
    x, wide = numbers(dtype), COMPLEX[1] if dtype in COMPLEX else WIDE
    for y in (x, x[::-1, :, ::-1], np.asfortranarray(x)):
        made, (rows, shape) = gred.ExactSums(y, axis), rows_of(y, axis)
        assert made.shape == shape
        assert made.count.tolist() == np.full(shape, rows[0].size).tolist()
        assert same(made.value(), truths("sum", y, axis, wide))
        assert same(made.mean(), truths("mean", y, axis, wide))
    narrow = np.complex64 if dtype in COMPLEX else np.float32
    assert same(made.value(narrow), truths("sum", y, axis, narrow))


@pytest.mark.parametrize("dtype", ["f8", "f2", "i4", "c16"])
def test_sums_by_key_are_those_of_each_keys_values(dtype):
    x = numbers(dtype).ravel()
    keys = np.random.default_rng(3).integers(0, 9, x.size)
    made = gred.ExactSums.by_key(keys, x, 12)
    want = [truth("sum", x[keys == key], "c16" if dtype == "c16" else "f8") for key in range(12)]
    assert same(made.value(), want)
    assert made.count.tolist() == np.bincount(keys, minlength=12).tolist()
    halves = [gred.ExactSums.by_key(keys[k::2], x[k::2], 12) for k in (0, 1)]
    assert sum(halves) == made
    assert np.isnan(made.mean()[11])


def test_sums_are_a_sequence_of_their_places_whose_counts_are_copies():
    x = mixed(400)[:60].reshape(3, 4, 5)
    made = gred.ExactSums(x, 2)
    assert made[1, 2] == gred.ExactSum(x[1, 2])
    assert made[1] == gred.ExactSums(x[1], 1)
    assert made[:, ::-1][0, 0] == gred.ExactSum(x[0, 3])
    assert made[made.count > 9].shape == (0,)
    assert list(made) == [made[0], made[1], made[2]]
    made.count[:] = 77
    assert (made.count == 5).all()
    parts = gred.ExactSums(np.ones((2, 3), COMPLEX[1]), 1)
    assert (parts[0].value(), parts[0].shape) == (3 + 0j, ())
    with pytest.raises(TypeError, match="no length"):
        list(gred.ExactSums([1.0]))
    assert "(3,)" in repr(made[0, :3])
    assert gred.ExactSums(np.zeros((0, 3)), 0).value().tolist() == [0, 0, 0]
    assert gred.ExactSums(np.zeros((3, 0)), 0).words.shape == (0, 1, 140)
    assert gred.ExactSums([np.inf, 1.0]).value() == np.inf


# ---- accumulators of every kind ----

MAKERS = {"sum": gred.ExactSum, "sums": lambda x: gred.ExactSums(x, 0)}
MAKERS["moments"] = lambda x: gred.ExactMoments(*x.T)
every_kind = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@every_kind
@settings(deadline=None, max_examples=examples(60))
@given(cuts=st.lists(st.integers(0, 300), max_size=5), seed=st.integers(0, 99))
def test_parts_in_any_order_are_the_whole_to_the_last_bit(make, cuts, seed):
    random, x = np.random.default_rng(seed), mixed(2000)[:900].reshape(300, 3)
    x[random.random(x.shape) < 0.01 * (seed % 3)] = random.choice([np.nan, np.inf, -np.inf])
    whole, order = make(x), random.permutation(300)
    parts = [make(x[part]) for part in np.split(order, sorted(cuts)) if part.size]
    before = [part.words.tobytes() for part in parts]
    assert sum(parts) == sum(parts[::-1]) == whole != 3
    assert type(whole).from_words(np.add.reduce([part.words for part in parts])) == whole
    for came_back in (pickle.loads(pickle.dumps(whole)), copy.copy(whole), copy.deepcopy(whole)):
        assert came_back == whole
        assert came_back.words.tobytes() == whole.words.tobytes()
    merged = 0 + parts[0]
    merged += 0
    for part in parts[1:]:
        merged += part
    assert merged == whole
    merged -= parts[0]
    assert merged == whole - parts[0] != whole
    assert before == [part.words.tobytes() for part in parts]


def test_words_and_names_are_of_a_kind_and_a_shape():
    x = np.arange(12.0).reshape(4, 3)
    for name, shape in (("sum", (140,)), ("sums", (3, 1, 140)), ("moments", (9, 140))):
        assert MAKERS[name](x).words.shape == shape
    empty = gred.ExactMoments()
    assert empty + MAKERS["moments"](x) == MAKERS["moments"](x)
    assert gred.ExactMoments.from_words(empty.words) == empty
    assert "4 values of 3 variables" in repr(MAKERS["moments"](x))
    wide, tall = gred.ExactSums(np.ones((2, 3)), ()), gred.ExactSums(np.ones((3, 2)), ())
    some = [(wide, tall), (gred.ExactSums(np.ones(5), ()), gred.ExactMoments([1.0], [2.0]))]
    some += [(gred.ExactSums(np.ones(2), ()), gred.ExactMoments([1.0]))]
    for one, other in some:
        words = one.words + other.words.reshape(one.words.shape)
        for each in (one, other):
            with pytest.raises(ValueError, match="another kind or shape"):
                type(each).from_words(words.reshape(each.words.shape))


def in_threads(works):
    """Run all concurrently."""
    with ThreadPoolExecutor(len(works)) as pool:
        list(pool.map(lambda work: work(), works))


@every_kind
def test_many_threads_merge_and_read_at_once(make):
    part, seen = make(np.array([[1.0] * 3, [3.0] * 3])), set()
    total = copy.copy(part)

    def work():
        nonlocal total
        for _ in range(200):
            total += part
            seen.add(np.asarray(total.mean()).tobytes())

    in_threads([work] * 3)
    assert (np.asarray(total.count) == 601 * np.asarray(part.count)).all()
    assert seen == {np.asarray(part.mean()).tobytes()}


def test_many_threads_add_arrays_to_one_sum():
    x, total = mixed(3000), gred.ExactSum()
    in_threads([partial(total.add, x[k::100]) for k in range(100)])
    assert total.count == len(x)
    assert total.fraction() == exact_sum(x)


test_what_cannot_be_is_refused = refused(
    (lambda: gred.ExactSums([1.0]) + gred.ExactSums([[1.0]], 0), ValueError, "shapes"),
    (lambda: gred.ExactSums([1.0]) + gred.ExactSums([1j]), ValueError, "cannot be added"),
    (lambda: gred.ExactSums([1.0]) + 1, TypeError, "unsupported operand"),
    (lambda: gred.ExactSums([1.0], 1), IndexError, "out of bounds"),
    (lambda: gred.ExactSums(["a"]), TypeError, "type"),
    (lambda: gred.ExactSums([1.0]).value(complex), TypeError, "cannot be rounded to complex128"),
    (lambda: gred.ExactSums([1j]).value(float), TypeError, "cannot be rounded to float64"),
    (lambda: gred.ExactSums([1.0]).value(int), TypeError, "float"),
    (lambda: gred.ExactSums.from_words(np.zeros((2, 1, 140), int)), ValueError, "corrupted"),
    (lambda: gred.ExactSums.from_words(np.zeros(140, int)), ValueError, "must be int64"),
    (lambda: gred.ExactSums.from_words(np.zeros((3, 140), int)), ValueError, "must be int64"),
    (lambda: gred.ExactSums.by_key([0, 5], [1.0, 2.0], 3), IndexError, "a key is not"),
    (lambda: gred.ExactSums.by_key([0], [[1.0]]), ValueError, "one dimension"),
    (lambda: gred.ExactSums.by_key([0.5], [1.0]), TypeError, "integers"),
    (lambda: gred.ExactSums.by_key(([0], [0]), [1.0]), TypeError, "combine several"),
    (lambda: gred.ExactMoments([1.0], [1.0, 2.0]), ValueError, "one shape"),
    (lambda: gred.ExactMoments([1.0]).add([1.0], [2.0]), ValueError, "there must be 1 variables"),
    (lambda: gred.ExactMoments([1.0]) + gred.ExactMoments([1.0], [2.0]), ValueError, "got 2"),
    (lambda: gred.ExactMoments([1.0]) + 1, TypeError, "unsupported operand"),
    (lambda: gred.ExactMoments().add(), ValueError, "one variable"),
    (lambda: gred.ExactMoments([1j]), TypeError, "two sums"),
    (lambda: gred.ExactMoments.from_words(np.zeros((3, 140), int)), ValueError, "shape"),
    (lambda: gred.ExactMoments.from_words(5), ValueError, "shape"),
    (lambda: gred.ExactMoments.from_words(np.zeros((2, 140), int)), ValueError, "corrupted"),
)
