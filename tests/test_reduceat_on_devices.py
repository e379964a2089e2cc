"""On devices, segments' results are NumPy's, however the work is shared and whatever offsets are.

Tiles of any size, teams of any number of threads and segments one by one are forced at sizes that
the simulated device is quick with, in shuffled order.
"""

import itertools
import math
from fractions import Fraction

import hooks
import numpy as np
import pytest
from conftest import PLACES as DEVICES
from conftest import parameter
from drawn import examples
from gpu_arrays import GpuArray
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from reference import EVERY_TYPE
from test_reduceat import NUMPYS_TYPES, UFUNCS, every_op, power_law, same, small
from test_rows import laid_out
from thin import chosen

import gred
from gred import _testing
from gred.testing import SimulatedArray

everywhere = pytest.mark.parametrize(
    "place", [parameter(place) for place in DEVICES if place != "host"]
)

# Threads of a block that takes segments one by one, and of one that takes tiles, as exponents;
# bytes of a tile, elements a thread as an exponent, how many times its own four elements it takes
# alone, blocks of a multiprocessor, and what is too little for tiles.
SHARINGS = {
    "measured": (0, 0, 0, 0, 0, 0, 0),
    "least tiles": (5, 5, 64, 0, 1, 1, 0),
    "little tiles": (6, 6, 256, 3, 1, 4, 0),
    "tiles": (8, 7, 16 << 10, 3, 4, 2, 0),
    "a thread each": (7, 7, 1 << 10, 16, 1, 2, 0),
    "warps": (8, 5, 2 << 10, 0, 64, 1, 0),
    "one by one": (6, 5, 64, 2, 1, 1, 1 << 60),
    "by a thread": (5, 5, 64, 16, 1 << 16, 1, 1 << 60),
}
NONE_FORCED = SHARINGS["measured"]
OUTSIDE = st.sampled_from([-(2**63), -(2**40), -1, 60, 61, 2**40, 2**62, 2**63 - 1])


@pytest.fixture(params=SHARINGS)
def sharing(request):
    hooks.forced_segments(*SHARINGS[request.param])
    yield request.param
    hooks.forced_segments(*NONE_FORCED)


@pytest.fixture
def tiles():
    hooks.forced_segments(*SHARINGS["little tiles"])
    yield
    hooks.forced_segments(*NONE_FORCED)


def on(place):
    """Tell what brings a host array there."""
    return {"device": "cuda:0" if place == "cuda" else place}


def to_host(got):
    assert isinstance(got, gred.DeviceArray)
    return got.to_numpy()


def of_none(op, dtype):
    """Tell what an op's results of no elements are."""
    if op not in ("min", "max"):
        return UFUNCS[op].identity
    if dtype.kind == "b":
        return op == "min"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.max if op == "min" else limits.min
    infinity = np.inf if op == "min" else -np.inf
    return complex(infinity, infinity) if dtype.kind == "c" else infinity


def by_one(op, x, offsets, *, empty="element"):
    """Reduce segments in Python, one after the other, and those that do not lie in `x` to nothing.

    Tells which those are, too.
    """
    ufunc, n, results, outside = UFUNCS[op], len(x), [], []
    dtype = ufunc.reduceat(x[:1], [0]).dtype
    for k, start in enumerate(offsets):
        end = offsets[k + 1] if k + 1 < len(offsets) else n
        within = 0 <= start < n + (empty == "identity") and 0 <= end <= n
        outside.append(not within)
        if within and end <= start and empty == "element":
            end = start + 1
        part = x[start:end] if within else x[:0]
        results.append(ufunc.reduceat(part, [0])[0] if len(part) else of_none(op, dtype))
    return np.array(results, dtype), np.array(outside, bool)


often = settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


# ---- what it is ----


@everywhere
@every_op
def test_every_type_is_numpys_however_it_is_shared(place, sharing, op):
    rises, goes_back = [0, 3, 3, 3, 19, 30, 31, 39], [0, 3, 3, 1, 39, 0, 20]
    for dtype in NUMPYS_TYPES:
        x = small(40, dtype)
        for offsets in (rises, goes_back, [5], [39], list(range(40))):
            expected = UFUNCS[op].reduceat(x, offsets)
            same(gred.reduceat(op, x, offsets, **on(place)), expected)


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


