"""Exact sums along axes on devices: one launch makes all of them, and rounds each once.


The truth is fractions. Rows are taken by blocks and by threads, columns by threads, by one block
and by many of them, in shuffled order; results go where they are wanted, and are made one by one
where there is no memory for more.
"""

import itertools

import numpy as np
import pytest
from exact_loops import kinds
from exact_truths import bits_of, same, truth
from gpu_arrays import GpuArray
from reference import BFLOAT16, COMPLEX, REALS
from samples import there
from test_exact_along import KINDS
from thin import chosen

import gred
from gred.testing import SimulatedArray

pytestmark = [
    pytest.mark.parametrize("place", ["simulated", pytest.param("cuda", marks=pytest.mark.gpu)]),
    pytest.mark.usefixtures("shuffled"),
]
typed = pytest.mark.parametrize("dtype", REALS, ids=str)
NAMES = ("sum", "mean", "nansum", "nanmean")


def fetched(got):
    assert isinstance(got, gred.DeviceArray)
    return got.to_numpy()


def check(place, name, x, axis, layout=lambda x: x, **options):
    """Compare every result with the fractions of its elements."""
    got = getattr(gred, name)(there(x, place, layout), axis=axis, method="exact", **options)
    got, rows = fetched(got), np.moveaxis(layout(x), axis, -1)
    assert got.shape == rows.shape[:-1]
    for index in np.ndindex(got.shape):
        assert same(got[index], truth(name, rows[index], got.dtype)), index


@typed
@pytest.mark.parametrize("kind", range(KINDS))
@pytest.mark.parametrize("shape", [(5, 200), (33, 128), (40, 3), (2, 129)])
def test_numbers_of_every_kind_are_added_exactly(place, dtype, kind, shape):
    x = next(itertools.islice(kinds(dtype, shape[0] * shape[1], kind), kind, None)).reshape(shape)
    for axis in (0, 1):
        for name in ("sum", "mean"):
            check(place, name, x, axis)
        check(place, "sum", x, axis, dtype=np.float32)


@typed
@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 127, 129, 511, 513, 1100, 40_000])
@pytest.mark.parametrize("results", [2, 3, 32, 33])
def test_results_of_any_length_are_added_exactly(place, dtype, n, results):
    random = np.random.default_rng(n + results)
    x = random.normal(size=(n, results)) * np.exp2(random.integers(-12, 12, (n, 1)))
    check(place, "sum", x.astype(dtype), 0)
    check(place, "sum", np.ascontiguousarray(x.astype(dtype).T), 1)


@pytest.mark.parametrize("name", NAMES)
@typed
def test_what_is_no_finite_number_stays_with_its_result(place, name, dtype):
    x = np.random.default_rng(2).normal(size=(40, 150)).astype(dtype)
    x[3, 4], x[5, 6], x[7, 6], x[8, 9], x[10, 20] = np.nan, np.inf, -np.inf, np.inf, np.nan
    x[12], x[:, 30] = np.nan, np.nan
    for axis in (0, 1):
        check(place, name, x, axis)


@pytest.mark.parametrize("tiny", [2.0**-40, 2.0**-60, 2.0**-80, 2.0**-120, 2.0**-1000])
def test_what_lies_far_apart_is_added_exactly(place, tiny):
    """In windows, across them, and beyond them; with what cancels all but the least."""
    x = np.where(np.arange(600 * 6) % 3, 1.75, tiny).reshape(600, 6)
    x[300:] = -x[:300]
    x[77] = tiny
    for shown, axis in ((x, 0), (x[:90], 1), (np.ascontiguousarray(x.T), 1), (x[:90], 0)):
        check(place, "sum", shown, axis)
        check(place, "mean", shown, axis)


@pytest.mark.parametrize("first", [0.0, 2.0**-1074, 1e-300, 1e300])
def test_windows_are_chosen_anew_where_numbers_change(place, first):
    x = np.random.default_rng(3).normal(size=(300, 3))
    x[:50] = first
    check(place, "sum", x, 0)
    check(place, "sum", np.ascontiguousarray(x[:100].T), 1)


@typed
def test_layouts_change_nothing(place, dtype):
    x = np.random.default_rng(4).normal(size=(12, 140, 6)).astype(dtype)
    for layout in (
        lambda x: x[::-1, :, 0],
        lambda x: x[:, ::2, 1],
        lambda x: x[3, ::-3],
        lambda x: x[:, 1:, 2].T,
        lambda x: x[0, 1:],
    ):
        for axis in range(layout(x).ndim):
            check(place, "sum", x, axis, layout)


@typed
def test_results_differ_in_several_dimensions(place, dtype):
    x = np.random.default_rng(4).normal(size=(3, 4, 140, 2)).astype(dtype)
    layouts = (lambda x: x, lambda x: x[::-1, ::2, 1:], lambda x: x.T)
    for number, axis in chosen(itertools.product(range(3), range(4)), dtype):
        check(place, "sum", x, axis, layouts[number])


