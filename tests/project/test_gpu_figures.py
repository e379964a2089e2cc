"""What measures axes, segments and exact sums on a GPU: NumPy stands for the libraries there."""

import functools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scripts import CuPy, PyTorch, machine, warning_free

pytestmark = pytest.mark.unsanitized


def bounded(rows, bound="at_least"):
    """Give value and bound of the rows that have one."""
    return [(row["value"], row[bound]) for row in rows if row[bound]]


# ---- times ----


def test_device_time_is_a_calls_own_behind_a_delay_and_a_read(benchmarks, given, clock):
    cupy = CuPy(clock=lambda: clock.now)
    given(benchmarks.times, OTHER_BYTES=64)
    times = benchmarks.times.DeviceTimes(cupy, PyTorch())

    def takes(name, seconds):
        return lambda *_, **__: cupy.queued.append(name) or clock.taking(seconds)()

    times._delay = takes("delay", 0.5)
    times._other = SimpleNamespace(max=takes("read", 0.25))
    assert times.seconds(takes("call", 0.125)) == 0.125
    assert cupy.queued == ["delay", "read", "event", "call", "event"]
    assert times.medians({"a": takes("a", 2.0), "b": takes("b", 3.0)}) == {"a": 2.0, "b": 3.0}
    assert cupy.queued.count("a") == cupy.queued.count("b") == benchmarks.times.SAMPLES


def test_peers_that_cannot_or_take_long_are_left_out_but_never_gred(gpu, clock):
    """One that takes long is called no more; one that cannot may be able to do something else."""
    called, given_up, slow = [], set(), clock.taking(0.02, "slow")

    def fails():
        called.append("fails")
        raise NotImplementedError("not for this type")

    calls = {"gred": slow, "CuPy": fails, "PyTorch": clock.taking(0.005), "JAX": slow}
    assert [*gpu.times.able(calls, 0.01)] == ["gred", "PyTorch"]
    for ours in ("gred", "exact"):
        with pytest.raises(NotImplementedError):
            gpu.times.able({ours: fails}, 0.01)
    called.clear()
    clock.counts.clear()
    for _ in range(2):
        assert gpu.times.able({"CuPy": slow, "PyTorch": fails}, 0.01, given_up) == {}
    assert (clock.counts, called, given_up) == ({"slow": 2}, ["fails"] * 2, {"CuPy"})


# ---- shapes, bytes, errors ----