@everywhere
@every_op
@often
@given(data=st.data(), seed=st.integers(0, 2**64 - 1))
def test_any_offsets_of_the_device_are_numpys_or_nothing(place, sharing, op, data, seed):
    """Where nobody waits, segments that do not lie in the array are of nothing."""
    dtype = np.dtype(data.draw(st.sampled_from(["i1", "u4", "f4", "f8", "i2", "?", "c8", "u8"])))
    step = data.draw(st.sampled_from([1, 2, -1, -3]))
    first = data.draw(st.integers(0, 3))
    x = small(60 * 3 + 3, dtype, data.draw(st.integers(0, 99)))[first : first + 180]
    x = x[::step][:60]
    offsets = some_offsets(data)
    empty = data.draw(st.sampled_from(["element", "identity"]))
    expected, outside = by_one(op, x, offsets, empty=empty)
    values, there = laid_out(x, place), laid_out(np.array(offsets), place)
    with gred.thread_order("shuffled", seed):
        same(to_host(gred.reduceat(op, values, there, empty=empty)), expected)
        if outside.any():
            with pytest.raises(IndexError, match="out-of-bounds"):
                gred.reduceat(op, values, there, empty=empty, out=np.zeros(len(offsets), dtype))
            with pytest.raises(IndexError, match="out-of-bounds"):
                gred.reduceat(op, values, offsets, empty=empty)
        else:
            same(to_host(gred.reduceat(op, values, offsets, empty=empty)), expected)
            same(gred.reduceat(op, x, there, empty=empty), expected)


@everywhere
@pytest.mark.parametrize("n", [1, 31, 33, 255, 256, 257, 4095, 4096, 4097, 70_001])
@every_op
def test_long_segments_are_right_beside_short_ones(place, sharing, op, n):
    if n > 5000 and place == "simulated" and op not in ("sum", "min"):
        pytest.skip("two of the ops are enough")
    x = small(n + 20, np.int32)
    offsets = [0, 3, 10, n + 10, n + 10, n + 19]
    expected = UFUNCS[op].reduceat(x, offsets)
    same(gred.reduceat(op, x, offsets, **on(place)), expected)
    backwards = UFUNCS[op].reduceat(x, offsets[::-1])
    same(gred.reduceat(op, x, offsets[::-1], **on(place)), backwards)


@everywhere
def test_thousands_of_short_segments_are_surveyed_by_blocks(place, sharing):
    """Tiles begin exactly where a block's share of the offsets ends, and around that."""
    for length, first in ((1, 0), (1, 1), (1, 7), (3, 0), (3, 2)):
        x = np.random.default_rng(7).integers(-99, 99, 2200 * length + first)
        offsets = np.arange(first, len(x), length)
        same(gred.reduceat("sum", x, offsets, **on(place)), np.add.reduceat(x, offsets))


@everywhere
def test_many_long_segments_in_a_row_are_kept_apart(place, sharing):
    x = np.random.default_rng(6).integers(-(2**40), 2**40, 4000)
    offsets = np.array([k * 7 if k % 2 == 0 else 3999 - k * 5 for k in range(120)])
    for seed in range(3):
        with gred.thread_order("shuffled", seed):
            got = gred.reduceat("sum", x, offsets, **on(place))
        same(got, np.add.reduceat(x, offsets))


@everywhere
@pytest.mark.parametrize("dtype", ["i1", "i8", "f8", "c16"])
@every_op
def test_skewed_lengths_are_right(place, sharing, op, dtype):
    ends = np.minimum(power_law(400), 30_000)
    x = small(ends[-1], dtype)
    starts = ends[:-1]
    expected, _ = by_one(op, x, starts, empty="identity")
    same(gred.reduceat(op, x, starts, empty="identity", **on(place)), expected)


