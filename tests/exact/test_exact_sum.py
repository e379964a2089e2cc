"""`gred.ExactSum`: against fractions, bit for bit, however its parts came together."""

import copy
import itertools
import math
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from exact_truths import (
    any_floats,
    as_floats,
    bits_of,
    edges,
    exact_sum,
    mixed,
    nearest,
    of_bits,
    same,
    total,
)
from exactly import WIDE, typed
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import REALS

import gred

GREATEST = sys.float_info.max
TINY = 2.0**-1074
at_leisure = settings(deadline=None)


@typed
@at_leisure
@given(data=st.data())
def test_sums_and_means_are_the_nearest_floats_of_any_type(dtype, data):
    x = data.draw(any_floats(dtype))
    for result in REALS:
        assert same(gred.ExactSum(x).value(result), total(x, result))
        assert same(gred.ExactSum(x).mean(result), total(x, result, divisor=len(x)))
    finite = x[np.isfinite(x)]
    assert gred.ExactSum(finite).fraction() == exact_sum(finite)


@typed
def test_every_edge_between_two_floats_is_right(dtype):
    for value in edges(dtype):
        for signed in (value, -value):
            assert same(gred.ExactSum(as_floats(signed)).value(dtype), nearest(signed, dtype))


def test_infinities_nans_and_zeros_are_as_ieee_754_has_them():
    inf, nan = math.inf, math.nan
    for x in ([inf], [-inf], [inf, -inf], [nan], [nan, inf], [1.0, inf, -1e308], [-inf, nan, inf]):
        with np.errstate(invalid="ignore"):
            assert same(gred.ExactSum(x).value(), np.float64(np.sum(x)))
            assert same(gred.ExactSum(x).mean(), np.float64(np.sum(x)))
    for x in ([], [-0.0], [-0.0, 0.0], [1.0, -1.0], [-TINY, TINY]):
        assert same(gred.ExactSum(x).value(), np.float64(0.0))
    assert same(gred.ExactSum([-TINY]).value(np.float32), np.float32(-0.0))
    assert gred.ExactSum([GREATEST] * 3).mean() == GREATEST
    assert math.isnan(gred.ExactSum().mean())


@at_leisure
@given(st.integers(1, 2**62), st.integers(1, 2**53), st.integers(-1074, 900))
def test_a_mean_of_many_is_right(count, significand, exponent):
    """So many that only their accumulator can be had: zeros make it count."""
    value = Fraction(significand) * Fraction(2) ** exponent
    sum_of_all = gred.ExactSum(as_floats(value))
    words = sum_of_all.words
    counted = counting(sum_of_all, count - int(words[2]))
    assert counted.count == count
    assert same(counted.mean(), nearest(value / count, WIDE))


def counting(accumulator, zeros):
    """Add so many zeros by doubling."""
    power = gred.ExactSum([0.0])
    accumulator = copy.copy(accumulator)
    taken = zeros < 0
    for bit in bin(abs(zeros))[:1:-1]:
        if bit == "1":
            accumulator = accumulator - power if taken else accumulator + power
        power = power + power
    return accumulator


def test_arrays_of_any_layout_and_integers_as_they_are_are_added():
    x = mixed(6000)[:5400].reshape(20, 27, 10)
    some = x[::2, ::-3, 1:9], x.T, x.astype(">f8"), x[:, 3], np.broadcast_to(x, (3, *x.shape))
    integers = np.array([2**63 - 1, -(2**63), 2**62 + 1]), np.array([2**64 - 1] * 3, np.uint64)
    for view in (x, *some, *integers, np.array([True, False, True]), np.int8([-128, -1])):
        assert gred.ExactSum(view).fraction() == exact_sum(view)
        assert gred.ExactSum(view).count == view.size
    assert gred.ExactSum([[1.5, 2.5]], 3, (4.0,)).fraction() == 11


def of_products(a, b):
    products = gred.ExactSum()
    products.add_products(a, b)
    return products


