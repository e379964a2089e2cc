"""Exact sums in a shape, against fractions, and against accumulators one by one."""

import pickle

import numpy as np
import pytest
from along import normal, rows_of, shape_of
from drawn import examples
from exact_truths import bits_of, mixed, same_bits, total
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import COMPLEX, EVERY_TYPE

import gred

AXES = [None, 0, 1, -1, (0, 2), (), (0, 1, 2)]


def numbers(dtype, seed=1):
    x = mixed(400, seed)[:105].reshape(3, 5, 7)
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind in "iub":
            return (x.view(np.int64) >> 3).astype(dtype)
        if np.dtype(dtype).kind == "c":
            return (np.frexp(x)[0] * np.exp2(np.arange(7)) * (1 - 2j)).astype(dtype)
        return np.ldexp(np.frexp(x)[0], np.random.default_rng(2).integers(-9, 5, x.shape)).astype(
            dtype
        )


@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
@pytest.mark.parametrize("axis", AXES, ids=str)
def test_each_sum_and_mean_is_rounded_once(dtype, axis):
    x = numbers(dtype)
    for y in (x, x[::-1, :, ::-1], np.asfortranarray(x)):
        axes = normal(axis, 3)
        shape, of_each = shape_of(y, axes, False), rows_of(y, axes)
        made = gred.ExactSums(y, axis)
        assert made.shape == shape
        assert made.count.tolist() == np.full(shape, of_each[0].size).tolist()
        for name, divisor in (("value", 1), ("mean", of_each[0].size)):
            got = getattr(made, name)()
            assert got.shape == shape
            for part in ("real", "imag") if dtype.kind == "c" else ("real",):
                parts = of_each if dtype.kind != "c" else getattr(of_each, part)
                want = [total(one, np.float64, divisor) for one in parts]
                assert same_bits(getattr(got, part), np.reshape(want, shape))
    narrow = np.complex64 if dtype.kind == "c" else np.float32
    assert made.value(narrow).dtype == narrow


MAKERS = {"sums": lambda x: gred.ExactSums(x, 0), "moments": lambda x: gred.ExactMoments(*x.T)}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@settings(deadline=None, max_examples=examples(30))
@given(cuts=st.lists(st.integers(0, 300), max_size=5), seed=st.integers(0, 99))
def test_parts_in_any_order_are_the_whole_to_the_last_bit(make, cuts, seed):
    x = mixed(2000)[:900].reshape(300, 3)
    whole = make(x)
    order = np.random.default_rng(seed).permutation(300)
    parts = [make(x[part]) for part in np.split(order, sorted(cuts)) if part.size]
    before = [part.words for part in parts]
    assert sum(parts) == whole
    assert type(whole).from_words(np.add.reduce(before)) == whole
    assert pickle.loads(pickle.dumps(whole)) == whole
    merged = 0 + parts[0]
    for part in parts[1:]:
        merged += part
    assert merged == whole
    assert all(map(np.array_equal, before, [part.words for part in parts]))
    assert whole.words.shape == ((3, 1, 140) if make is MAKERS["sums"] else (9, 140))


def test_parts_can_be_taken_away_again():
    x = mixed(2000)[:900].reshape(300, 3)
    whole, part = gred.ExactSums(x, 0), gred.ExactSums(x[:7], 0)
    less = whole - part
    assert less + part == whole
    assert [less[k] for k in range(3)] == [whole[k] - part[k] for k in range(3)]
    less += part
    less -= part
    assert less == whole - part != whole
    assert whole != 3
    assert gred.ExactSums(np.ones((2, 1)), 1) != gred.ExactSums(np.ones((2, 1)), ())
    assert "(3,)" in repr(whole)
    assert gred.ExactSums(np.zeros((0, 3)), 0).value().tolist() == [0, 0, 0]
    assert gred.ExactSums(np.zeros((3, 0)), 0).words.shape == (0, 1, 140)
    assert gred.ExactSums([np.inf, 1.0]).value() == np.inf


@pytest.mark.parametrize("dtype", ["f8", "f2", "i4", "c16"])
def test_sums_by_key_are_those_of_each_keys_values(dtype):
    x = numbers(dtype).ravel()
    keys = np.random.default_rng(3).integers(0, 9, x.size)
    made = gred.ExactSums.by_key(keys, x, 12)
    assert made.shape == (12,)
    for key in range(12):
        one = x[keys == key]
        for part in ("real", "imag") if dtype == "c16" else ("real",):
            want = total(getattr(one, part), np.float64)
            assert bits_of(getattr(made.value()[key], part)) == bits_of(want)
    assert made.count.tolist() == np.bincount(keys, minlength=12).tolist()
    halves = [gred.ExactSums.by_key(keys[k::2], x[k::2], 12) for k in (0, 1)]
    assert sum(halves) == made
    assert np.isnan(made.mean()[11])


def test_some_are_taken_by_their_places():
    x = mixed(400)[:60].reshape(3, 4, 5)
    made = gred.ExactSums(x, 2)
    assert made[1, 2] == gred.ExactSum(x[1, 2])
    assert made[1] == gred.ExactSums(x[1], 1)
    assert made[:, ::-1][0, 0] == gred.ExactSum(x[0, 3])
    assert made[made.count > 9].shape == (0,)
    parts = gred.ExactSums(np.ones((2, 3), COMPLEX[1]), 1)
    assert parts[0].value() == 3 + 0j
    assert parts[0].shape == ()


def test_sums_are_a_sequence_whose_counts_are_copies():
    made = gred.ExactSums(np.ones((2, 3)), 1)
    assert list(made) == [made[0], made[1]]
    made.count[:] = 77
    assert made.count.tolist() == [3, 3]
    with pytest.raises(TypeError, match="no length"):
        list(gred.ExactSums([1.0]))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: gred.ExactSums([1.0]) + gred.ExactSums([[1.0]], 0), ValueError, "shapes"),
        (lambda: gred.ExactSums([1.0]) + gred.ExactSums([1j]), ValueError, "do not add up"),
        (lambda: gred.ExactSums([1.0]) + 1, TypeError, "unsupported operand"),
        (lambda: gred.ExactSums([1.0], 1), IndexError, "out of bounds"),
        (lambda: gred.ExactSums(["a"]), TypeError, "type"),
        (lambda: gred.ExactSums([1.0]).value(complex), TypeError, "not rounded to complex128"),
        (lambda: gred.ExactSums([1j]).value(float), TypeError, "not rounded to float64"),
        (lambda: gred.ExactSums([1.0]).value(int), TypeError, "float"),
        (lambda: gred.ExactSums.from_words(np.zeros((2, 1, 140), int)), ValueError, "changed"),
        (lambda: gred.ExactSums.from_words(np.zeros(140, int)), ValueError, "must be int64"),
        (lambda: gred.ExactSums.from_words(np.zeros((3, 140), int)), ValueError, "must be int64"),
        (lambda: gred.ExactSums.by_key([0, 5], [1.0, 2.0], 3), IndexError, "a key is not"),
        (lambda: gred.ExactSums.by_key([0], [[1.0]]), ValueError, "one dimension"),
        (lambda: gred.ExactSums.by_key([0.5], [1.0]), TypeError, "integers"),
        (lambda: gred.ExactSums.by_key(([0], [0]), [1.0]), TypeError, "join several"),
    ],
)
def test_what_cannot_be_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