@everywhere
@pytest.mark.parametrize("empty", ["element", "identity"])
@pytest.mark.parametrize("count", [1, 63, 64, 65, 2000])
def test_many_equal_offsets_are_shared_too(place, sharing, count, empty):
    x = small(300, np.int16)
    for at in (0, 7, 128, 299):
        offsets = np.sort(np.concatenate([np.full(count, at), [3, 200]]))
        expected, _ = by_one("sum", x, offsets, empty=empty)
        same(gred.reduceat("sum", x, offsets, empty=empty, **on(place)), expected)


@everywhere
def test_every_boundary_of_a_tile_may_be_a_segments(place, tiles):
    """Tiles are of 64 elements and ends: segments begin and end around all of their edges."""
    x = np.random.default_rng(5).integers(-(2**20), 2**20, 400).astype(np.int32)
    for length in (1, 2, 30, 31, 32, 61, 62, 63, 64, 65, 126, 127, 128, 129):
        for first in (0, 1, 2, 63):
            offsets = np.arange(first, 400, length)
            same(gred.reduceat("sum", x, offsets, **on(place)), np.add.reduceat(x, offsets))


@everywhere
@pytest.mark.parametrize("dtype", EVERY_TYPE, ids=str)
def test_extremes_of_nothing_are_the_types_own(place, sharing, dtype):
    x = np.ones(3).astype(dtype)
    for offsets in ([3, 3, 0], [0, 3, 3]):
        for op in ("min", "max"):
            ours = gred.reduceat(op, x, offsets, empty="identity", **on(place))
            host = gred.reduceat(op, x, offsets, empty="identity")
            assert ours.dtype == host.dtype
            assert ours.tobytes() == host.tobytes()


@everywhere
def test_no_segments_and_no_elements(place, sharing):
    same(gred.reduceat("sum", [1.0, 2], [], **on(place)), np.array([]))
    same(gred.reduceat("sum", [], [], empty="identity", **on(place)), np.array([]))
    same(gred.reduceat("prod", [], [0, 0], empty="identity", **on(place)), np.ones(2))
    none = np.array([], np.int64)
    same(to_host(gred.reduceat("sum", laid_out(np.ones(3), place), none)), np.array([]))


@everywhere
def test_special_values_are_numpys(place, sharing):
    x = np.array([1, np.nan, np.inf, -np.inf, -0.0, 0.0, np.nan])
    for op, ufunc in UFUNCS.items():
        for offsets in ([0, 2, 4], [2, 3], [4, 5, 6], [4, 0]):
            with np.errstate(invalid="ignore"):
                expected = ufunc.reduceat(x, offsets)
            same(gred.reduceat(op, x, offsets, **on(place)), expected)


@everywhere
@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64", "bool", "int16"])
def test_dtype_converts_elements_first(place, sharing, dtype):
    x = np.array([0, 1, 2.5, 300, -1])
    for op in ("sum", "prod", "min", "max"):
        for offsets in ([0, 2, 4], [2, 0]):
            expected = UFUNCS[op].reduceat(x.astype(dtype), offsets, dtype=dtype)
            same(gred.reduceat(op, x, offsets, dtype=dtype, **on(place)), expected)


@everywhere
def test_integers_wrap_and_are_exact(place, sharing):
    x = np.random.default_rng(8).integers(-(2**63), 2**63, 700)
    offsets = [0, 1, 90, 90, 400]
    parts = [x[0:1], x[1:90], x[90:91], x[90:400], x[400:]]
    sums = [(sum(map(int, part)) + 2**63) % 2**64 - 2**63 for part in parts]
    same(gred.reduceat("sum", x, offsets, **on(place)), np.array(sums))
    products = [(math.prod(map(int, part)) + 2**63) % 2**64 - 2**63 for part in parts]
    same(gred.reduceat("prod", x, offsets, **on(place)), np.array(products))


@everywhere
def test_sums_of_floats_are_close_to_the_true_ones(place, sharing):
    """No chain of additions is longer than a thread's elements and the states of all threads."""
    x = np.random.default_rng(9).normal(size=20_000).astype(np.float32)
    offsets = [0, 5, 100, 4196, 12_000]
    for got, part in zip(
        gred.reduceat("sum", x, offsets, **on(place)), np.split(x, offsets[1:]), strict=True
    ):
        exact = sum(map(Fraction, part.tolist()))
        bound = len(part) * 2**-24 * sum(map(abs, part.tolist()))
        assert abs(Fraction(float(got)) - exact) <= bound


