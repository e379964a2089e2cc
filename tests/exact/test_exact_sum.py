"""`gred.ExactSum`: its values, its order and its words, compared with fractions bit for bit."""

import contextlib
import itertools
import math
import operator
import pickle
import sys
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from exact_truths import any_floats, as_floats, edges, exact_sum, mixed, nearest, same, total
from exactly import WIDE, of_products, typed
from hypothesis import given
from hypothesis import strategies as st
from reference import REALS
from refusals import refused

import gred

GREATEST = sys.float_info.max
TINY = 2.0**-1074
INF, NAN = math.inf, math.nan
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")


def check(accumulator, exact, dtype):
    """Check the nearest float, and the bounds when rounding down and up."""
    near, down, up = (accumulator.value(dtype, how) for how in ("nearest", "down", "up"))
    assert same(near, nearest(exact, dtype))
    assert down.dtype == up.dtype == dtype
    low, high = (Fraction(float(x)) if np.isfinite(x) else float(x) for x in (down, up))
    assert low <= exact <= high
    assert low == high or np.nextafter(down, up) == up
    assert near in (down, up)


# ---- values ----


@typed
@given(data=st.data())
def test_sums_and_means_are_the_nearest_floats_of_any_type(dtype, data):
    x = data.draw(any_floats(dtype))
    accumulator, is_finite = gred.ExactSum(x), np.isfinite(x.astype(WIDE)).all()
    for result in REALS:
        assert same(accumulator.value(result), total(x, result))
        assert same(accumulator.mean(result), total(x, result, divisor=len(x)))
        if is_finite:
            check(accumulator, exact_sum(x), result)
    assert not is_finite or accumulator.fraction() == exact_sum(x)


@typed
def test_every_edge_between_two_floats_is_right(dtype):
    for value in edges(dtype):
        for signed in (value, -value):
            check(gred.ExactSum(as_floats(signed)), signed, dtype)


def test_infinities_nans_and_zeros_are_as_ieee_754_has_them_however_rounded():
    for x in ([INF], [-INF], [INF, -INF], [NAN, INF], [1.0, INF, -1e308], [], [-0.0], [1.0, -1.0]):
        for how in ("nearest", "down", "up"):
            with np.errstate(invalid="ignore"):
                assert same(gred.ExactSum(x).value(rounding=how), np.float64(np.sum(x) + 0.0))
    assert same(gred.ExactSum([-TINY]).value(np.float32), np.float32(-0.0))
    with np.errstate(over="raise"):
        assert gred.ExactSum([GREATEST, 1.0]).value(rounding="up") == INF
        assert gred.ExactSum([-GREATEST, -1.0]).value(rounding="down") == -INF
    assert gred.ExactSum([GREATEST] * 3).mean() == GREATEST
    left = gred.ExactSum([1.5, INF, NAN, -INF])
    for part, value in (([NAN, -INF], INF), ([INF], 1.5), ([INF], -INF)):
        left -= gred.ExactSum(part)  # non-finite elements can be subtracted
        assert float(left) == value


def test_the_least_and_the_greatest_products_have_their_place():
    """Zero times infinity is NaN."""
    products = of_products([TINY, GREATEST, TINY], [TINY, GREATEST, -TINY])
    products.add_products([-GREATEST], [GREATEST])
    assert products.fraction() == 0
    products.add_products([TINY], [TINY])
    for one, value in ((products, Fraction(1, 2**2148)), (-products, Fraction(-1, 2**2148))):
        assert one.fraction() == value
        check(one, value, WIDE)
    for a, b in ((0.0, INF), (INF, -0.0), (NAN, 0.0), (1.0, NAN)):
        assert math.isnan(of_products([a], [b]).value())


@given(st.integers(1, 2**62), st.integers(1, 2**53), st.integers(-1074, 900))
def test_a_mean_of_many_is_right(count, significand, exponent):
    """So many elements that only their accumulator exists: adding zeros raises its count."""
    value = Fraction(significand) * Fraction(2) ** exponent
    counted, zeros = gred.ExactSum(as_floats(value)), gred.ExactSum([0.0])
    for bit in bin(max(count - counted.count, 0))[:1:-1]:
        counted = counted + zeros if bit == "1" else counted
        zeros = zeros + zeros
    assert same(counted.mean(), nearest(value / counted.count, WIDE))


def test_integers_and_several_arrays_are_added_as_they_are():
    integers = np.array([2**63 - 1, -(2**63), 2**62 + 1]), np.array([2**64 - 1] * 3, np.uint64)
    for x in (*integers, np.array([True, False, True]), np.int8([-128, -1])):
        assert gred.ExactSum(x).fraction() == exact_sum(x)
        assert gred.ExactSum(x).count == x.size
    assert gred.ExactSum([[1.5, 2.5]], 3, (4.0,)).fraction() == 11


# ---- order and scale ----

finite = st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=20)


