"""Device reductions along any axes, for every op, type, layout and way to share work among threads.

Each family of kernels has its shapes. Its configurations, listed in forcing.py, are forced at sizes
that the simulated device reduces quickly, with shuffled threads.
"""

import ctypes
import itertools
import math
import mmap

import numpy as np
import pytest
from along import EXTREMES, NAMES, calls, check_call, drawn_for, wrong_along
from devices import everywhere, flat_there, laid_out, on, put, to_host
from drawn import often
from forcing import CONFIGURATIONS, forced
from host_loops import protect_around
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from processes import printed
from reference import EVERY_TYPE
from samples import all_right, quietly
from thin import chosen
from truths import PLACES, RECORDS

import gred
from gred.testing import SimulatedArray

# Around a load and a pack of each type, a warp's loads, a block's end, a batch and a stretch.
ROWS = (1, 2, 3, 5, 7, 8, 9, 13, 16, 31, 64, 70, 131, 300, 517, 611)
WIDTHS = (1, 2, 3, 6, 12, 15, 16, 17, 24, 31, 48, 96, 100, 257, 497, 512, 513, 1001, 2048, 4097)
PLAIN = [((n, k), 0) for n, k in itertools.product(ROWS, WIDTHS) if n * k < 20_000]
BATCHES = [((3, 8, 8), 1), ((5, 6, 4), 1), ((4, 18, 2), 1), ((2, 34, 8), 1), ((3, 7, 8), 1)]
BATCHES += [((5, 3, 32), 1), ((4, 9, 31), 1), ((40, 8, 16), 1), ((3, 517, 8), 1), ((2, 300, 3), 1)]
BATCHES += [((5, 611, 16), 1), ((2, 133, 100), 1), ((3, 4, 2, 16), 1), ((3, 5, 6, 4), 1)]
BATCHES += [((3, 7, 401), 1), ((2, 16, 491), 1), ((4, 2, 1500), 1), ((2, 2100, 17), 1)]
# Two reduced dimensions; the rows of the second are contiguous or separate.
APART = [((90, 8, 8), (0, 2)), ((90, 5, 4), (0, 2)), ((9, 48, 2), (0, 2)), ((2, 5, 64), (0, 2))]
APART += [((40, 7, run), (0, 2)) for run in (2, 3, 5, 17, 21)]
APART += [((16, 16, 32), (0, 2)), ((1, 33, 32), (0, 2)), ((13, 2, 2, 37), (0, 2))]
APART += [((3, 2, 4, 2, 5, 33), (0, 2, 4)), ((30, 2, 70, 17), (0, 2))]
APART += [((5, 2, 9, 24), (0, 2)), ((3, 8, 5, 7), (0, 1, 3)), ((5, 11, 2, 13), (1, 3))]
SHORT_ROWS = [((rows, n), 1) for n in (*range(1, 131), 200, 255, 256, 257, 768) for rows in (1, 45)]
SHORT_ROWS += [((k + d, n), 1) for n, k in ((2, 512), (4, 512), (31, 320)) for d in (-1, 0, 1)]
SHORT_ROWS += [((5, k, n), 2) for k in (70, 131) for n in (1, 3, 6, 16, 31)]
SHORT_ROWS += [((3, 4, 70, 5), 3), ((2, 33, 5, 7), 3)]
SHORT_ROWS += [*BATCHES, ((300, 7, 5), 1), ((77, 16, 2), 1), ((5, 40, 33, 3), 2), ((900, 2, 3), 1)]
LONG_ROWS = [((n, k), 1) for n, k in ((300, 133), (2, 9001), (3, 1), (7, 15), (6, 700), (3, 5000))]
LONG_ROWS += [((3, 16 * packs + more), 1) for packs in (64, 128, 129) for more in (-1, 0, 7)]
LONG_ROWS += [((40, 3, 64), (0, 2)), ((9, 2, 333), (0, 2)), ((40, 8, 32), (0, 2)), *APART[-2:]]
COLUMNS = PLAIN + BATCHES + APART
FAMILIES = dict.fromkeys(("columns", "unsplit columns", "strided"), COLUMNS)
FAMILIES |= {"short rows": SHORT_ROWS, "long rows": LONG_ROWS, "general": COLUMNS[::8] + LONG_ROWS}
# As many bytes as narrow sums and sums of squares hold, and more.
TALL = {
    "general": [((5000, 4), 0), ((3, 5000), 1)],
    "columns": [((70_000, 16), 0), ((131, 16), 0), ((16, 16, 32), (0, 2))],
    "unsplit columns": [((2, 48), 0), ((31, 48), 0), ((300, 48), 0), ((16, 16, 32), (0, 2))],
    "strided": [((7000, 16), 0), ((131, 16), 0), ((131, 4, 7), (0, 2))],
    "short rows": [((70, n), 1) for n in (2, 3, 8, 31, 64, 100, 131, 512)],
    "long rows": [((3, n), 1) for n in (9, 15, 64, 1000, 5001, 200_003)],  # 2^17 squares are 2^31
}
ENDS = [("i1", -128, 127), ("i1", 127, 0), ("u1", 255, 0)]
WAYS = [(family, way) for family in FAMILIES for way in CONFIGURATIONS[family]]
every_way = pytest.mark.parametrize(("family", "way"), WAYS, ids=map(" by ".join, WAYS))