@everywhere
def test_the_bits_are_the_same_in_any_order_of_threads(place, sharing):
    x = np.random.default_rng(4).normal(size=9000).astype(np.float32)
    rises = np.sort(np.random.default_rng(3).integers(0, 5000, 60))
    for offsets in (rises, rises[::-1].copy()):
        one = gred.reduceat("sum", x, offsets, **on(place))
        for seed in range(5):
            with gred.thread_order("shuffled", seed):
                same(gred.reduceat("sum", x, offsets, **on(place)), one)


@everywhere
def test_tiles_are_taken_where_offsets_rise_and_only_there(place):
    """As the bits of sums tell, which are made in another order."""
    x = np.random.default_rng(11).normal(size=9000).astype(np.float32)
    *same_shares, _ = SHARINGS["little tiles"]
    rises = np.arange(0, 9000, 300)
    sums = {}
    for few in (0, 1 << 60):
        hooks.forced_segments(*same_shares, few)
        for kind, offsets in (("rise", rises), ("swap", np.append(rises, 0))):
            sums[kind, few] = gred.reduceat("sum", x, offsets, **on(place))
    hooks.forced_segments(*NONE_FORCED)
    assert (sums["rise", 0] != sums["rise", 1 << 60]).any()
    same(sums["swap", 0], sums["swap", 1 << 60])


# ---- offsets ----


@everywhere
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "?"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_offsets_of_the_device_are_of_any_type_and_stride(place, sharing, dtype, step):
    offsets = np.array([0, 1, 1, 0, 1, 1] if dtype == "?" else [0, 90, 3, 90, 14, 100]).astype(
        dtype
    )
    view = offsets[::step]
    x = small(120, np.float32)
    got = gred.reduceat("sum", laid_out(x, place), laid_out(view, place))
    same(to_host(got), np.add.reduceat(x, view.astype(int)))


@everywhere
def test_offsets_and_values_are_never_written(place, sharing):
    x, offsets = small(500, np.int64), np.array([0, 30, 30, 4, 499])
    values, there = laid_out(x, place), laid_out(offsets, place)
    gred.reduceat("sum", values, there)
    same(gred.reduceat("sum", values, [0], out=np.zeros(1, int)), np.array([x.sum()]))
    ones = laid_out(np.arange(500), place)
    same(to_host(gred.reduceat("sum", ones, there)), np.add.reduceat(np.arange(500), offsets))


# ---- where results go ----


@everywhere
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_out_has_any_strides_and_type(place, sharing, dtype, step):
    x, offsets = np.arange(10.0), [0, 4, 8]
    memory = np.full(6, 7, dtype)
    out = memory[::step][:3]
    for values in (x, laid_out(x, place)):
        memory[...] = 7
        assert gred.reduceat("sum", values, offsets, out=out, **on(place)) is out
        np.testing.assert_array_equal(out, [6, 22, 17])
        assert (memory == 7).sum() == 3
    if place == "simulated":
        there = SimulatedArray(np.full(6, 7, dtype))
        view = there[::step][:3] if step > 0 else there[::-1][:3]
        assert gred.reduceat("sum", x, offsets, out=view) is view
        np.testing.assert_array_equal(view.get(), [6, 22, 17])


def test_out_may_overlap_with_what_is_read(sharing):
    for offsets in ([0, 4, 8], [8, 4, 0]):
        expected = np.add.reduceat(np.arange(10), offsets)
        x = SimulatedArray(np.arange(10))
        gred.reduceat("sum", x, offsets, out=x[3:6])
        same(x[3:6].get(), expected)
        there = SimulatedArray(np.array(offsets))
        gred.reduceat("sum", SimulatedArray(np.arange(10)), there, out=there)
        same(there.get(), expected)
    x, offsets = np.arange(900) ** 2, np.arange(0, 900, 2)
    for seed in range(3):
        there = SimulatedArray(offsets)
        with gred.thread_order("shuffled", seed):
            gred.reduceat("sum", SimulatedArray(x), there, out=there)
        same(there.get(), np.add.reduceat(x, offsets))