@given(finite, finite, st.integers(-(2**70), 2**70) | st.integers(-3, 3))
def test_sums_are_compared_and_scaled_as_fractions_are(x, y, k):
    a, b = gred.ExactSum(np.array(x)), gred.ExactSum(np.array(y))
    first, second = sum(map(Fraction, x)), sum(map(Fraction, y))
    for other, value in ((b, second), (second, second), (a, first)):
        for compare in (operator.lt, operator.le, operator.gt, operator.ge):
            assert compare(a, other) == compare(first, value)
    for scaled, factor in ((a * k, k), (k * a, k), (-a, -1)):
        assert (scaled.fraction(), scaled.count) == (factor * first, len(x))
    assert (a + -a).fraction() == 0
    assert -a * -1 == a
    assert -a == gred.ExactSum(-np.array(x))


def test_sums_are_compared_with_numbers_of_any_kind():
    some, one = gred.ExactSum([1e100, 2.0**-60, -1e100, 1.0]), gred.ExactSum([1.0])
    for number in (1, 1.0, np.float32(1), np.int8(1), True, Fraction(1), np.longdouble(1)):
        assert some > number
        assert not some <= number
    assert -INF < some < 1 + Fraction(1, 2**59) < INF
    for nan in (NAN, gred.ExactSum([NAN])):
        assert not any((some < nan, some <= nan, some > nan, some >= nan))
    assert gred.ExactSum([-INF]) < -(10**400) < some < gred.ExactSum([INF]) != gred.ExactSum([NAN])
    for other in (gred.ExactSum([1.0, 0.0]), gred.ExactSum([1.0 + 2.0**-52]), 1.0):
        assert one != other


def test_scaled_sums_are_ordinary_ones():
    scaled = gred.ExactSum([0.1, 1e300]) * 3
    assert gred.ExactSum.from_bytes(scaled.to_bytes()) == scaled
    merged = gred.ExactSum.from_words(scaled.words + gred.ExactSum([1.0]).words)
    assert merged.fraction() == 3 * (Fraction(0.1) + Fraction(1e300)) + 1
    assert (np.int64(5) * gred.ExactSum([1.5, 2.5])).mean() == 10
    large = gred.ExactSum([GREATEST])
    assert (large * 2**1000).fraction() == large.fraction() * 2**1000
    for value, k in itertools.product((INF, -INF, NAN), (-2, -1, 0, 1, 7)):
        got, want = (gred.ExactSum([value, 1.0]) * k).value(), np.float64(value) + 1
        with np.errstate(invalid="ignore"):
            assert same(got, want * k), (value, k)


# ---- words and bytes ----


@given(any_floats(WIDE))
def test_bytes_are_what_they_are_documented_to_be(x):
    data = gred.ExactSum(x).to_bytes()
    assert data[:8] == b"gredsum\x01"
    _, _, *counts = (words := np.frombuffer(data, "<i8", offset=8).tolist())[:6]
    assert counts == [len(x), np.isnan(x).sum(), (x == INF).sum(), (x == -INF).sum()]
    digits = enumerate(words[6:])
    value = sum(Fraction(word) * Fraction(2) ** (32 * k - 2148) for k, word in digits)
    assert value == exact_sum(x[np.isfinite(x)])
    assert gred.ExactSum.from_bytes(data).to_bytes() == data
    words = np.zeros(140, "<i8")
    words[[0, 1, 2, 73]] = 1, -0x3E48A39BFB863E9, 2, 5 << 4  # a precomputed checksum
    assert gred.ExactSum.from_bytes(b"gredsum\x01" + words.tobytes()).fraction() == 5


@pytest.mark.parametrize("x", [GREATEST, -GREATEST, 2.0**-1022 - TINY, -1.0 + 2.0**-53])
def test_words_have_room_for_the_promised_number_of_parts(x):
    """All digits have only ones, as many times as documented."""
    part = gred.ExactSum([x, x / 2**52, x / 2**104])
    most = gred.ExactSum.PARTS_MOST
    assert most == 2**20
    merged = gred.ExactSum.from_words(part.words * most)
    assert merged.fraction() == part.fraction() * most
    assert merged.count == 3 * most
    with pytest.raises(ValueError, match="more than 1048576"):
        gred.ExactSum.from_words(part.words * (most + 1))


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("word", [2**62, 2**62 - 1, 2**30 * (2**32 - 1)])
def test_every_word_carries_at_its_limit(word, sign):
    """All digits are at the proven limit, except the topmost, which only takes carries."""
    words = np.zeros(138, np.int64)
    words[4:-1] = sign * word
    digits = np.frombuffer(gred._core.exact_normalised(words), np.int64)[4:].tolist()
    right = sum(sign * word << 32 * k for k in range(133))
    assert sum(digit << 32 * k for k, digit in enumerate(digits)) == right
    assert all(0 <= sign * digit < 2**32 for digit in digits)