@pytest.fixture
def shared(family, way):
    with forced(family, way):
        yield


def reduced(name, x, place, axis, seed=0, **options):
    for key in ("where", "mean"):
        if np.ndim(options.get(key)):
            options[key] = laid_out(options[key], place)
    with gred.thread_order("shuffled", seed):
        return to_host(quietly(name, laid_out(x, place), axis=axis, **options))


def drawn_in_every_way(name, families=FAMILIES):
    """Draw a shape, layout, values and options for each type and way."""
    ways = [way for way in WAYS if way[0] in families]
    times = 3 if name in RECORDS else 9  # their truth is slow
    every = itertools.product(range(times), ways, EVERY_TYPE)
    for turn, (_, way, dtype) in enumerate(chosen(every, name)):
        one = drawn_for(name, dtype, families[way[0]], turn)
        if one:
            yield turn, way, one


def wrong_in_every_way(name, place, families=tuple(FAMILIES)):
    of_these = {family: FAMILIES[family] for family in families}
    for turn, way, one in drawn_in_every_way(name, of_these):
        with forced(*way):
            got = reduced(name, one.x, place, one.axis, turn, **one.options)
        found = one.wrong(name, got)
        yield found and f"{found}: {' by '.join(way)}"


@everywhere
@pytest.mark.parametrize("name", [*NAMES, *RECORDS])
def test_every_type_layout_and_value_is_right_in_every_way(place, name):
    all_right(wrong_in_every_way(name, place))


@everywhere
@pytest.mark.parametrize("way", CONFIGURATIONS["general"])
@often(60, HealthCheck.function_scoped_fixture)
@given(call=calls(), seed=st.integers(0, 2**64 - 1))
def test_answers_and_refusals_are_numpys(place, way, call, seed):
    with forced("general", way), gred.thread_order("shuffled", seed):
        check_call(call, **on(place))


@everywhere
@every_way
@pytest.mark.parametrize(("dtype", "value", "other"), ENDS)
def test_bytes_at_their_ends_are_added_without_overflow(
    place, family, way, shared, dtype, value, other
):
    for name, (shape, axis) in itertools.product(
        ("sum", "prod", "var", "norm", *EXTREMES), TALL[family]
    ):
        # Extremes do not grow with the number of elements.
        small = math.prod(shape) < 100_000 and not (name in PLACES and isinstance(axis, tuple))
        if small or name not in EXTREMES:
            x = np.full(shape, value, dtype)
            assert not wrong_along(name, reduced(name, x, place, axis), x, axis)
            x[..., 3::7], x[-1] = 0, 1
            x[..., -1] = np.random.default_rng(1).choice([value, other], x[..., -1].shape)
            assert not wrong_along(name, reduced(name, x, place, axis), x, axis)


