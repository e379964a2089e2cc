"""What measures reductions along axes and of segments: NumPy stands for the libraries on a GPU."""

from __future__ import annotations

import sys
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scripts import CuPy, PyTorch, machine, warning_free
from scripts import benchmarks as benchmarks
from scripts import cupy as cupy
from scripts import given as given
from scripts import gpu as gpu
from scripts import pretended as pretended

pytestmark = pytest.mark.unsanitized


def test_device_time_is_a_calls_own_behind_a_delay_and_a_read(benchmarks, given):
    now = [0.0]
    cupy = CuPy(clock=lambda: now[0])
    given(benchmarks.times, OTHER_BYTES=64)
    times = benchmarks.times.DeviceTimes(cupy, PyTorch())

    def takes(name, seconds):
        def call(*_, **__):
            cupy.queued.append(name)
            now[0] += seconds

        return call

    times._delay = takes("delay", 0.5)
    times._other = SimpleNamespace(max=takes("read", 0.25))
    assert times.seconds(takes("call", 0.125)) == 0.125
    assert cupy.queued == ["delay", "read", "event", "call", "event"]
    assert times.medians({"a": takes("a", 2.0), "b": takes("b", 3.0)}) == {"a": 2.0, "b": 3.0}
    assert cupy.queued.count("a") == cupy.queued.count("b") == benchmarks.times.SAMPLES


@pytest.fixture
def take(benchmarks, given):
    """Let time go by for those alone who measure."""
    now = [0.0]
    given(benchmarks.times, time=SimpleNamespace(perf_counter=lambda: now[0]))

    def take(seconds):
        now[0] += seconds

    return take


def test_peers_that_cannot_or_take_long_are_left_out_but_never_gred(gpu, take):
    """One that takes long is called no more; one that cannot may be able to do something else."""
    called, given_up = [], set()

    def slow():
        called.append("slow")
        take(0.02)

    def fails():
        called.append("fails")
        raise NotImplementedError("not for this type")

    calls = {"gred": slow, "CuPy": fails, "PyTorch": partial(take, 0.005), "JAX": slow}
    assert [*gpu.times.able(calls, 0.01)] == ["gred", "PyTorch"]
    for ours in ("gred", "exact"):
        with pytest.raises(NotImplementedError):
            gpu.times.able({ours: fails}, 0.01)
    called.clear()
    for _ in range(2):
        assert gpu.times.able({"CuPy": slow, "PyTorch": fails}, 0.01, given_up) == {}
    assert called == ["slow", "slow", "fails", "fails"]
    assert given_up == {"CuPy"}


@pytest.mark.parametrize("elements", [1 << 12, 1 << 20])
def test_shapes_are_named_once_and_are_views(benchmarks, elements):
    flat = np.arange(elements, dtype=np.int32)
    shapes = [shape for shape in benchmarks.axes.shapes(elements) if shape.shaped(flat).size]
    assert len({shape.name for shape in shapes}) == len(shapes)
    assert {shape.kind for shape in shapes} == {*benchmarks.axes.OF_LIMIT}
    for shape in shapes:
        view = shape.shaped(flat)
        assert np.shares_memory(view, flat)
        left = benchmarks.axes.shape_left(view.shape, shape.axis)
        assert left == np.sum(view, axis=shape.axis).shape