def test_the_least_and_the_greatest_products_have_their_place():
    """And zero times infinity is NaN."""
    products = of_products([TINY, GREATEST, TINY], [TINY, GREATEST, -TINY])
    products.add_products([-GREATEST], [GREATEST])
    assert products.fraction() == 0
    products.add_products([TINY], [TINY])
    assert products.fraction() == Fraction(1, 2**2148)
    assert same(products.value(), np.float64(0.0))
    for a, b in ((0.0, math.inf), (math.inf, -0.0), (math.nan, 0.0), (1.0, math.nan)):
        assert math.isnan(of_products([a], [b]).value())


@at_leisure
@given(any_floats(WIDE), st.data())
def test_parts_make_the_same_accumulator_however_they_come_together(x, data):
    cut = data.draw(st.integers(0, len(x)))
    whole, left, right = (gred.ExactSum(part) for part in (x, x[:cut], x[cut:]))
    before = [part.to_bytes() for part in (left, right)]
    shuffled = gred.ExactSum(np.array(data.draw(st.permutations(x.tolist())), float))
    assert left + right == sum([left, right]) == 0 + whole == right + left == shuffled
    assert (left + right).to_bytes() == whole.to_bytes()
    total = 0 + left
    total += 0
    total += right
    assert [part.to_bytes() for part in (left, right)] == before
    assert total == whole
    total -= right
    assert total == gred.ExactSum(x[:cut]) == whole - right
    assert x.size == 0 or whole != gred.ExactSum(x[1:])


def test_what_was_not_finite_can_be_taken_away():
    total = gred.ExactSum([1.5, math.inf, math.nan, -math.inf])
    for part, left in (
        ([math.nan, -math.inf], math.inf),
        ([math.inf], 1.5),
        ([math.inf], -math.inf),
    ):
        total -= gred.ExactSum(part)
        assert float(total) == left


def test_accumulators_are_equal_only_where_the_same_was_added():
    one = gred.ExactSum([1.0])
    assert gred.ExactSum([math.nan]) != gred.ExactSum([math.inf])
    for other in (gred.ExactSum([1.0, 0.0]), gred.ExactSum([1.0 + 2.0**-52]), 1.0):
        assert one != other


