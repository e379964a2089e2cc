"""Segments' results are those of NumPy's reduceat, for every op, type, stride, offsets and device.

On devices, however the work is shared: tiles of any size, teams of any number of threads and
segments one by one are forced at sizes that the simulated device is quick with, in shuffled order.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from devices import PLACES, everywhere, flat_there, laid_out, needs_gpu, on, to_host
from drawn import often
from forcing import CONFIGURATIONS, forced
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from reference import BFLOAT16, EVERY_TYPE
from segments import UFUNCS, by_one, every_op, of_none, power_law, same, small
from thin import chosen

import gred

NUMPYS_TYPES = [dtype for dtype in EVERY_TYPE if dtype != BFLOAT16]
OUTSIDE = st.sampled_from([-(2**63), -(2**40), -1, 60, 61, 2**40, 2**62, 2**63 - 1])
# The host shares work in one way.
WAYS = [
    pytest.param((place, way), id=f"{way}-{place}", marks=needs_gpu if place == "cuda" else ())
    for place in PLACES
    for way in CONFIGURATIONS["segments"]
    if place != "host" or way == "measured"
]


@pytest.fixture(params=WAYS)
def place(request):
    device, sharing = request.param
    with forced("segments", sharing):
        yield device


@pytest.fixture(params=[way for way in WAYS if way.values[0][0] != "host"])
def there(request):
    """Give a device, for what the host does in one way."""
    device, sharing = request.param
    with forced("segments", sharing):
        yield device


def numpys(op, x, offsets, **options):
    with np.errstate(invalid="ignore"):
        return UFUNCS[op].reduceat(x, offsets, **options)


def check(place, op, x, offsets, **options):
    same(gred.reduceat(op, x, offsets, **on(place), **options), numpys(op, x, offsets, **options))


# ---- what it is ----


@every_op
def test_every_type_is_numpys(place, op):
    for dtype in NUMPYS_TYPES:
        x = small(40, dtype)
        rises, goes_back = [0, 3, 3, 3, 19, 30, 31, 39], [0, 3, 3, 1, 39, 0, 20]
        for offsets in (rises, goes_back, [5], [39], list(range(40))):
            check(place, op, x, offsets)


@pytest.mark.parametrize("named", ["sum", "add", np.add], ids=str)
def test_ops_have_greds_names_and_numpys(named):
    same(gred.reduceat(named, [1, 2, 3], [0, 2]), np.array([3, 3]))


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "bool", "int16"])
@every_op
def test_dtype_converts_elements_first(place, op, dtype):
    if op in ("any", "all"):
        pytest.skip("they take truth values of any type")
    x = np.array([0, 1, 2.5, 300, -1])
    for offsets in ([0, 2, 4], [2, 0]):
        got = gred.reduceat(op, x, offsets, dtype=dtype, **on(place))
        same(got, numpys(op, x.astype(dtype), offsets, dtype=dtype))


LONG = [1, 31, 33, 255, 256, 257, 4095, 4096, 4097, 9000, 70_001, (1 << 18) - 1, (1 << 18) + 5]


@pytest.mark.parametrize("n", LONG)
@every_op
def test_long_segments_are_right_beside_short_ones(place, op, n):
    """Those of the host that are longest by several threads."""
    if n > 5000 and place == "simulated" and (op not in ("sum", "min") or n > 70_001):
        pytest.skip("two of the ops are enough")
    x = small(n + 20, np.int32)
    offsets = [0, 3, 10, n + 10, n + 10, n + 19]
    for given_offsets, values in ((offsets, x), (offsets[::-1], x), (offsets, x[::-1])):
        check(place, op, values, given_offsets)


@pytest.mark.parametrize("dtype", ["i1", "i8", "f8", "c16"])
@every_op
def test_skewed_lengths_are_right(place, op, dtype):
    # One segment is longer than any tile.
    ends = power_law(3000) if place == "host" else np.minimum(power_law(400), 18_000)
    x = small(ends[-1], dtype)
    expected, _ = by_one(op, x, ends[:-1], empty="identity")
    same(gred.reduceat(op, x, ends[:-1], empty="identity", **on(place)), expected)


EMPTY = [
    ("sum", [1.0, 2, 3, 4, 5], [0, 2, 2, 5], "identity", [3.0, 0, 12, 0]),
    ("sum", range(10), [5, 2], "element", [5, 44]),
    ("sum", range(10), [5, 2], "identity", [0, 44]),
    ("sum", [1.0, 2], [], "element", np.zeros(0)),
    ("sum", [], [], "identity", np.zeros(0)),
    ("prod", [], [0, 0], "identity", [1.0, 1]),
]


def test_empty_segments_are_of_nothing_or_an_element(place):
    """As rows of a sparse matrix are, what goes backwards, and what has no elements."""
    for op, values, offsets, empty, expected in EMPTY:
        got = gred.reduceat(op, values, offsets, empty=empty, **on(place))
        same(got, np.asarray(expected))
    got = gred.reduceat("sum", laid_out(np.ones(3), place), np.array([], np.int64))
    same(to_host(got), np.array([]))
    for dtype, offsets, op in itertools.product(EVERY_TYPE, ([3, 3, 0], [0, 3, 3]), ("min", "max")):
        got = gred.reduceat(op, np.ones(3).astype(dtype), offsets, empty="identity", **on(place))
        assert got.dtype == dtype
        none = np.real(of_none(op, dtype))
        assert got.real.tolist() == [none if start == 3 else 1 for start in offsets]


def test_special_values_are_numpys(place):
    x = np.array([1, np.nan, np.inf, -np.inf, -0.0, 0.0, np.nan])
    for op in UFUNCS:
        for offsets in ([0, 2, 4], [2, 3], [4, 5, 6], [4, 0], [4, 5, 6, 0]):
            check(place, op, x, offsets)


def test_integers_wrap_and_are_exact(place):
    x = np.random.default_rng(8).integers(-(2**63), 2**63, 700)
    parts = [x[0:1], x[1:90], x[90:91], x[90:400], x[400:]]
    for op, all_of in (("sum", sum), ("prod", math.prod)):
        expected = [(all_of(map(int, part)) + 2**63) % 2**64 - 2**63 for part in parts]
        same(gred.reduceat(op, x, [0, 1, 90, 90, 400], **on(place)), np.array(expected))


def test_sums_of_floats_are_close_to_the_true_ones(place):
    """No chain of additions is longer than a thread's elements and the states of all threads."""
    x = np.random.default_rng(9).normal(size=20_000).astype(np.float32)
    offsets = [0, 5, 100, 4196, 12_000]
    got = gred.reduceat("sum", x, offsets, **on(place))
    for one, part in zip(got, np.split(x, offsets[1:]), strict=True):
        exact = sum(map(Fraction, part.tolist()))
        bound = len(part) * 2**-24 * sum(map(abs, part.tolist()))
        assert abs(Fraction(float(one)) - exact) <= bound


