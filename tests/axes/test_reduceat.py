"""Segments' results are those of NumPy's reduceat, for every op, type, stride, offsets and device.

On devices, tiles of any size, teams of any number of threads and segments one by one are forced, at
sizes that the simulated device reduces quickly, with shuffled threads.
"""

import itertools
from functools import partial

import numpy as np
import pytest
from devices import PLACES, everywhere, laid_out, needs_gpu, on, to_host
from drawn import often
from forcing import CONFIGURATIONS, forced
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from reference import BFLOAT16, EVERY_TYPE
from refusals import refused_by
from samples import silenced
from segments import NUMPYS, UFUNCS, by_one, empty_result, every_op, nearly_same, same, small, whole
from thin import chosen

import gred
from gred import _core
from gred.testing import SimulatedArray

N, SHORT, LONG = 12_000, 1000, (1 << 18) + 25  # N has several tiles, LONG several threads
NUMPYS_TYPES = [dtype for dtype in EVERY_TYPE if dtype != BFLOAT16]
OUTSIDE = st.sampled_from([-(2**63), -(2**40), -1, 60, 61, 2**40, 2**62, 2**63 - 1])
# Segments begin at edges of tiles and of warps' and threads' shares, and many at one offset.
LENGTHS = (0, 1, 2, 3, 7, 28, 30, 31, 32, 61, 62, 63, 64, 65, 126, 127, 128, 129, 28 * 16)
SHARINGS = [("segments", way) for way in CONFIGURATIONS["segments"]]
SHARINGS += [("scans", "a warp"), ("scans", "large blocks")]
# The host has one way to share work.
WAYS = [
    pytest.param((place, *way), id=f"{way[1]}-{place}", marks=needs_gpu if place == "cuda" else ())
    for place in PLACES
    for way in (SHARINGS if place != "host" else SHARINGS[:1])
]


@pytest.fixture(params=WAYS)
def place(request):
    device, of, way = request.param
    with forced(of, way):
        yield device