ONE = gred.ExactSum([1.0])
BYTES, WORDS = ONE.to_bytes(), ONE.words
HOSTILE_WORDS = [
    np.zeros(140, np.int64),
    np.ones(140, np.int64),
    np.full(140, -(2**63)),
    np.full(140, 2**63 - 1),
    np.arange(140),
    np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 140),
    # What an engine that adds in float64 makes of them.
    gred.ExactSum(mixed(100)).words.astype(np.float64).astype(np.int64),
]
OTHER_WORDS = (WORDS[:-1], WORDS.reshape(2, 70), WORDS.astype(float), WORDS.astype("i4"), None)
OTHER_SHAPES = (([1.0], [1.0, 2.0]), ([[1.0]], [1.0]), (np.ones((2, 3)), np.ones((3, 2))))
OTHER_BYTES = (b"", BYTES[:8], BYTES[:-1], BYTES + b"\0")
REFUSED = [
    (gred.ExactSum, ([1j],), TypeError, "real and imaginary parts"),
    (gred.ExactSum().add_products, ([1.0], [1j]), TypeError, "real and imaginary parts"),
    *((gred.ExactSum().add_products, pair, ValueError, "one shape") for pair in OTHER_SHAPES),
    *((gred.ExactSum.from_words, (words,), ValueError, "words must be") for words in OTHER_WORDS),
    *((gred.ExactSum.from_words, (words,), ValueError, "not the words") for words in HOSTILE_WORDS),
    *((gred.ExactSum.from_bytes, (data,), ValueError, "ExactSum") for data in OTHER_BYTES),
    (gred.ExactSum.from_bytes, (BYTES[:7] + b"\2" + BYTES[8:],), ValueError, "version 2"),
    (gred.ExactSum.from_bytes, ("gredsum",), TypeError, None),
    (pickle.loads, (pickle.dumps(ONE).replace(b"gredsum", b"gredsun"),), ValueError, "ExactSum"),
    *(
        (ask, (dtype,), TypeError, "dtype must be float16")
        for ask in (ONE.value, ONE.mean)
        for dtype in (np.int64, np.complex128, bool)
    ),
    (gred.ExactSum([math.nan]).fraction, (), ValueError, "NaN"),
    (gred.ExactSum([math.inf]).fraction, (), OverflowError, "Infinity"),
    *((eval, (text, {"one": ONE}), TypeError, "unsupported operand")
      for text in ("one + 1.0", "one - 1.0", "1.0 + one", "1 + one", "False + one", "None + one")),
    (hash, (ONE,), TypeError, "unhashable"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "arguments", "error", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_sum_and_no_part_of_one_is_refused(call, arguments, error, words):
    with pytest.raises(error, match=words):
        call(*arguments)
    assert float(ONE) == 1.0
    one = ONE
    with pytest.raises(TypeError):
        one += 1.0


def test_counts_that_could_wrap_or_overflow_are_refused():
    total = gred.ExactSum([1.0])
    for doublings in range(62):
        if doublings == 42:
            assert gred.ExactSum.from_words(total.words) == total
        if doublings == 43:
            with pytest.raises(OverflowError, match=r"count is 8796093022208"):
                total.words  # noqa: B018
            assert gred.ExactSum.from_bytes(total.to_bytes()) == total
        total += total
    with pytest.raises(OverflowError, match="elements"):
        total += total
    assert total.fraction() == 2**62


def test_many_threads_add_to_one():
    x = mixed(3000)
    total = gred.ExactSum()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(total.add, [x[k::100] for k in range(100)] * 8))
    assert total.count == 8 * len(x)
    assert total.fraction() == 8 * exact_sum(x)


@at_leisure
@given(any_floats(WIDE))
def test_an_accumulator_comes_back_from_anywhere(x):
    total = gred.ExactSum(x)
    assert gred.ExactSum.from_bytes(total.to_bytes()) == total
    assert gred.ExactSum.from_words(total.words) == total
    assert pickle.loads(pickle.dumps(total)) == total
    assert copy.deepcopy(total) == copy.copy(total) == total


def test_words_add_up_to_the_merged_accumulator():
    parts = [gred.ExactSum(mixed(300, seed)) for seed in range(40)]
    parts += [gred.ExactSum([math.inf, -1.0]), gred.ExactSum([math.nan])]
    assert gred.ExactSum.from_words(sum(part.words for part in parts)) == sum(parts)


@pytest.mark.parametrize("x", [GREATEST, -GREATEST, 2.0**-1022 - TINY, -1.0 + 2.0**-53])
def test_words_have_room_for_the_promised_number_of_parts(x):
    """Digits of nothing but ones, as many times as is promised."""
    part = gred.ExactSum([x, x / 2**52, x / 2**104])
    most = gred.ExactSum.PARTS_MOST
    assert most == 2**20
    merged = gred.ExactSum.from_words(part.words * most)
    assert merged.fraction() == part.fraction() * most
    assert merged.count == 3 * most
    with pytest.raises(ValueError, match="at most 1048576"):
        gred.ExactSum.from_words(part.words * (most + 1))


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("word", [2**62, 2**62 - 1, 2**30 * (2**32 - 1)])
def test_every_word_carries_at_its_limit(word, sign):
    """All digits at the proven limit at once, but for the topmost, which takes carries only."""
    words = np.zeros(138, np.int64)
    words[4:-1] = sign * word
    digits = np.frombuffer(gred._core.exact_normalised(words), np.int64)[4:].tolist()
    assert sum(digit << 32 * k for k, digit in enumerate(digits)) == sum(
        sign * word << 32 * k for k in range(133)
    )
    assert all(0 <= sign * digit < 2**32 for digit in digits)


def test_bytes_are_what_they_are_documented_to_be():
    words = np.zeros(140, "<i8")
    words[[0, 1, 2, 73]] = 1, -0x3E48A39BFB863E9, 2, 5 << 4
    data = b"gredsum\x01" + words.tobytes()
    assert gred.ExactSum.from_bytes(data).fraction() == 5
    assert gred.ExactSum.from_bytes(data).to_bytes() == data
    words = np.frombuffer(gred.ExactSum([1.5, -TINY, math.inf]).to_bytes(), "<i8", offset=8)
    assert words[[0, 2, 3, 4, 5]].tolist() == [1, 3, 0, 1, 0]
    digits = enumerate(words[6:].tolist())
    value = sum(Fraction(word) * Fraction(2) ** (32 * k - 2148) for k, word in digits)
    assert value == Fraction(3, 2) - Fraction(TINY)


def test_every_byte_that_is_changed_is_noticed():
    data = gred.ExactSum(mixed(100)).to_bytes()
    for place in range(len(data)):
        for change in (1, 0x80):
            changed = bytearray(data)
            changed[place] ^= change
            with pytest.raises(ValueError, match="ExactSum"):
                gred.ExactSum.from_bytes(changed)


@at_leisure
@given(st.binary(max_size=1200))
def test_no_other_bytes_make_an_accumulator(data):
    for hostile in (data, b"gredsum\x01" + data, b"gredsum\x01" + data.ljust(1120, b"\xff")):
        with pytest.raises(ValueError, match="ExactSum"):
            gred.ExactSum.from_bytes(hostile)


def test_words_with_a_true_checksum_may_still_be_no_sum():
    """Hostile rather than broken: the checksum is right, and the words are beyond all sums."""
    beyond = (2**62 + 1, -(2**62) - 1, 2**63 - 1, -(2**63))
    for place, word in [(-1, 2**40), *((place, word) for place in (4, 70, -1) for word in beyond)]:
        words = np.zeros(138, np.int64)
        words[place] = word
        with pytest.raises(ValueError, match="not the words"):
            gred.ExactSum.from_words(gred.exact.sums._sealed(words))


@at_leisure
@given(st.binary(min_size=1104, max_size=1104))
def test_the_core_takes_any_words_without_harm(data):
    try:
        words = gred._core.exact_normalised(data)
    except ValueError:
        return
    assert len(words) == 1104
    assert gred._core.exact_normalised(words) == words
    gred._core.exact_rounded(words, 3, np.float64)


def test_bits_of_zeros_differ():
    """The tests' own eyes: they see signs of zeros, and take all NaNs for one."""
    assert bits_of([0.0])[0] != bits_of([-0.0])[0]
    assert bits_of(of_bits([0x7FF8 << 48, 0xFFF1 << 48], WIDE))[0] == bits_of([math.nan])[0]


finite = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20)
factors = st.integers(-(2**70), 2**70) | st.integers(-3, 3)