def test_results_stay_where_values_lie():
    x, offsets = np.arange(10.0), np.array([0, 4])
    there = SimulatedArray(offsets)
    for a, o, kind in (
        (SimulatedArray(x), offsets, gred.DeviceArray),
        (SimulatedArray(x), there, gred.DeviceArray),
        (x, there, np.ndarray),
    ):
        got = gred.reduceat("sum", a, o)
        assert type(got) is kind
        np.testing.assert_array_equal(to_host(got) if kind is gred.DeviceArray else got, [6, 39])


# ---- what is refused ----

HERE, THERE = np.array([1, 2]), SimulatedArray(np.array([1, 2]))
WRONG = [
    ((THERE, [2]), {}, IndexError, "out-of-bounds"),
    ((THERE, [0, -1]), {}, IndexError, "out-of-bounds"),
    ((HERE, [2]), {"device": "simulated"}, IndexError, "out-of-bounds"),
    ((HERE, SimulatedArray(np.array([0, 2]))), {}, IndexError, "out-of-bounds"),
    ((HERE, SimulatedArray(np.array([-1]))), {"empty": "identity"}, IndexError, "out-of-bounds"),
    ((THERE, SimulatedArray(np.array([0.0]))), {}, TypeError, "offsets must be integers"),
    ((THERE, SimulatedArray(np.array([0], "u8"))), {}, TypeError, "offsets must be integers"),
    ((THERE, SimulatedArray(np.array([[0]]))), {}, ValueError, "one dimension"),
    ((SimulatedArray(np.ones((2, 2))), [0]), {}, ValueError, "one dimension"),
    ((THERE, [0]), {"device": "host"}, ValueError, "lies on"),
    ((HERE, SimulatedArray(np.array([0]))), {"device": "host"}, ValueError, "lies on"),
    ((THERE, [0]), {"out": np.zeros(2)}, ValueError, "shape"),
    ((THERE, [0]), {"out": SimulatedArray(np.zeros(2))}, ValueError, "shape"),
    ((THERE, [0, 0.5]), {}, TypeError, "Cannot cast"),
    ((THERE, THERE.described(shape=(2**60,), strides=(0,))), {}, ValueError, "offsets: .*'shape'"),
    ((THERE, THERE.described(data=(12345, False))), {}, ValueError, "offsets: .*'data'"),
    ((THERE.described(shape=(2**60,), strides=(0,)), [0]), {}, ValueError, "values: .*'shape'"),
    ((np.ones(0), THERE), {"empty": "identity"}, IndexError, "out-of-bounds"),
]