@typed
def test_overflow_is_of_the_sum_alone(place, dtype):
    most = np.finfo(dtype).max if dtype != BFLOAT16 else dtype.type(3.3895314e38)
    x = np.tile(np.array([most, most, -most, -most, 1], dtype), (20, 37))
    for axis in (0, 1):
        check(place, "sum", x, axis)
        check(place, "mean", x, axis)


@pytest.mark.parametrize("dtype", COMPLEX, ids=str)
def test_parts_of_complex_numbers_are_sums_of_their_own(place, dtype):
    random = np.random.default_rng(5)
    real = np.dtype(dtype).type(0).real.dtype
    for shape in ((200, 5), (40, 40)):
        x = (random.normal(size=shape) + 1j * random.lognormal(0, 9, shape)).astype(dtype)
        for axis in (0, 1):
            got = fetched(gred.sum(there(x, place), axis=axis, method="exact"))
            for k, row in enumerate(np.moveaxis(x, axis, -1)):
                assert same(got[k].real, truth("sum", row.real, real))
                assert same(got[k].imag, truth("sum", row.imag, real))


def test_means_of_integers_are_rounded_once(place):
    x = np.random.default_rng(6).integers(-(2**63), 2**63 - 1, (150, 9))
    for axis in (0, 1):
        got = fetched(gred.mean(there(x, place), axis=axis, method="exact"))
        for k, row in enumerate(np.moveaxis(x, axis, -1)):
            assert got[k] == sum(map(int, row)) / row.size


@pytest.mark.parametrize("axis", [0, 1])
def test_the_sign_of_zero_is_numpys(place, axis):
    zeros = np.array([[-0.0, 0.0, -0.0], [-0.0, -0.0, -0.0]])
    for options in ({}, {"initial": None}):
        got = fetched(gred.sum(there(zeros, place), axis, method="exact", **options))
        numpys = np.add.reduce(zeros, axis, **options)
        assert not got.any()
        assert np.signbit(got).tolist() == np.signbit(numpys).tolist()


def test_the_bits_are_the_same_in_any_order_of_threads(place):
    x = np.random.default_rng(7).lognormal(0, 4, (3000, 5)).astype(np.float32)
    made = set()
    for seed in range(4):
        with gred.thread_order("shuffled", seed):
            for layout, axis in ((lambda x: x, 0), (lambda x: x.T, 1)):
                got = gred.sum(there(x, place, layout), axis, method="exact")
                made.add(fetched(got).tobytes())
    assert len(made) == 1


def test_one_launch_makes_all_and_explain_says_so(place):
    x = np.ones((40, 300), np.float32)
    rows, columns = (gred.explain(there(x, place), axis=k, method="exact") for k in (1, 0))
    assert [step.work for plan in (rows, columns) for step in plan.steps] == [
        "exact rows", "exact columns",
    ]  # fmt: skip
    assert (rows.results, rows.at_once, rows.steps[0].grid) == (40, 40, 40)
    assert (rows.accumulator, rows.method, rows.workspace_nbytes) == ("float32", "exact", 0)
    masked = gred.explain(there(x, place), axis=1, method="exact", where=x > 0)
    assert masked.at_once == 1


def threads_of_a_column(x, place):
    (step,) = gred.explain(there(x, place), axis=0, method="exact").steps
    return step.grid // 2 * step.block_size // 32


def test_a_window_is_emptied_before_its_sum_rounds(place):
    """What the first leaves of each number is half of what may be left, of the same sign."""
    if place != "simulated":
        pytest.skip("threads of a GPU are too many to have so much each")
    n, results = 200_000, 33
    while n // (threads := threads_of_a_column(np.empty((n, results), np.float32), place)) <= 1100:
        n *= 2
    ones = max(20_000, threads * 8)
    x = np.full((n, results), 2.0**-5 + 2.0**-28, np.float32)
    x[:ones] = 1
    got = fetched(gred.sum(there(x, place), axis=0, dtype=np.float64, method="exact"))
    assert (got == ones + (n - ones) * (2.0**-5 + 2.0**-28)).all()


# ---- out= ----


def put(memory, place, layout):
    """Put memory where a device writes to it, and describe the part of it that is laid out so."""
    whole = SimulatedArray(memory) if place == "simulated" else GpuArray.of(memory)
    part = layout(memory)
    address = whole.__cuda_array_interface__["data"][0] + part.ctypes.data - memory.ctypes.data
    return whole, whole.described(shape=part.shape, strides=part.strides, data=(address, False))


def all_of(whole, place, like):
    return (whole.get() if place == "simulated" else whole.host()).reshape(like.shape)


def wanted(name, x, axis, dtype):
    """Round the fractions of each result's elements to a type."""
    rows = np.moveaxis(x, axis, -1)
    made = [truth(name, rows[index], dtype) for index in np.ndindex(rows.shape[:-1])]
    return np.array(made, dtype).reshape(rows.shape[:-1])


def same_bits(got, want):
    if got.dtype.kind in "iu":
        return np.array_equal(got, want)
    return np.array_equal(bits_of(got), bits_of(want))