@given(finite, factors)
def test_scaling_is_of_the_exact_sum(x, k):
    total = gred.ExactSum(np.array(x))
    for scaled in (total * k, k * total):
        assert scaled.fraction() == k * total.fraction()
        assert scaled.count == len(x)
    assert (-total).fraction() == -total.fraction()
    assert -total * -1 == total
    assert -total == gred.ExactSum(-np.array(x))
    assert (total + -total).fraction() == 0
    assert total.count == len(x)


def test_scaled_sums_are_ordinary_ones():
    total = gred.ExactSum([0.1, 1e300]) * 3
    assert gred.ExactSum.from_bytes(total.to_bytes()) == total
    merged = gred.ExactSum.from_words(total.words + gred.ExactSum([1.0]).words)
    assert merged.fraction() == 3 * (Fraction(0.1) + Fraction(1e300)) + 1
    assert (np.int64(5) * gred.ExactSum([2.0])).value() == 10
    assert (gred.ExactSum([1.5, 2.5]) * -2).mean() == -4


def test_infinities_and_nan_are_scaled_as_ieee_754_has_them():
    for value, k in itertools.product((math.inf, -math.inf, math.nan), (-2, -1, 0, 1, 7)):
        got, want = (gred.ExactSum([value, 1.0]) * k).value(), (value + 1) * k
        assert got == want or (math.isnan(got) and math.isnan(want)), (value, k)
    both = gred.ExactSum([np.inf, 2.0]) + -gred.ExactSum([np.inf, 1.0])
    assert math.isnan(both.value())