@everywhere
@every_way
def test_every_order_of_threads_gives_the_same_bits(place, family, way, shared):
    """Means are masked, so that counts are merged, too."""
    random, shapes = np.random.default_rng(4), FAMILIES[family]
    for (shape, axis), dtype in itertools.product(shapes[:: len(shapes) // 4], ("f2", "f4", "c8")):
        x = random.normal(size=shape).astype(dtype)
        for name in ("mean", *chosen(("sum", "var", "norm", "prod"), way, shape, dtype)):
            options = {"where": x.real > -1} if name == "mean" else {}
            made = {reduced(name, x, place, axis, seed, **options).tobytes() for seed in range(3)}
            assert len(made) == 1, (name, shape)


@everywhere
@every_way
def test_results_are_written_where_they_belong(place, family, way, shared):
    """On the host or the device, misaligned, of another type, with any stride; and nothing else."""
    names, types = ("sum", "max", "argmax"), ("i1", "f2", "f4", "f8")
    every = itertools.product(names, types, FAMILIES[family])
    for turn, (name, dtype, (shape, axis)) in enumerate(chosen(chosen(every, family, way), way)):
        if name == "argmax" and isinstance(axis, tuple):
            continue
        x = np.random.default_rng(turn).integers(-9, 10, shape).astype(dtype)
        there, function = laid_out(x, place), getattr(gred, name)
        want = reduced(name, x, place, axis)
        first, step = turn % 4, (1, 2, -1)[turn % 3]
        wider = "i8" if want.dtype.kind == "i" else "f8"
        room = np.full(want.size * 2 + 4, 7, (want.dtype, wider)[turn % 2])
        out = room[first:][::step][: want.size].reshape(want.shape)
        function(there, axis=axis, out=out)
        np.testing.assert_array_equal(out, want)
        out[...] = 7
        assert (room == 7).all()
        right = np.full(want.size + 8, 7, want.dtype)
        room, part = flat_there(right, place), slice(first, first + want.size)
        function(there, axis=axis, out=room[part].described(shape=want.shape))
        right[part] = want.reshape(-1)
        np.testing.assert_array_equal(to_host(room), right)


@everywhere
@pytest.mark.parametrize("way", CONFIGURATIONS["unsplit columns"])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_means_are_rounded_once_however_large(place, way, dtype):
    """A quotient's residual is lost where it underflows, and NaN where the sum is not finite."""
    ends, wide = np.finfo(dtype), np.float64 if dtype == "f8" else np.float32
    edges = [ends.smallest_subnormal, ends.tiny, ends.tiny * 3, ends.max / 4, np.inf, np.nan, 0]
    numbers = np.array([*edges, *np.negative(edges), 1, -0.0], dtype)
    for rows in (2, 3, 5, 7, 12):
        x = np.zeros((rows, 16), dtype)
        x[rows // 2] = numbers
        with np.errstate(all="ignore"):
            want = (x.sum(0, dtype=wide) / wide(rows)).astype(dtype)
        with forced("unsplit columns", way):
            np.testing.assert_array_equal(reduced("mean", x, place, 0), want)


@everywhere
@pytest.mark.parametrize("layout", ["apart", "columns", "masked"])
@pytest.mark.parametrize("reduced", [1, 4, 5, 6])
@pytest.mark.parametrize("kept", [1, 4, 5, 6])
def test_dimensions_that_no_two_are_one_of_are_taken(place, kept, reduced, layout):
    """Most kernels take few dimensions, one takes any number."""
    dimensions, random = kept + reduced, np.random.default_rng(kept * reduced)
    last = slice(None, None, 1 if layout == "columns" else 2)
    shape, index = [3] * (dimensions - 1) + [4], [slice(None, None, 2)] * (dimensions - 1) + [last]
    theirs = random.integers(-99, 99, shape).astype("f4")[tuple(index)]
    x, among = laid_out(theirs, place), dimensions - (layout == "columns")
    axes = tuple(int(k) for k in random.permutation(among)[:reduced])
    where = {"where": random.random(theirs.shape) < 0.7} if layout == "masked" else {}
    with gred.thread_order("shuffled", kept):
        for name, options in (("sum", {}), ("max", {"initial": -100}), ("count_nonzero", {})):
            got = to_host(getattr(gred, name)(x, axes, **where, **options))
            assert not wrong_along(name, got, theirs, axes, **where, **options)
        for name in () if where else ("sum", "argmax"):
            got = to_host(getattr(gred, name)(x, axes[0]))
            assert not wrong_along(name, got, theirs, axes[0])


PARTS = {
    "dense": lambda memory: memory[7:37].reshape(5, 6),
    "permuted": lambda memory: memory[7:37].reshape(6, 5).T,
    "reversed": lambda memory: memory[7:37].reshape(5, 6)[::-1],
    "apart": lambda memory: memory.reshape(10, 12)[::2, 3:9],
}


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@pytest.mark.parametrize("layout", PARTS.values(), ids=PARTS)
def test_positions_of_one_element_each_are_zero_and_all_that_is_written(device, name, layout):
    x = laid_out(np.full((5, 1, 6), np.nan, "f4"), device)
    memory, out = put(np.full(120, 7), device, layout)
    getattr(gred, name)(x, axis=1, out=out)
    expected = np.full(120, 7)
    layout(expected)[...] = 0
    assert np.array_equal(to_host(memory), expected)


@pytest.mark.parametrize("offset", [0, 1])
@pytest.mark.parametrize(("dtype", "n"), [("f4", 1), ("f2", 1), ("i8", 1), ("i1", 2), ("f4", 4)])
def test_rows_in_registers_are_stored_together_or_one_by_one(device, dtype, n, offset):
    """Blocks are full or not, and the output is aligned or not."""
    rows = 70_003
    x = np.random.default_rng(n).integers(-9, 9, (rows, n)).astype(dtype)
    expected, there = np.full(rows + 2, 7, dtype), laid_out(x, device)
    memory, out = put(expected, device, lambda memory: memory[offset:][:rows])
    for name in ("min", "max"):
        steps = gred.explain(there, name, axis=1, out=out).steps
        assert [step.work for step in steps] == ([] if device == "host" else ["short rows"])
        getattr(gred, name)(there, axis=1, out=out)
        expected[offset:][:rows] = getattr(x, name)(axis=1)
        assert np.array_equal(to_host(memory), expected)


# ---- reads stay within arrays, on the simulated device and the host: between guard pages ----

SIZE = 40 * mmap.PAGESIZE
# Rows and columns that end anywhere around a load, or where a block's part does.
LENGTHS = (*range(2, 70, 2), *range(3, 30, 4), 257, 513)
ENDING_ROWS = [((n, length), 1) for n in (2, 9) for length in LENGTHS]
ENDING_COLUMNS = [((n, length), 0) for n in (2, 7, 9) for length in LENGTHS]
ENDING_ROWS += [((3, 40, length), 2) for length in (1, 3, 7, 16)]
ENDING_COLUMNS += [((2, n, length), 1) for n in (3, 9) for length in (*LENGTHS[:34], 401, 402, 403)]
ENDING = {name: ENDING_ROWS if "rows" in name else ENDING_COLUMNS for name in FAMILIES}


class Guarded:
    """Memory of the simulated device between two guard pages."""

    def __init__(self):
        self.memory = SimulatedArray(np.zeros(SIZE + 3 * mmap.PAGESIZE, np.uint8))
        address = self.memory.__cuda_array_interface__["data"][0]
        self.begin = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE + mmap.PAGESIZE
        protect_around(self.begin, SIZE)

    def lay(self, x, at_end):
        """Copy an array, with its strides, to the beginning or end; for NumPy, and for gred."""
        ends = [(n - 1) * stride for n, stride in zip(x.shape, x.strides, strict=True)]
        lowest = sum(min(0, end) for end in ends)
        extent = sum(map(abs, ends)) + x.itemsize
        start = self.begin + (SIZE - extent if at_end else 0)
        there = (ctypes.c_char * extent).from_address(start)
        view = np.ndarray(x.shape, x.dtype, there, -lowest, x.strides)
        view[...] = x
        return view, self.memory._like(view, {})


def go_through() -> None:
    guarded = Guarded()
    for name in ("sum", "argmax", "var"):
        for turn, way, one in drawn_in_every_way(name, ENDING):
            for at_end in (False, True):
                x, there = guarded.lay(one.x, at_end)
                with forced(*way), gred.thread_order("shuffled", turn):
                    got = to_host(quietly(name, there, axis=one.axis, **one.options))
                for result in (got, quietly(name, x, axis=one.axis, **one.options)):
                    assert not one.wrong(name, result)
    protect_around(guarded.begin, SIZE, mmap.PROT_READ | mmap.PROT_WRITE)
    print("all right")


def test_nothing_in_front_of_an_array_or_behind_it_is_read():
    code = "import test_axes_kernels; test_axes_kernels.go_through()"
    assert printed(code, path=True) == "all right\n"