def test_counts_that_could_wrap_or_overflow_are_refused():
    many = gred.ExactSum([1.0])
    for doublings in range(62):
        if doublings == 42:
            assert gred.ExactSum.from_words(many.words) == many
        if doublings == 43:
            with pytest.raises(OverflowError, match=r"got 8796093022208"):
                many.words  # noqa: B018
            assert gred.ExactSum.from_bytes(many.to_bytes()) == many
        many += many
    with pytest.raises(OverflowError, match="elements"):
        many += many
    assert many.fraction() == 2**62


# ---- errors ----


def test_every_byte_that_is_changed_is_noticed():
    data = gred.ExactSum(mixed(100)).to_bytes()
    for place, change in itertools.product(range(len(data)), (1, 0x80)):
        changed = bytearray(data)
        changed[place] ^= change
        with pytest.raises(ValueError, match="ExactSum"):
            gred.ExactSum.from_bytes(changed)


@given(st.binary(max_size=1200))
def test_no_other_bytes_make_an_accumulator_and_the_core_takes_any_without_harm(data):
    for hostile in (data, b"gredsum\x01" + data, b"gredsum\x01" + data.ljust(1120, b"\xff")):
        with pytest.raises(ValueError, match="ExactSum"):
            gred.ExactSum.from_bytes(hostile)
    with contextlib.suppress(ValueError):
        words = gred._core.exact_normalised((data * 1104 or bytes(1104))[:1104])
        assert len(words) == 1104
        assert gred._core.exact_normalised(words) == words
        gred._core.exact_rounded(words, 3, np.float64)


def hostile_words():
    """Yield invalid words, words converted through float64, and too large ones with a checksum."""
    yield from (np.zeros(140, int), np.ones(140, int), np.arange(140))
    yield from (np.full(140, -(2**63)), np.full(140, 2**63 - 1))
    yield np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 140)
    yield gred.ExactSum(mixed(100)).words.astype(np.float64).astype(np.int64)
    beyond = (2**62 + 1, -(2**62) - 1, 2**63 - 1, -(2**63))
    for place, word in [(-1, 2**40), *itertools.product((4, 70, -1), beyond)]:
        words = np.zeros(138, np.int64)
        words[place] = word
        yield gred.exact.sums._with_head(words)


ONE, LARGE = gred.ExactSum([1.0]), gred.ExactSum([GREATEST])
BYTES, WORDS = ONE.to_bytes(), ONE.words
OTHER_WORDS = (WORDS[:-1], WORDS.reshape(2, 70), WORDS.astype(float), WORDS.astype("i4"), None)
OTHER_SHAPES = (([1.0], [1.0, 2.0]), ([[1.0]], [1.0]), (np.ones((2, 3)), np.ones((3, 2))))
OTHER_BYTES = (b"", BYTES[:8], BYTES[:-1], BYTES + b"\0")
OTHERS = ("one + 1.0", "operator.iadd(one, 1.0)", "one - 1.0", "1.0 + one", "1 + one", "hash(one)")
OTHERS += ("False + one", "one < '1'", "one < None", "one < [1]", "one * 1.5", "one * '2'")
OTHERS += ("one * None",)
REFUSED = [
    (gred.ExactSum, ([1j],), TypeError, "real and imaginary parts"),
    (of_products, ([1.0], [1j]), TypeError, "real and imaginary parts"),
    *((of_products, pair, ValueError, "one shape") for pair in OTHER_SHAPES),
    *((gred.ExactSum.from_words, (words,), ValueError, "words must be") for words in OTHER_WORDS),
    *((gred.ExactSum.from_words, (words,), ValueError, "words") for words in hostile_words()),
    *((gred.ExactSum.from_bytes, (data,), ValueError, "ExactSum|corrupt") for data in OTHER_BYTES),
    (gred.ExactSum.from_bytes, (BYTES[:7] + b"\2" + BYTES[8:],), ValueError, "version 2"),
    (gred.ExactSum.from_bytes, ("gredsum",), TypeError, None),
    (pickle.loads, (pickle.dumps(ONE).replace(b"gredsum", b"gredsun"),), ValueError, "ExactSum"),
    *((ask, (dtype,), TypeError, "dtype must be float16")
      for ask in (ONE.value, ONE.mean) for dtype in (np.int64, np.complex128, bool)),
    *((ONE.value, (WIDE, how), ValueError, "rounding must be") for how in ("zero", None, 1)),
    (gred.ExactSum([NAN]).fraction, (), ValueError, "NaN"),
    (gred.ExactSum([INF]).fraction, (), OverflowError, "Infinity"),
    *((LARGE.__mul__, (k,), OverflowError, "range") for k in (2**1200, -(2**1200))),
    *((eval, (text, {"one": ONE, "operator": operator}), TypeError, None) for text in OTHERS),
]  # fmt: skip


test_what_is_no_sum_and_no_part_of_one_is_refused = refused(
    *((partial(call, *arguments), error, words) for call, arguments, error, words in REFUSED)
)