@pytest.mark.parametrize(("arguments", "options", "error", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named(arguments, options, error, words):
    with pytest.raises(error, match=words):
        gred.reduceat("sum", *arguments, **options)
    same(to_host(gred.reduceat("sum", THERE, [0, 1])), np.array([1, 2]))


def test_an_out_of_the_host_is_not_written_where_offsets_are_wrong(sharing):
    out = np.full(3, 7)
    with pytest.raises(IndexError):
        gred.reduceat("sum", THERE, SimulatedArray(np.array([0, 1, 9])), out=out)
    assert (out == 7).all()


def test_a_workspace_that_is_too_small_is_refused():
    x = np.ones(10_000)
    with gred.workspace_limit(50_000), pytest.raises(MemoryError, match="workspace"):
        gred.reduceat("sum", x, [0, 5], device="simulated")
    with gred.workspace_limit(50_000):
        got = gred.reduceat("sum", SimulatedArray(x), SimulatedArray(np.array([0, 5])))
    same(to_host(got), np.array([5.0, 9995]))


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
SCANS = {"measured": NONE_FORCED, "a warp": (8, 5, 32 << 10, 4, 16, 8, 0)}
SCANS["least tiles"], SCANS["large blocks"] = SHARINGS["least tiles"], (8, 8, 32 << 10, 4, 16, 8, 0)


@pytest.fixture(params=SCANS)
def scan(request):
    hooks.forced_segments(*SCANS[request.param])
    yield request.param
    hooks.forced_segments(*NONE_FORCED)


@everywhere
@pytest.mark.parametrize("dtype", ["f4", "f8", "i8", "u8"])
@pytest.mark.parametrize("kind", OFFSETS)
def test_values_as_they_lie_are_scanned_wherever_they_begin(place, kind, dtype, scan):
    offsets = np.minimum(OFFSETS[kind], N - 1)
    for begin, op in chosen(itertools.product(range(4), ("sum", "min")), kind, dtype, scan):
        x = np.random.default_rng(begin).integers(0, 100, N + 3).astype(dtype)
        view = (SimulatedArray(x) if place == "simulated" else GpuArray.of(x))[begin : begin + N]
        expected = UFUNCS[op].reduceat(x[begin : begin + N], offsets)
        same(gred.reduceat(op, view, offsets).to_numpy(), expected)


@everywhere
def test_neither_a_number_nor_infinity_is_carried_into_other_segments(place):
    ends = np.cumsum(np.random.default_rng(1).integers(1, 90, 300))
    offsets = np.append(0, ends[:-1])
    x = np.random.default_rng(2).integers(-9, 10, ends[-1]).astype(np.float32)
    x[ends[::5] - 1], x[offsets[2::5]], x[offsets[3::7]] = np.nan, np.inf, -np.inf
    for op in ("sum", "max"):
        with np.errstate(invalid="ignore"):
            expected = UFUNCS[op].reduceat(x, offsets)
        same(gred.reduceat(op, x, offsets, **on(place)), expected)


# ---- how it is shared ----

H200 = 132


def shape(segments, elements, size=4, state=4, multiprocessors=H200, *, own=False):
    return _testing.segments(segments, elements, size, state, own, multiprocessors)


@given(
    segments=st.integers(1, 2**40),
    elements=st.integers(0, 2**45),
    size=st.sampled_from([1, 2, 4, 8, 16]),
    own=st.booleans(),
    multiprocessors=st.integers(1, 200),
)
@example(segments=1 << 31, elements=0, size=4, own=False, multiprocessors=1)
def test_everything_is_shared_and_nothing_twice(segments, elements, size, own, multiprocessors):
    found = shape(segments, elements, size, 8, multiprocessors, own=own)
    assert found["team"] <= 5
    assert 1 <= found["grid"] <= multiprocessors * 8
    if not found["tile"]:
        assert segments + elements <= 1 << 16
        return
    items = segments + elements
    assert (found["tiles"] - 1) * found["tile"] < items <= found["tiles"] * found["tile"]
    assert found["tile"] < 1 << 16  # where segments end is counted in 16 bits
    # Elements as they lie, or states of 8 bytes and what these are made of.
    staged = size if own and size == 8 else 8 + size
    assert found["tile"] * staged < found["tile_shared_bytes"] <= 48 << 10


def test_a_thread_has_work_for_a_while():
    million = 10**6
    assert shape(million, 64 * million)["team"] == 2
    assert shape(million, 4 * million)["team"] == 0
    assert shape(10, 64 * million)["team"] == 5
    assert shape(100, 6400)["tile"] == 0
    # 7 packs a thread of 256, beginning at any of a pack's elements.
    assert shape(million, 64 * million, own=True)["tile"] + 3 == 28 << 8
    assert shape(million, 64 * million, 8, 8, own=True)["tile"] + 1 == 14 << 8
    assert shape(million, 64 * million, 1, 8)["tile"] + 1 == 14 << 8
    assert shape(million, 64 * million, 4, 8)["tile"] == (32 << 10) // 12


def test_no_segments_on_a_device_are_none_wherever_the_values_are():
    for values in (np.ones(3), np.ones(0), SimulatedArray(np.zeros(0))):
        assert gred.reduceat("sum", values, SimulatedArray(np.zeros(0, np.int64))).shape == (0,)