def test_bits_do_not_depend_on_threads_or_neighbours(threads_as_before):
    """Sums are closer than those one after the other are, too."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=700_000).astype(np.float32)
    offsets = np.sort(rng.integers(0, 300_000, 500))
    one = gred.reduceat("sum", x, offsets)
    gred.threads(1)
    same(gred.reduceat("sum", x, offsets), one)
    ends = [*offsets[1:], len(x)]
    for k in (0, 1, 250, 499):
        if ends[k] > offsets[k]:
            same(gred.reduceat("sum", x[offsets[k] : ends[k]], [0]), one[k : k + 1])
    tenths, offsets = np.full(1 << 19, 0.1, np.float32), [0, 100, 100_000]
    exact = np.add.reduceat(tenths.astype(np.float64), offsets)
    errors = np.abs(gred.reduceat("sum", tenths, offsets) - exact) / exact
    assert (errors < 2**-22).all()


# ---- how devices share it ----


def some_offsets(data):
    """Draw offsets that rise, or not, with many equal ones, some far outside the array."""
    within = st.lists(st.integers(0, 59), min_size=1, max_size=90)
    kind = data.draw(st.sampled_from(["rise", "any", "outside", "rise outside", "nearly rise"]))
    offsets = data.draw(within)
    if kind == "rise outside":
        offsets = sorted([*offsets, *data.draw(st.lists(OUTSIDE, min_size=1, max_size=2))])
    if kind in ("rise", "nearly rise"):
        offsets = sorted(offsets)
    if kind == "outside":
        offsets.insert(data.draw(st.integers(0, len(offsets))), data.draw(OUTSIDE))
    if kind == "nearly rise":
        offsets[data.draw(st.integers(0, len(offsets) - 1))] = data.draw(st.integers(0, 60))
    return offsets


@every_op
@often(60, HealthCheck.function_scoped_fixture)
@given(data=st.data(), seed=st.integers(0, 2**64 - 1))
def test_any_offsets_and_strides_are_numpys_or_nothing(place, op, data, seed):
    """Where nobody waits, segments that do not lie in the array are of nothing."""
    types = ["i1", "u4", "f4", "f8", "i2", "?", "c8", "u8"]
    types += [">f8", ">i2"] if place == "host" else []
    dtype = np.dtype(data.draw(st.sampled_from(types)))
    step = data.draw(st.sampled_from([1, 2, -1, -3, *[0] * (place == "host")]))
    first = data.draw(st.integers(0, 3))
    x = small(60 * 3 + 3, dtype, data.draw(st.integers(0, 99)))[first : first + 180]
    x = x[::step][:60] if step else np.broadcast_to(x[60], (60,))
    offsets = some_offsets(data)
    empty = data.draw(st.sampled_from(["element", "identity"]))
    expected, outside = by_one(op, x, offsets, empty=empty)
    values, starts = laid_out(x, place), laid_out(np.array(offsets), place)
    with gred.thread_order("shuffled", seed):
        if place != "host":
            same(to_host(gred.reduceat(op, values, starts, empty=empty)), expected)
        if outside.any():
            out = np.zeros(len(offsets), dtype)
            for where, options in ((starts, {"out": out}), (offsets, {})):
                with pytest.raises(IndexError, match="out-of-bounds"):
                    gred.reduceat(op, values, where, empty=empty, **options)
        else:
            same(to_host(gred.reduceat(op, values, offsets, empty=empty)), expected)
            same(gred.reduceat(op, x, starts, empty=empty), expected)


def test_thousands_of_short_segments_are_surveyed_by_blocks(there):
    """Tiles begin exactly where a block's share of the offsets ends, and around that."""
    for length, first in ((1, 0), (1, 1), (1, 7), (3, 0), (3, 2)):
        x = np.random.default_rng(7).integers(-99, 99, 2200 * length + first)
        check(there, "sum", x, np.arange(first, len(x), length))