def filled(op, dtype, n, random):
    """Draw integers of any bits, whose sums wrap, or exact summands; some are not finite."""
    if op not in UFUNCS and "prod" not in op:
        x = whole(n, dtype, n)
    elif dtype.kind in "iu":
        info = np.iinfo(dtype)
        x = random.integers(info.min, info.max, n, dtype, endpoint=True)
    else:
        x = small(n, dtype, n)
    if dtype.kind == "f" and ("nan" in op or random.integers(3) == 0):
        x[random.integers(0, n, n // 99)] = random.choice([np.nan, np.inf, -np.inf, -0.0])
    return x


def some_offsets(n, random):
    """Draw offsets in steps of one length or any, many of them equal, or descending."""
    kind = random.choice(["one", "few", "every", "any", "repeated", "skewed", "back", "falling"])
    first, length = random.integers(0, 9), random.choice(LENGTHS[1:])
    places = np.arange(first, n, length)
    if kind == "repeated":
        many = np.full(random.choice([63, 64, 65, 2000, 9000]), n * random.integers(0, 8) // 8)
        return np.sort(np.append(many, [3, n // 2 + 1]))
    return {
        "one": np.array([random.choice([0, n - 1])]),
        "few": np.array([9, n // 3, n // 3 + 10, n - n // 12, n - n // 12]),
        "every": places,
        "any": np.cumsum(random.choice(LENGTHS, n // 32)) % n,
        "skewed": np.minimum(np.cumsum(random.zipf(1.7, 300).clip(0, 300_000) - 1), n - 1),
        "back": random.permutation(places),
        "falling": places[::-1],
    }[kind]


def bounds(offsets, n):
    """List where segments begin and end, as in NumPy's reduceat."""
    return [(at, max(end, at + 1)) for at, end in zip(offsets, [*offsets[1:], n], strict=True)]


@pytest.mark.parametrize("op", NUMPYS)
def test_every_op_type_and_offset_is_numpys(place, op):
    types = NUMPYS_TYPES if op in UFUNCS else [np.dtype(one) for one in ("f8", "i4", "u1", "?")]
    for turn in chosen(range(90), place, op):
        random = np.random.default_rng([turn, *map(ord, op)])
        dtype = types[random.integers(len(types))]
        lengths = (SHORT, N, LONG) if place == "host" else (SHORT, N)
        n = SHORT if turn % 2 or dtype == np.float16 else random.choice(lengths)
        begin, step = random.integers(0, 17), (1, 1, 2, -1)[turn % 4]
        x = filled(op, dtype, abs(step) * n + 16, random)[begin : begin + abs(step) * n][::step]
        offsets = some_offsets(n, random)
        offsets = offsets if op in UFUNCS else offsets[:: -(-len(offsets) // 40)]
        own = np.repeat(offsets.astype(("i8", "i4")[turn % 4 // 2]), 2)[::2]
        with silenced(), gred.thread_order("shuffled", turn):
            at = laid_out(own, place) if turn % 2 else offsets
            got = to_host(gred.reduceat(op, laid_out(x, place), at))
            if op in UFUNCS:
                same(got, UFUNCS[op].reduceat(x, offsets))
                continue
            nearly_same(got, [NUMPYS[op](x[begin:end]) for begin, end in bounds(offsets, n)], n)


def test_dtype_converts_elements_first(place):
    x, types = np.array([0, 1, 2.5, 300, -1]), ("f4", "f2", "c8", "?", "i2")
    for op, dtype, offsets in itertools.product(tuple(UFUNCS)[:4], types, ([0, 2, 4], [2, 0])):
        got = gred.reduceat(op, x, offsets, dtype=dtype, **on(place))
        same(got, UFUNCS[op].reduceat(x.astype(dtype), offsets, dtype=dtype))


EMPTY = [
    ("sum", [1.0, 2], [], "element", np.zeros(0)),
    ("sum", [], [], "identity", np.zeros(0)),
    ("prod", [], [0, 0], "identity", [1.0, 1]),
    ("mean", [1.0, 3], [0, 2, 2], "identity", [2, np.nan, np.nan]),
    ("var", [1.0, 3], [0, 2], "identity", [1, np.nan]),
    ("argmin", [1.0, 0], [0, 2], "identity", [1, -1]),
    ("norm", [3.0, 4], [0, 2], "identity", [5.0, 0]),
    ("nansum", [np.nan, 4], [0, 2], "identity", [4.0, 0]),
    ("logsumexp", [3.0], [0, 1], "identity", [3, -np.inf]),
    ("max", np.zeros(0, "i2"), [0], "identity", np.array([-(2**15)], "i2")),
]


def test_empty_segments_are_of_nothing_or_an_element(place):
    """Such as empty rows of a sparse matrix, descending offsets, and empty arrays."""
    for op, values, offsets, empty, expected in EMPTY:
        same(gred.reduceat(op, values, offsets, empty=empty, **on(place)), np.asarray(expected))
    got = gred.reduceat("sum", laid_out(np.ones(3), place), np.array([], np.int64))
    same(to_host(got), np.array([]))
    for dtype, offsets, op in itertools.product(EVERY_TYPE, ([3, 3, 0], [0, 3, 3]), ("min", "max")):
        got = gred.reduceat(op, np.ones(3).astype(dtype), offsets, empty="identity", **on(place))
        assert got.dtype == dtype
        none = np.real(empty_result(op, dtype))
        assert got.real.tolist() == [none if start == 3 else 1 for start in offsets]


def test_sums_of_floats_have_the_same_bits_in_any_order_of_threads_and_are_close(place):
    x = np.random.default_rng(4).normal(size=9000).astype(np.float32)
    rises = np.sort(np.random.default_rng(3).integers(0, 5000, 60))
    for offsets in (rises, rises[::-1].copy()):
        one = gred.reduceat("sum", x, offsets, **on(place))
        every = (x.astype("f8"), abs(x), np.ones_like(x))
        exact, sizes, counts = (np.add.reduceat(y, offsets) for y in every)
        assert (abs(one - exact) <= counts * sizes * 2.0**-24).all()
        for seed in range(5):
            with gred.thread_order("shuffled", seed):
                same(gred.reduceat("sum", x, offsets, **on(place)), one)


def test_bits_do_not_depend_on_threads_or_neighbours(threads_as_before):
    """Sums are also more accurate than sequential ones."""
    random = np.random.default_rng(4)
    x = random.normal(size=700_000).astype(np.float32)
    offsets = np.unique(random.integers(0, 300_000, 500))
    one = gred.reduceat("sum", x, offsets)
    gred.threads(1)
    same(gred.reduceat("sum", x, offsets), one)
    for k, part in enumerate(np.split(x, offsets[1:])):
        if k % 100 == 0:
            same(gred.reduceat("sum", part[offsets[0] * (k == 0) :], [0]), one[k : k + 1])
    tenths, offsets = np.full(1 << 19, 0.1, np.float32), [0, 100, 100_000]
    exact = np.add.reduceat(tenths.astype(np.float64), offsets)
    errors = np.abs(gred.reduceat("sum", tenths, offsets) - exact) / exact
    assert (errors < 2**-22).all()


@everywhere
def test_tiles_are_taken_where_offsets_rise_and_only_there(place):
    """The bits of sums show it, because tiles add in another order."""
    x = np.random.default_rng(11).normal(size=9000).astype(np.float32)
    rises, sums = np.arange(0, 9000, 300), {}
    for way in CONFIGURATIONS["tiles"]:
        with forced("tiles", way):
            for kind, offsets in (("rise", rises), ("swap", np.append(rises, 0))):
                sums[kind, way] = gred.reduceat("sum", x, offsets, **on(place))
    assert (sums["rise", "tiles"] != sums["rise", "no tiles"]).any()
    same(sums["swap", "tiles"], sums["swap", "no tiles"])


def any_offsets(data):
    """Draw ascending or other offsets, with many duplicates, some far outside the array."""
    offsets = data.draw(st.lists(st.integers(0, 59), min_size=1, max_size=90))
    kind = data.draw(st.sampled_from(["rise", "any", "outside", "rise outside", "nearly rise"]))
    if kind == "rise outside":
        offsets = offsets + data.draw(st.lists(OUTSIDE, min_size=1, max_size=2))
    if "rise" in kind:
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
    """In asynchronous calls, segments outside the array are empty."""
    types = ["i1", "u4", "f4", "f8", "i2", "?", "c8", "u8", *[">f8", ">i2"] * (place == "host")]
    dtype = np.dtype(data.draw(st.sampled_from(types)))
    step = data.draw(st.sampled_from([1, 2, -1, -3, *[0] * (place == "host")]))
    first = data.draw(st.integers(0, 3))
    x = small(60 * 3 + 3, dtype, data.draw(st.integers(0, 99)))[first : first + 180]
    x = x[::step][:60] if step else np.broadcast_to(x[60], (60,))
    offsets = any_offsets(data)
    empty = data.draw(st.sampled_from(["element", "identity"]))
    expected, outside = by_one(op, x, offsets, empty=empty)
    kinds = ["i1", "u1", "i2", "u2", "i4", "u4"] if not outside.any() else []
    own = np.array(offsets, data.draw(st.sampled_from(["i8", *kinds])))
    own = np.repeat(own, 2)[::2] if seed % 3 == 0 else own[::-1].copy()[::-1]
    values, starts = laid_out(x, place), laid_out(own, place)
    with gred.thread_order("shuffled", seed):
        if place != "host":
            same(to_host(gred.reduceat(op, values, starts, empty=empty)), expected)
        if outside.any():
            out = np.zeros(len(offsets), dtype)
            for where, options in ((starts, {"out": out}), (offsets, {})):
                with pytest.raises(IndexError, match="out-of-bounds"):
                    gred.reduceat(op, values, where, empty=empty, **options)
            assert not out.any()
        else:
            same(to_host(gred.reduceat(op, values, offsets, empty=empty)), expected)
            same(gred.reduceat(op, x, starts, empty=empty), expected)


# ---- arguments ----


@pytest.mark.parametrize("op", ["sum", "var", "argmax", "max"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_segments_lie_along_any_axis(op, axis):
    x = whole(7 * 9 * 8, "f8").reshape(7, 9, 8)
    for offsets in ([0, 3, 5], [2, 6], [4, 1, 5], [0], [0, 3, 3, 1]):
        cut = bounds(offsets, x.shape[axis])
        want = [NUMPYS[op](np.take(x, range(begin, end), axis), axis=axis) for begin, end in cut]
        nearly_same(gred.reduceat(op, x, offsets, axis=axis), np.stack(want, axis), 9)


def test_no_offsets_give_no_results_and_copies_are_within_the_limit():
    for shape in ((2, 0), (2, 5)):
        assert gred.reduceat("sum", np.zeros(shape), np.zeros(0, int), axis=1).shape == (2, 0)
    assert gred.reduceat("sum", np.zeros((4, 3)), np.zeros(0, int)).shape == (0, 3)
    x = SimulatedArray(np.ones(1000))[::2]
    with gred.workspace_limit(1000), pytest.raises(MemoryError, match="limit is 1000"):
        gred.reduceat("var", x, [0, 10])
    assert to_host(gred.reduceat("var", x, [0, 10])).tolist() == [0, 0]


def test_arguments_have_their_meaning():
    x = np.array([3.0, 4.0, 1.0, 2.0, 6.0])
    assert gred.reduceat("var", x, [0, 2], ddof=1).tolist() == [0.5, 7.0]
    assert gred.reduceat("norm", x, [0, 2]).tolist() == [5.0, 41**0.5]
    assert gred.reduceat("norm", x, [0, 2], ord=1).tolist() == [7.0, 9.0]
    assert gred.reduceat("norm", x, [0, 2], ord=np.inf).tolist() == [4.0, 6.0]
    for op in ("sum", "add", np.add):
        assert gred.reduceat(op, x, [0, 2]).tolist() == [7.0, 9.0]


def test_results_stay_where_values_lie_also_if_there_are_none():
    x, offsets = np.arange(10.0), np.array([0, 4])
    there = SimulatedArray(offsets)
    of_device = (SimulatedArray(x), gred.DeviceArray)
    for (a, kind), o in ((of_device, offsets), (of_device, there), ((x, np.ndarray), there)):
        got = gred.reduceat("sum", a, o)
        assert type(got) is kind
        np.testing.assert_array_equal(to_host(got), [6, 39])
    got = gred.reduceat("sum", x, SimulatedArray(np.array([False, True])))
    np.testing.assert_array_equal(to_host(got), [0, 45])
    for values in (np.ones(3), np.ones(0), SimulatedArray(np.zeros(0))):
        assert gred.reduceat("sum", values, SimulatedArray(np.zeros(0, np.int64))).shape == (0,)


HERE, THERE = np.array([1, 2]), SimulatedArray(np.array([1, 2]))
test_what_is_wrong_is_named = refused_by(
    gred.reduceat,
    (("median", [1], [0]), {}, ValueError, "op must be"),
    ((3, [1], [0]), {}, TypeError, "op must be"),
    (("sum", [1, 2], [2]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [0, -1]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [3]), {"empty": "identity"}, IndexError, "out-of-bounds"),
    (("sum", [], [0]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [0.5]), {}, TypeError, "Cannot cast"),
    (("sum", [1, 2], [[0]]), {}, ValueError, "one dimension"),
    (("sum", [1, 2], 0), {}, ValueError, "one dimension"),
    (("sum", [[1, 2]], [0]), {"out": np.zeros(2)}, TypeError, "not take out"),
    (("sum", 1, [0]), {}, ValueError, "one dimension"),
    (("sum", [1, 2], [0]), {"empty": "zero"}, ValueError, "empty must be"),
    (("sum", [1, 2], [0]), {"dtype": "S3"}, TypeError, "dtype"),
    (("minmax", [1.0], [0]), {}, ValueError, "op must be one of"),
    (("sum", [1.0], [0]), {"method": "unroll8"}, ValueError, "'auto' or 'exact'"),
    (("sum", np.ones((3, 4)), [3]), {"axis": 0}, IndexError, "out-of-bounds"),
    (("sum", np.ones((3, 4)), [0]), {"axis": 2}, IndexError, "axis 2 is out of bounds"),
    (("norm", [1.0], [0]), {"ord": 3}, ValueError, "ord must be"),
    (("prod", [1.0], [0]), {"method": "exact"}, ValueError, "exact"),
    (("sum", [1, 2], np.array([2**64 - 1], np.uint64)), {}, IndexError, "out-of-bounds"),
)
test_what_is_wrong_with_arrays_of_devices_is_named = refused_by(
    partial(gred.reduceat, "sum"),
    ((THERE, [2]), {}, IndexError, "out-of-bounds"),
    ((HERE, [2]), {"device": "simulated"}, IndexError, "out-of-bounds"),
    ((HERE, SimulatedArray(np.array([0, 2]))), {}, IndexError, "out-of-bounds"),
    ((HERE, SimulatedArray(np.array([-1]))), {"empty": "identity"}, IndexError, "out-of-bounds"),
    ((THERE, SimulatedArray(np.array([0.0]))), {}, TypeError, "offsets must be of an integer type"),
    (
        (THERE, SimulatedArray(np.array([0], "u8"))),
        {},
        TypeError,
        "offsets must be of an integer type",
    ),
    ((THERE, SimulatedArray(np.array([[0]]))), {}, ValueError, "one dimension"),
    ((SimulatedArray(np.ones((2, 2))), [0]), {}, ValueError, "one dimension"),
    ((THERE, [0]), {"device": "host"}, ValueError, "on 'simulated'"),
    ((HERE, SimulatedArray(np.array([0]))), {"device": "host"}, ValueError, "on 'simulated'"),
    ((THERE, [0, 0.5]), {}, TypeError, "Cannot cast"),
    ((THERE, THERE.described(shape=(2**60,), strides=(0,))), {}, ValueError, "offsets: .*'shape'"),
    ((THERE, THERE.described(data=(12345, False))), {}, ValueError, "offsets: .*'data'"),
    ((np.ones(0), THERE), {"empty": "identity"}, IndexError, "out-of-bounds"),
)


def test_the_core_counts_its_arguments():
    for count in (0, 10, 12):
        with pytest.raises(TypeError, match="11 positional arguments"):
            _core.reduceat(*[None] * count)