# How many elements there are around results of some shape, and where these lie among them.
OUTS = {
    "as it is": (lambda m, n: (m, n), lambda a: a),
    "transposed": (lambda m, n: (n, m), lambda a: a.T),
    "backwards": (lambda m, n: (m, n), lambda a: a[::-1, ::-1]),
    "every other": (lambda m, n: (2 * m, 2 * n + 1), lambda a: a[::2, 1::2]),
    "between others": (lambda m, n: (m + 2, n + 4), lambda a: a[1:-1, 2:-2]),
}


@typed
@pytest.mark.parametrize("out_type", [*REALS, np.dtype(np.int32)], ids=str)
@pytest.mark.parametrize("out", OUTS)
def test_out_has_any_strides_and_type(place, dtype, out_type, out):
    """Results are rounded once, to out's type or to what makes integers; all else is left alone."""
    around, layout = OUTS[out]
    x = (np.random.default_rng(8).normal(size=(3, 4, 140)) * 9).astype(dtype)
    rounded = out_type if out_type in REALS else np.float64
    every = itertools.product(range(3), ("sum", "mean"))
    for axis, name in chosen(every, dtype, out_type, out):
        memory = np.full(around(*np.delete(x.shape, axis)), 7, out_type)
        whole, target = put(memory, place, layout)
        got = getattr(gred, name)(there(x, place), axis=axis, method="exact", out=target)
        assert got is target
        layout(memory)[...] = wanted(name, x, axis, rounded).astype(out_type)
        assert same_bits(all_of(whole, place, memory), memory), (name, axis)


@typed
@pytest.mark.parametrize(
    ("axis", "part"),
    [
        *[(1, np.s_[:40]), (1, np.s_[1490:1410:-2]), (1, np.s_[3::200]), (1, np.s_[::-200])],
        *[(0, np.s_[100:300]), (0, np.s_[:200]), (0, np.s_[4399:4199:-1]), (0, np.s_[::40])],
    ],
    ids=str,
)
def test_out_may_lie_where_elements_do(place, dtype, axis, part):
    """All are read before any is written over, of rows and of columns; and no others are."""
    x = np.random.default_rng(9).lognormal(0, 2, (40, 200)).astype(dtype)
    x[::3] = -x[::3]
    for name in ("sum", "mean"):
        memory = x.copy()
        whole, out = put(memory, place, lambda memory: memory.ravel()[part])
        array = whole.described(shape=x.shape)
        assert getattr(gred, name)(array, axis=axis, method="exact", out=out) is out
        memory.ravel()[part] = wanted(name, x, axis, dtype)
        assert same_bits(all_of(whole, place, memory), memory)


# ---- one by one ----

# Results that blocks share, for which they need memory.
SHARED = [((1300, 33), 0), ((3, 40_000), 1), ((2, 1300, 40), 1)]


@pytest.mark.parametrize(("shape", "axis"), SHARED)
def test_results_are_made_one_by_one_where_memory_is_short(place, shape, axis):
    x = there(np.ones(shape, np.float32), place)
    whole = gred.explain(x, axis=axis, method="exact")
    assert whole.at_once == whole.results > 1
    assert whole.workspace_nbytes > 0
    for limit, at_once in (
        (whole.workspace_nbytes, whole.results),
        (whole.workspace_nbytes - 1, 1),
    ):
        with gred.workspace_limit(limit):
            assert gred.explain(x, axis=axis, method="exact").at_once == at_once


@typed
@pytest.mark.parametrize(("shape", "axis"), SHARED)
@pytest.mark.parametrize("name", NAMES)
def test_results_made_one_by_one_are_added_exactly(place, dtype, shape, axis, name):
    x = np.random.default_rng(10).normal(size=shape)
    x *= np.exp2(np.random.default_rng(11).integers(-12, 12, shape))
    x = x.astype(dtype)
    by_results = np.moveaxis(x, axis, -1)
    by_results[..., 1, 5], by_results[..., 0, ::9] = np.inf, np.nan
    with gred.workspace_limit(1):
        check(place, name, x, axis)
        check(place, name, x, axis, lambda x: x[..., ::-1])


@typed
@pytest.mark.parametrize("out_type", REALS, ids=str)
def test_results_made_one_by_one_go_where_they_are_wanted(place, dtype, out_type):
    """As they are, strided, of another type, and where elements lie."""
    x = np.random.default_rng(12).normal(size=(1300, 33)).astype(dtype)
    with gred.workspace_limit(1):
        for layout in (lambda a: a[1:34], lambda a: a[1::2], lambda a: a[64::-2]):
            memory = np.full(67, 7, out_type)
            whole, out = put(memory, place, layout)
            gred.sum(there(x, place), 0, method="exact", out=out)
            layout(memory)[...] = wanted("sum", x, 0, out_type)
            assert same_bits(all_of(whole, place, memory), memory)
        memory = x.copy()
        whole, out = put(memory, place, lambda memory: memory[700])
        gred.sum(whole.described(shape=x.shape), 0, method="exact", out=out)
        memory[700] = wanted("sum", x, 0, dtype)
        assert same_bits(all_of(whole, place, memory), memory)