VIEWS = {
    "(n, 3) axis 1": lambda x: x[: len(x) // 3 * 3].reshape(-1, 3),
    "(8, n, 8) axis (0, 2)": lambda x: x.reshape(8, -1, 8),
    "(8, n).T axis 1": lambda x: x.reshape(8, -1).T,
    "(n, 16)[:, ::2] axis 1": lambda x: x.reshape(-1, 16)[:, ::2],
    "(16, n)[::2] axis 0": lambda x: x.reshape(16, -1)[::2],
}


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64"])
def test_shapes_are_views_that_are_what_their_names_say_and_bytes_those_of_touched_sectors(
    benchmarks, dtype
):
    axes, flat = benchmarks.axes, np.zeros(1 << 16, dtype)
    places = np.arange(flat.size) * flat.itemsize
    shapes = [shape for shape in axes.shapes(flat.size) if shape.shaped(flat).size]
    named = {shape.name: shape for shape in shapes}
    assert len(named) == len(shapes)
    assert {shape.kind for shape in named.values()} == {*axes.OF_LIMIT}
    for name, shape in named.items():
        view = shape.shaped(flat)
        assert np.shares_memory(view, flat)
        assert axes.shape_left(view.shape, shape.axis) == np.sum(view, axis=shape.axis).shape
        assert name.endswith(f"axis {shape.axis}")
        touched = 32 * np.unique(shape.shaped(places) // 32).size
        assert axes.bytes_read(view) == pytest.approx(touched, rel=0.03, abs=96)
    for name, expected in VIEWS.items():
        assert np.array_equal(named[name].shaped(places), expected(places))
    view = np.zeros((8, 64), np.int8)
    assert axes.bytes_moved("sum", view, 1) == 512 + 8 * 8
    assert axes.bytes_moved("max", view, 0) == 512 + 64
    assert axes.bytes_moved("argmax", view.astype(np.float16), 0) == 1024 + 8 * 64


NEAR_A_TIE = 1 + Fraction(1, 2**24) + Fraction(1, 2**60)  # to float64 it rounds to one of float32
ULPS = [
    (1.0, Fraction(1), "float64", 0),
    (1 + 2**-52, 1 + Fraction(1, 2**54), "float64", 0.75),
    (4.0, Fraction(3), "float64", 2.0**51),
    (1.0, 1 + Fraction(1, 2**24), "float32", 0.5),
    (1 + 2**-23, NEAR_A_TIE, "float32", 0.5 - 2**-37),
]


def test_errors_are_in_units_of_the_last_place_of_the_right_sum(benchmarks):
    for got, right, dtype, ulps in ULPS:
        assert benchmarks.exact.ulps_off(got, right, dtype) == ulps
    assert benchmarks.exact.rounded_once(NEAR_A_TIE, "float32") == np.float32(1 + 2**-23)


def test_other_libraries_are_wrong_and_gred_exact_is_not(benchmarks, gpu, given):
    exact = benchmarks.exact
    few = functools.partial(exact.cancelling, size=1 << 12)
    given(exact, CANCELLING=1 << 12, cancelling=few)
    rows = {row["what"]: row for row in exact.measure_orders(gpu)}
    assert len(rows) == 2 * 5 * len(exact.TYPES)
    for dtype in exact.TYPES:
        for who in ("gred, exact", "gred, fast", "CuPy", "PyTorch", "NumPy"):
            named = (f"{dtype} that cancel: {who}: {kind}" for kind, _ in exact.ORDERS_TOLD)
            distinct, worst = (rows[name] for name in named)
            if who == "gred, exact":
                assert (distinct["value"], distinct["met"], worst["met"]) == (1.0, True, True)
            else:
                assert (distinct["value"] > 1, worst["value"] > 1000) == (True, True)
                assert worst["met"] is None


# ---- parts ----


@pytest.mark.parametrize(
    ("op", "dtype", "name", "best"),
    [  # JAX, which takes 2 ms, takes part in sums of rows and columns
        ("sum", "float32", "(n, 8) axis 1", "JAX"),
        ("sum", "float32", "(8, n) axis 0", "JAX"),
        ("sum", "float32", "(n, 8, 8) axis 1", "CuPy"),
        ("max", "float32", "(n, 8) axis 1", "CuPy"),
        ("sum", "int8", "(n, 8) axis 1", "CuPy"),
    ],
)
def test_a_case_is_held_against_the_limit_and_the_best_peer(
    benchmarks, gpu, pretended, op, dtype, name, best
):
    gpu.jax, gpu.jax_seconds = SimpleNamespace(), lambda view, axis: 2e-3
    [shape] = [s for s in benchmarks.axes.shapes(1 << 12) if s.name == name]
    view = shape.shaped(np.zeros(1 << 12, dtype))
    calls = gpu.calls(op, view, shape.axis)
    share, ratio = benchmarks.axes.measure_case(gpu, shape, op, view, "16 KiB", calls)
    moved = benchmarks.axes.bytes_moved(op, view, shape.axis)
    assert share["what"] == f"{op} {dtype} {name}, 16 KiB: of the limit"
    assert share["value"] == pytest.approx(moved / 4e9 / 1e-3, rel=1e-4)
    assert ratio["what"].endswith(f": {best}'s time over gred's, 1000.0 us")
    assert ratio["value"] == (2.0 if best == "JAX" else 3.0)
    if (op, name) == ("sum", "(n, 8) axis 1") and dtype == "float32":
        assert (share["at_least"], ratio["at_least"], ratio["met"]) == (0.85, 1.05, True)


def test_all_along_axes_is_measured_drawn_and_told(benchmarks, gpu, given):
    pytest.importorskip("matplotlib")
    given(benchmarks.times, SAMPLES=1)
    given(benchmarks.axes, MIDDLES=((-1, 8, 8), (8, -1, 8)), SLICED=(8,))
    rows = warning_free(benchmarks.axes.measure("int8", 1 << 13, gpu))
    kept = {"machine": machine(), "rows": rows}
    cells, cases = benchmarks.axes_plot.cells(kept), [*benchmarks.axes.cases(1 << 13)]
    assert {(shape, column[2]) for shape, column in cells} == {(s.name, op) for s, op in cases}
    assert len(rows) == 2 * len(cells) == 2 * len(cases)
    assert all(cell.share > 0 and cell.ratio > 0 for cell in cells.values())
    axes = benchmarks.axes_plot.heat_figure(kept).axes[0]
    assert axes.get_yticklabels()[0].get_text() == "(n, 2) axis 1"
    assert len(axes.texts) == len(cases)
    given(benchmarks.axes, SIDES=(4, 8), SMALL_CALLS=2)
    rows = warning_free(benchmarks.axes.measure_small(gpu))
    assert len(rows) == 2 * 4 * 2 * 5 * 2
    assert all(row["value"] > 0 for row in rows)


SIZES = {"GIB": 1 << 10, "DOT_SIZE": 1 << 12, "AXES_SIZE": 1 << 14, "CURVE": (1 << 12, 1 << 20)}
SIZES |= {"LARGE": (1 << 12,), "RANGE_SIZE": 1 << 12}
SMALL = {"exact": SIZES, "exact_on_host": {"ALONG": (1, 2), "sums": dict}}
SECONDS = {"exact": 2.0, "fast": 1.5, "NumPy": 3.0, "gred": 2.0, "fsum": 300.0}
HOST = [(1.5, 1.0)] * 2 + [(0.75, 0.6), (1.5, 1.0)] * 3
LARGE = [*[(0.5, 0.95)] * 3, (0.5, 0.15)]
MANY = [(0.75, 0.8), (1.5, 8.0)] * 4
# What is measured, how many rows it has, and values beside bounds of the first that have one.
PARTS = {
    "segments": (lambda of, gpu: of.segments.measure(gpu, 1000, lambda: None), 12),
    "large": (lambda of, gpu: of.exact.measure_large("float32", gpu), 12, *LARGE),
    "halves": (lambda of, gpu: of.exact.measure_halves(gpu), 5, (0.5, 0.95), (0.5, 0.95)),
    "dot products": (lambda of, gpu: of.exact.measure_dot("float32", gpu), 4, (0.001024, 0.8)),
    "along axes": (lambda of, gpu: of.exact.measure_axes("float64", gpu), 4),
    "calls": (lambda of, gpu: of.exact.measure_calls("float64", gpu), 12),
    "host": (lambda of, _: of.exact_on_host.measure(typical), 31, *HOST),
    "host, axes": (lambda of, _: of.exact_on_host.measure_axes(typical), 16),
    "host, many cores": (lambda of, _: of.exact_on_host.measure_many_cores(typical), 8, *MANY),
}
PARTS["segments"] += ((0.067, 0.7), (3.0, 1.1))


def typical(calls):
    return {name: SECONDS[name] for name, call in calls.items() if call() is not None}


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_measured_with_pretended_times(benchmarks, gpu, pretended, given, part):
    for script, values in SMALL.items():
        given(getattr(benchmarks, script), **values)
    seconds = {"exact": 3e-6, "gred": 1e-6, "CuPy": 4e-6, "PyTorch": 8e-6}
    given(benchmarks.exact, call_seconds=lambda *_: seconds)
    given(benchmarks.exact_on_host, normal=lambda dtype, nbytes: np.ones(8, dtype))
    measure, count, *told = PARTS[part]
    rows = warning_free(measure(benchmarks, gpu))
    assert len(rows) == count
    assert all(row["value"] > 0 for row in rows)
    assert bounded(rows)[: len(told)] == told