def test_a_shape_is_what_its_name_says(benchmarks):
    flat = np.arange(1 << 18)
    shapes = {shape.name: shape for shape in benchmarks.axes.shapes(flat.size)}
    for name, expected in {
        "(n, 3) axis 1": flat[: len(flat) // 3 * 3].reshape(-1, 3),
        "(2^16, n) axis 0": flat.reshape(1 << 16, 4),
        "(8, n, 8) axis (0, 2)": flat.reshape(8, -1, 8),
        "(8, n).T axis 1": flat.reshape(8, -1).T,
        "(n, 16)[:, ::2] axis 1": flat.reshape(-1, 16)[:, ::2],
        "(n, 8)[::2] axis 1": flat.reshape(-1, 8)[::2],
        "(16, n)[::2] axis 0": flat.reshape(16, -1)[::2],
        "(8, n)[:, ::2] axis 0": flat.reshape(8, -1)[:, ::2],
    }.items():
        assert np.array_equal(shapes[name].shaped(flat), expected)
        assert name.endswith(f"axis {shapes[name].axis}")


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64"])
def test_what_is_read_are_the_sectors_that_hold_an_element(benchmarks, dtype):
    flat = np.zeros(1 << 16, dtype)
    places = np.arange(flat.size) * flat.itemsize
    for shape in benchmarks.axes.shapes(flat.size):
        view = shape.shaped(flat)
        touched = 32 * np.unique(shape.shaped(places) // 32).size
        assert benchmarks.axes.bytes_read(view) == pytest.approx(touched, rel=0.03, abs=96)


def test_results_are_written_in_their_own_type(benchmarks):
    bytes_moved, view = benchmarks.axes.bytes_moved, np.zeros((8, 64), np.int8)
    assert bytes_moved("sum", view, 1) == 512 + 8 * 8
    assert bytes_moved("max", view, 0) == 512 + 64
    assert bytes_moved("argmax", view.astype(np.float16), 0) == 1024 + 8 * 64


@pytest.fixture
def measured(benchmarks, gpu, pretended):
    """Measure a case of few elements: its share of the limit, and its ratio to a peer."""

    def measure(op, dtype, name):
        [shape] = [s for s in benchmarks.axes.shapes(1 << 12) if s.name == name]
        view = shape.shaped(np.zeros(1 << 12, dtype))
        calls = gpu.calls(op, view, shape.axis)
        return benchmarks.axes.measure_case(gpu, shape, op, view, "16 KiB", calls)

    return measure


def test_a_case_is_held_against_the_limit_and_the_best_peer(measured):
    share, ratio = measured("sum", "float32", "(n, 8) axis 1")
    moved = (4 << 12) + 4 * (1 << 9)
    assert share["what"] == "sum float32 (n, 8) axis 1, 16 KiB: of the limit"
    assert share["value"] == pytest.approx(moved / 4e9 / 1e-3, rel=1e-4)
    assert share["at_least"] == 0.85
    assert ratio["what"].endswith(": CuPy's time over gred's, 1000.0 us")
    assert (ratio["value"], ratio["at_least"], ratio["met"]) == (3.0, 1.05, True)


@pytest.mark.parametrize(
    ("op", "dtype", "name", "best"),
    [
        ("sum", "float32", "(n, 8) axis 1", "JAX"),
        ("sum", "float32", "(8, n) axis 0", "JAX"),
        ("sum", "float32", "(n, 8, 8) axis 1", "CuPy"),
        ("max", "float32", "(n, 8) axis 1", "CuPy"),
        ("sum", "int8", "(n, 8) axis 1", "CuPy"),
    ],
)
def test_jax_takes_part_in_sums_of_rows_and_columns(
    measured, gpu, monkeypatch, op, dtype, name, best
):
    monkeypatch.setattr(gpu, "jax", SimpleNamespace(), raising=False)
    monkeypatch.setattr(gpu, "jax_seconds", lambda view, axis: 2e-3)
    _, ratio = measured(op, dtype, name)
    assert f": {best}'s time over gred's" in ratio["what"]


def test_calls_in_a_row_are_waited_for(benchmarks):
    waited = []
    answer = SimpleNamespace(block_until_ready=lambda: waited.append(1))

    def call(_):
        time.sleep(1e-4)
        return answer

    assert benchmarks.axes.in_a_row(call, None) >= 1e-4
    assert len(waited) % benchmarks.axes.JAX_CALLS == 0
    assert waited


def test_every_kernel_of_cupys_is_compiled_beforehand(benchmarks, cupy, given, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    given(benchmarks.axes, LITTLE=1 << 12)
    called = []
    cupy.argmax = lambda view, axis: called.append((view.shape, view.strides, axis))
    for first in range(benchmarks.axes.TASKS):
        benchmarks.axes.compile_some("argmax", "int8", first)
    flat = np.zeros(1 << 12, np.int8)
    cases = [s for s, op in benchmarks.axes.cases(1 << 12) if op == "argmax"]
    views = [(s.shaped(flat), s.axis) for s in cases]
    assert sorted(called) == sorted((v.shape, v.strides, axis) for v, axis in views)


def test_all_along_axes_is_measured_drawn_and_told(benchmarks, gpu, given):
    pytest.importorskip("matplotlib")
    given(benchmarks.times, SAMPLES=1)
    given(benchmarks.axes, MIDDLES=((-1, 8, 8), (8, -1, 8)), SLICED=(8,))
    rows = warning_free(benchmarks.axes.measure("int8", 1 << 13, gpu))
    kept = {"machine": machine(), "rows": rows}
    cells = benchmarks.axes_plot.cells(kept)
    cases = [*benchmarks.axes.cases(1 << 13)]
    assert {(shape, column[2]) for shape, column in cells} == {(s.name, op) for s, op in cases}
    assert len(rows) == 2 * len(cells) == 2 * len(cases)
    assert all(cell.share > 0 and cell.ratio > 0 for cell in cells.values())
    axes = benchmarks.axes_plot.heat_figure(kept).axes[0]
    assert axes.get_yticklabels()[0].get_text() == "(n, 2) axis 1"
    assert len(axes.texts) == len(cases)


def test_small_calls_along_axes_are_measured(benchmarks, gpu, given):
    given(benchmarks.axes, SIDES=(4, 8), SMALL_CALLS=2)
    rows = warning_free(benchmarks.axes.measure_small(gpu))
    assert len(rows) == 2 * 4 * 2 * 5 * 2
    assert all(row["value"] > 0 for row in rows)
    for side, limit in (("(4, 4)", 9.0), ("(8, 8)", None)):
        times = [row for row in rows if row["unit"] == "us" and side in row["what"]]
        assert [row["at_most"] for row in times] == [limit] * 40
    assert not benchmarks.axes_plot.cells({"rows": rows})


@pytest.mark.parametrize("kind", ["equal", "uniform", "power-law"])
def test_lengths_of_segments_have_the_mean_that_they_are_said_to(benchmarks, kind):
    lengths = benchmarks.segments.LENGTHS[kind](100_000)
    assert lengths.min() >= 1
    assert lengths.mean() == pytest.approx(benchmarks.segments.MEAN, rel=0.02)
    longest = {"equal": (64, 64), "uniform": (127, 127), "power-law": (10_000, 10**6)}[kind]
    assert longest[0] <= lengths.max() <= longest[1]


def test_sums_of_segments_are_held_against_the_limit_and_the_best_peer(benchmarks, gpu, pretended):
    rows = list(benchmarks.segments.measure(gpu, segments=1000, cub=lambda: None))
    assert len(rows) == 3 * 4
    share, ratio, *_ = rows
    assert share["what"] == "reduceat sum float32, 1000 segments, equal: of the limit"
    assert share["value"] == pytest.approx((64_000 * 4 + 12_000) / 4e9 / 1e-3, rel=1e-4)
    assert (share["at_least"], share["met"]) == (0.7, False)
    assert ratio["what"].endswith(": CuPy's time over gred's, 1000.0 us")
    assert (ratio["value"], ratio["at_least"], ratio["met"]) == (3.0, 1.1, True)


def test_a_compiler_that_is_not_there_leaves_cub_out(benchmarks, given):
    given(benchmarks.compiled.shutil, which=lambda *_, **__: None)
    assert benchmarks.segments.compiled_cub() is None