def test_many_long_segments_in_a_row_are_kept_apart(there):
    x = np.random.default_rng(6).integers(-(2**40), 2**40, 4000)
    offsets = np.array([k * 7 if k % 2 == 0 else 3999 - k * 5 for k in range(120)])
    for seed in range(3):
        with gred.thread_order("shuffled", seed):
            check(there, "sum", x, offsets)


@pytest.mark.parametrize("empty", ["element", "identity"])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 2000])
def test_many_equal_offsets_are_shared_too(there, count, empty):
    x = small(300, np.int16)
    for at in (0, 7, 128, 299):
        offsets = np.sort(np.concatenate([np.full(count, at), [3, 200]]))
        expected, _ = by_one("sum", x, offsets, empty=empty)
        same(gred.reduceat("sum", x, offsets, empty=empty, **on(there)), expected)


@everywhere
def test_every_boundary_of_a_tile_may_be_a_segments(place):
    """Tiles are of 64 elements and ends: segments begin and end around all of their edges."""
    x = np.random.default_rng(5).integers(-(2**20), 2**20, 400).astype(np.int32)
    with forced("segments", "little tiles"):
        for length in (1, 2, 30, 31, 32, 61, 62, 63, 64, 65, 126, 127, 128, 129):
            for first in (0, 1, 2, 63):
                check(place, "sum", x, np.arange(first, 400, length))


def test_the_bits_are_the_same_in_any_order_of_threads(there):
    x = np.random.default_rng(4).normal(size=9000).astype(np.float32)
    rises = np.sort(np.random.default_rng(3).integers(0, 5000, 60))
    for offsets in (rises, rises[::-1].copy()):
        one = gred.reduceat("sum", x, offsets, **on(there))
        for seed in range(5):
            with gred.thread_order("shuffled", seed):
                same(gred.reduceat("sum", x, offsets, **on(there)), one)


@everywhere
def test_tiles_are_taken_where_offsets_rise_and_only_there(place):
    """As the bits of sums tell, which are made in another order."""
    x = np.random.default_rng(11).normal(size=9000).astype(np.float32)
    rises, sums = np.arange(0, 9000, 300), {}
    for way in CONFIGURATIONS["tiles"]:
        with forced("tiles", way):
            for kind, offsets in (("rise", rises), ("swap", np.append(rises, 0))):
                sums[kind, way] = gred.reduceat("sum", x, offsets, **on(place))
    assert (sums["rise", "tiles"] != sums["rise", "no tiles"]).any()
    same(sums["swap", "tiles"], sums["swap", "no tiles"])


@everywhere
def test_neither_a_number_nor_infinity_is_carried_into_other_segments(place):
    ends = np.cumsum(np.random.default_rng(1).integers(1, 90, 300))
    offsets = np.append(0, ends[:-1])
    x = np.random.default_rng(2).integers(-9, 10, ends[-1]).astype(np.float32)
    x[ends[::5] - 1], x[offsets[2::5]], x[offsets[3::7]] = np.nan, np.inf, -np.inf
    for op in ("sum", "max"):
        check(place, op, x, offsets)


# ---- tiles that threads scan ----

N = 12_000  # elements of several tiles
OFFSETS = {
    "one": [0],
    "three": [9, 4000, 11_000],
    "late": [N - 1],
    "behind": [3590, 3600, 7170],
    "each": np.arange(N),
    "short": np.arange(0, N, 3),
    "many at one place": np.sort(np.append(np.full(9000, N // 2), [0, 31, N - 2])),
    "some at every place": np.repeat(np.arange(5, N, 7), 2),
    "any": np.cumsum(np.random.default_rng(0).integers(0, 128, N // 64)),
    "halves of a warp": np.arange(0, N, 28 * 16),
    "threads": np.arange(27, N, 28),
}


@everywhere
@pytest.mark.parametrize("scan", CONFIGURATIONS["scans"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u8"])
@pytest.mark.parametrize("kind", OFFSETS)
def test_values_as_they_lie_are_scanned_wherever_they_begin(place, kind, dtype, scan):
    offsets = np.minimum(OFFSETS[kind], N - 1)
    with forced("scans", scan):
        for begin, op in chosen(itertools.product(range(4), ("sum", "min")), kind, dtype, scan):
            x = np.random.default_rng(begin).integers(0, 100, N + 3).astype(dtype)
            got = gred.reduceat(op, flat_there(x, place)[begin : begin + N], offsets)
            same(to_host(got), numpys(op, x[begin : begin + N], offsets))