def test_what_is_beyond_the_digits_is_refused():
    large = gred.ExactSum([np.finfo(float).max])
    assert (large * 2**1000).fraction() == large.fraction() * 2**1000
    for k in (2**1200, -(2**1200)):
        with pytest.raises(OverflowError, match="beyond"):
            large * k
    for wrong in (1.5, "2", None, np.float64(2)):
        with pytest.raises(TypeError):
            large * wrong


@given(finite, finite)
def test_sums_are_compared_as_fractions_are(x, y):
    a, b = gred.ExactSum(np.array(x)), gred.ExactSum(np.array(y))
    first, second = sum(map(Fraction, x)), sum(map(Fraction, y))
    for other, value in ((b, second), (second, second), (a, first)):
        assert (a < other) == (first < value)
        assert (a <= other) == (first <= value)
        assert (a > other) == (first > value)
        assert (a >= other) == (first >= value)


def test_sums_are_compared_with_numbers_of_any_kind():
    total = gred.ExactSum([1e100, 2.0**-60, -1e100, 1.0])
    for one in (1, 1.0, np.float32(1), np.int8(1), True, Fraction(1), np.longdouble(1)):
        assert total > one
        assert not total <= one
    assert total < 1 + Fraction(1, 2**59)
    assert total < math.inf
    assert total > -np.inf
    for nan in (math.nan, gred.ExactSum([np.nan])):
        assert not any((total < nan, total <= nan, total > nan, total >= nan))
    assert gred.ExactSum([np.inf]) > total
    assert gred.ExactSum([-np.inf]) < -(10**400)
    assert sorted([total, gred.ExactSum([0.5])])[0].value() == 0.5
    for wrong in ("1", None, [1]):
        with pytest.raises(TypeError):
            total < wrong  # noqa: B015


@typed
def test_an_interval_holds_the_sum_and_nothing_between_its_ends(dtype):
    for seed in range(40):
        random = np.random.default_rng(seed)
        x = (random.normal(size=9) * np.exp2(random.integers(-20, 9, 9))).astype(dtype)
        x = x.astype(np.float64) * (1 + 2.0**-30 * random.integers(0, 2, 9))
        total, exact = gred.ExactSum(x), exact_sum(x)
        down, up = (total.value(dtype, rounding) for rounding in ("down", "up"))
        assert down.dtype == up.dtype == dtype
        assert Fraction(float(down)) <= exact <= Fraction(float(up))
        assert down == up or np.nextafter(down, up) == up
        assert total.value(dtype) in (down, up)
    whole = gred.ExactSum([1.5, 2.0])
    assert {float(whole.value(dtype, how)) for how in ("down", "nearest", "up")} == {3.5}


def test_intervals_at_the_ends_of_float64():
    greatest, least = np.finfo(float).max, 5e-324
    beyond = gred.ExactSum([greatest, greatest])
    assert (beyond.value(), beyond.value(rounding="down")) == (np.inf, greatest)
    assert (-beyond).value(rounding="up") == -greatest
    assert (-beyond).value(rounding="down") == -np.inf
    tiny = gred.ExactSum()
    tiny.add_products([least], [0.25])
    assert (tiny.value(), tiny.value(rounding="down"), tiny.value(rounding="up")) == (0, 0, least)
    assert (-tiny).value(rounding="down") == -least
    for value in (np.inf, -np.inf, np.nan, 0.0):
        for how in ("down", "up"):
            got = gred.ExactSum([value]).value(rounding=how)
            assert got == value or math.isnan(value)
    for how in ("zero", None, 1):
        with pytest.raises(ValueError, match="rounding must be"):
            tiny.value(rounding=how)
