"""What measures reductions along axes and exact sums: NumPy stands for the libraries on a GPU."""

from __future__ import annotations

import ctypes
import math
import sys
import time
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scripts import Scripts

import gred
from gred.cli import record

pytestmark = pytest.mark.unsanitized


@pytest.fixture
def benchmarks(monkeypatch):
    """Import the scripts as they import one another."""
    return Scripts(
        monkeypatch,
        axes="axes_figures",
        cub="reproducible_cub",
        exact="exact_figures",
        host="exact_on_host",
        libraries="exact_libraries",
        segments="segments_figures",
        times="device_times",
    )


class Stream(int):
    """A stream that is always done."""

    ptr = 1

    def __new__(cls, non_blocking=False):
        return int.__new__(cls, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def synchronize(self):
        return None


class CuPy:
    """NumPy by CuPy's names, and a GPU's words; its events tell the host's time."""

    def __init__(self, clock=time.perf_counter):
        self.queued = []

        class Event:
            def record(self, _, cupy=self):
                cupy.queued.append("event")
                self.at = clock()

            def synchronize(self):
                return None

        self.cuda = SimpleNamespace(
            Event=Event,
            Stream=Stream,
            Device=lambda: Stream(),
            get_elapsed_time=lambda before, after: 1e3 * (after.at - before.at),
        )

    def __getattr__(self, name):
        return getattr(np, name)

    def RawKernel(self, code, name):  # noqa: N802
        return lambda *_: self.queued.append(name)

    def get_default_memory_pool(self):
        return SimpleNamespace(free_all_blocks=lambda: None)


class Tensor(np.ndarray):
    """An array with what a tensor has."""

    def is_floating_point(self):
        return self.dtype.kind == "f"

    def to(self, dtype):
        return self.astype(dtype)


class PyTorch:
    """NumPy by PyTorch's names."""

    Tensor, float64, bfloat16 = Tensor, np.float64, np.float16
    cuda = SimpleNamespace(
        init=lambda: None,
        ExternalStream=lambda _: Stream(),
        stream=lambda s: s,
        empty_cache=lambda: None,
    )

    def as_tensor(self, array, device):
        return np.asarray(array).view(Tensor)

    def zeros(self, shape, dtype, device):
        return np.zeros(shape, dtype).view(Tensor)

    def amax(self, tensor, dim):
        return np.max(tensor, axis=dim)

    def var(self, tensor, dim, correction):
        if not tensor.is_floating_point():
            raise RuntimeError("not of integers")
        return np.var(tensor, axis=dim, ddof=correction)

    def __getattr__(self, name):
        return lambda tensor, dim=None, **options: getattr(np, name)(tensor, axis=dim, **options)


@pytest.fixture
def cupy():
    return CuPy()


@pytest.fixture
def gpu(benchmarks, cupy, monkeypatch):
    """A GPU without JAX that reads 4 bytes a nanosecond, and all the patience with its peers."""
    for module in (benchmarks.axes, benchmarks.exact, benchmarks.segments):
        monkeypatch.setattr(module, "PATIENCE", math.inf)
    monkeypatch.setattr(benchmarks.times, "OTHER_BYTES", 64)
    monkeypatch.setattr(benchmarks.axes, "peers", lambda: (cupy, PyTorch()))
    monkeypatch.setattr(benchmarks.axes, "compile_ahead", lambda dtype: None)
    monkeypatch.setitem(sys.modules, "jax", None)
    limit = SimpleNamespace(nbytes=4000, seconds=np.array([1e-6]))
    monkeypatch.setattr(gred, "read_limit", lambda *_, **__: limit)
    monkeypatch.setattr(benchmarks.cub, "compiled_sums", lambda: None)
    return benchmarks.exact.Bench()


@pytest.fixture
def pretended(benchmarks, gpu, monkeypatch):
    """Seconds that libraries are pretended to take on the device."""
    seconds = {"exact": 2e-3, "gred": 1e-3, "CuPy": 3e-3, "PyTorch": 5e-3}
    seconds[benchmarks.exact.CUB] = 4e-3
    monkeypatch.setattr(gpu.times, "medians", lambda calls: {name: seconds[name] for name in calls})
    monkeypatch.setattr(gpu.times, "able", lambda calls, *_: calls)
    return seconds


def warning_free(rows):
    """List the rows of little arrays, some of which have no variance."""
    with np.errstate(all="ignore"):
        return list(rows)


# ---- device times ----


def test_device_time_is_a_calls_own_behind_a_delay_and_a_read(benchmarks, monkeypatch):
    now = [0.0]
    cupy = CuPy(clock=lambda: now[0])
    monkeypatch.setattr(benchmarks.times, "OTHER_BYTES", 64)
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
def take(benchmarks, monkeypatch):
    """Let time go by for those alone who measure."""
    now = [0.0]
    pretended = SimpleNamespace(perf_counter=lambda: now[0])
    monkeypatch.setattr(benchmarks.times, "time", pretended)

    def take(seconds):
        now[0] += seconds

    return take


def test_peers_that_cannot_or_take_long_are_left_out_but_never_gred(gpu, take):
    def fails():
        raise NotImplementedError("not for this type")

    calls = {"gred": partial(take, 0.02), "CuPy": fails, "PyTorch": partial(take, 0.005)}
    assert [*gpu.times.able({**calls, "JAX": partial(take, 0.02)}, 0.01)] == ["gred", "PyTorch"]
    for ours in ("gred", "exact"):
        with pytest.raises(NotImplementedError):
            gpu.times.able({ours: fails}, 0.01)


def test_a_peer_that_takes_long_is_called_no_more(gpu, take):
    called, given_up = [], set()

    def slow():
        called.append("slow")
        take(0.02)

    def fails():
        called.append("fails")
        raise NotImplementedError("not for this type")

    for _ in range(2):
        assert gpu.times.able({"CuPy": slow, "PyTorch": fails}, 0.01, given_up) == {}
    assert called == ["slow", "slow", "fails", "fails"]
    assert given_up == {"CuPy"}


# ---- along axes ----


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


def test_a_case_is_held_against_the_limit_and_the_best_peer(benchmarks, gpu, pretended):
    [shape] = [s for s in benchmarks.axes.shapes(1 << 12) if s.name == "(n, 8) axis 1"]
    view = shape.shaped(np.zeros(1 << 12, np.float32))
    calls = gpu.calls("sum", view, shape.axis)
    share, ratio = benchmarks.axes.measure_case(gpu, shape, "sum", view, "16 KiB", calls)
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
    benchmarks, gpu, pretended, monkeypatch, op, dtype, name, best
):
    monkeypatch.setattr(gpu, "jax", SimpleNamespace(), raising=False)
    monkeypatch.setattr(gpu, "jax_seconds", lambda view, axis: 2e-3)
    [shape] = [s for s in benchmarks.axes.shapes(1 << 12) if s.name == name]
    view = shape.shaped(np.zeros(1 << 12, dtype))
    calls = gpu.calls(op, view, shape.axis)
    _, ratio = benchmarks.axes.measure_case(gpu, shape, op, view, "", calls)
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


def test_every_kernel_of_cupys_is_compiled_beforehand(benchmarks, cupy, monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(benchmarks.axes, "LITTLE", 1 << 12)
    called = []
    cupy.argmax = lambda view, axis: called.append((view.shape, view.strides, axis))
    for first in range(benchmarks.axes.TASKS):
        benchmarks.axes.compile_some("argmax", "int8", first)
    flat = np.zeros(1 << 12, np.int8)
    cases = [s for s, op in benchmarks.axes.cases(1 << 12) if op == "argmax"]
    views = [(s.shaped(flat), s.axis) for s in cases]
    assert sorted(called) == sorted((v.shape, v.strides, axis) for v, axis in views)


def test_all_along_axes_is_measured_drawn_and_told(benchmarks, gpu, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(benchmarks.times, "SAMPLES", 1)
    monkeypatch.setattr(benchmarks.axes, "MIDDLES", ((-1, 8, 8), (8, -1, 8)))
    monkeypatch.setattr(benchmarks.axes, "SLICED", (8,))
    rows = warning_free(benchmarks.axes.measure("int8", 1 << 13, gpu))
    kept = {"machine": machine(), "rows": rows}
    cells = benchmarks.axes_plot.cells(kept)
    cases = [*benchmarks.axes.cases(1 << 13)]
    assert {(shape, column[2]) for shape, column in cells} == {(s.name, op) for s, op in cases}
    assert len(rows) == 2 * len(cells) == 2 * len(cases)
    assert all(cell.share > 0 and cell.ratio > 0 for cell in cells.values())
    figure = benchmarks.axes_plot.heat_figure(kept)
    assert figure.axes[0].get_yticklabels()[0].get_text() == "(n, 2) axis 1"
    assert len(figure.axes[0].texts) == len(cases)


def test_small_calls_along_axes_are_measured(benchmarks, gpu, monkeypatch):
    monkeypatch.setattr(benchmarks.axes, "SIDES", (4, 8))
    monkeypatch.setattr(benchmarks.axes, "SMALL_CALLS", 2)
    rows = warning_free(benchmarks.axes.measure_small(gpu))
    assert len(rows) == 2 * 4 * 2 * 5 * 2
    times = [row for row in rows if row["unit"] == "us"]
    assert all(row["value"] > 0 for row in rows)
    assert [row["at_most"] for row in times if "(4, 4)" in row["what"]] == [9.0] * 40
    assert [row["at_most"] for row in times if "(8, 8)" in row["what"]] == [None] * 40
    assert not benchmarks.axes_plot.cells({"rows": rows})


# ---- exact sums ----


def test_the_cancelling_numbers_sum_is_the_fractions(benchmarks):
    for dtype in benchmarks.exact.TYPES:
        values, exact = benchmarks.exact.cancelling(dtype, 1 << 10)
        assert (values.dtype, values.size) == (dtype, 1 << 10)
        assert float(exact) == math.fsum(values.tolist())
        assert 0 < abs(exact) < 1000 < abs(values.astype(np.float64)).max() * 2**-30


@pytest.mark.parametrize(
    ("got", "exact", "dtype", "ulps"),
    [
        (1.0, Fraction(1), "float64", 0),
        (1 + 2**-52, 1 + Fraction(1, 2**54), "float64", 0.75),
        (4.0, Fraction(3), "float64", 2.0**51),
        (1.0, 1 + Fraction(1, 2**24), "float32", 0.5),
        # To float64 it rounds to a tie of float32, though it is none.
        (1 + 2**-23, 1 + Fraction(1, 2**24) + Fraction(1, 2**60), "float32", 0.5 - 2**-37),
    ],
)
def test_errors_are_in_units_of_the_last_place_of_the_right_sum(
    benchmarks, got, exact, dtype, ulps
):
    assert benchmarks.exact.ulps_off(got, exact, dtype) == ulps


def test_rounding_once_is_not_rounding_twice(benchmarks):
    exact = 1 + Fraction(1, 2**24) + Fraction(1, 2**60)
    assert benchmarks.exact.rounded_once(exact, "float32") == np.float32(1 + 2**-23)


def test_other_libraries_are_wrong_and_gred_exact_is_not(benchmarks, gpu, monkeypatch):
    monkeypatch.setattr(benchmarks.exact, "CANCELLING", 1 << 12)
    cancelling = benchmarks.exact.cancelling
    monkeypatch.setattr(benchmarks.exact, "cancelling", lambda dtype: cancelling(dtype, 1 << 12))
    rows = {row["what"]: row for row in benchmarks.exact.measure_orders(gpu)}
    for dtype in benchmarks.exact.TYPES:
        for who in ("gred, exact", "gred, fast", "CuPy", "PyTorch", "NumPy"):
            distinct, worst = (
                rows.pop(f"{dtype} that cancel: {who}: {kind}")
                for kind, _ in benchmarks.exact.ORDERS_TOLD
            )
            if who == "gred, exact":
                assert (distinct["value"], distinct["met"], worst["met"]) == (1.0, True, True)
            else:
                assert distinct["value"] > 1
                assert worst["value"] > 1000
                assert worst["met"] is None
    assert not rows


def test_exact_sums_are_held_against_fast_ones(benchmarks, gpu, pretended, monkeypatch):
    monkeypatch.setattr(benchmarks.exact, "LARGE", (1 << 12,))
    monkeypatch.setattr(benchmarks.exact, "RANGE_SIZE", 1 << 12)
    rows = list(benchmarks.exact.measure_large("float32", gpu))
    with_target = [row for row in rows if row["at_least"]]
    assert [(row["value"], row["at_least"]) for row in with_target] == [
        *[(0.5, 0.95)] * 3,
        (0.5, 0.15),
    ]
    assert with_target[0]["what"] == (
        "exact sum, uniform float32, 4 KiB: rate over the fast one's, 2.05 MB/s"
    )
    others = [row["value"] for row in rows if not row["at_least"]]
    assert sorted(others) == [1.5] * 4 + [2.5] * 4


class Cub:
    """CUB's sums of what CuPy's stand-in has."""

    def __init__(self, arrays):
        self.arrays = {array.ctypes.data: array for array in arrays}

    def sum_float64(self, values, size, out, stream):
        ctypes.c_double.from_address(out.value).value = self.arrays[values.value].sum()
        return 0 if (size.value, stream.value) == (self.arrays[values.value].size, 1) else 700

    def sum_for_host_float64(self, values, size, answer):
        ctypes.cast(answer, ctypes.POINTER(ctypes.c_double))[0] = self.arrays[values.value].sum()
        return 0 if size.value == self.arrays[values.value].size else 700


class OnGpu(np.ndarray):
    """An array that says where it lies as CuPy's do."""

    @property
    def data(self):
        return SimpleNamespace(ptr=self.ctypes.data)


def test_cubs_sums_are_called_with_an_arrays_address_and_size(benchmarks):
    array, out = np.arange(100.0).view(OnGpu), np.zeros(()).view(OnGpu)
    library = Cub([array])
    benchmarks.cub.queued(library, array, out, Stream())()
    assert float(out) == benchmarks.cub.answered(library, array)() == 4950.0
    for fails in (
        benchmarks.cub.answered(library, array[:50]),
        benchmarks.cub.queued(library, array, out, SimpleNamespace(ptr=2)),
    ):
        with pytest.raises(RuntimeError, match="CUB fails with 700"):
            fails()


def test_exact_sums_are_held_against_cubs_reproducible_ones(
    benchmarks, gpu, pretended, monkeypatch
):
    """At the sizes that have a bound; of the range there is none."""
    exact, cub = benchmarks.exact, benchmarks.exact.CUB
    monkeypatch.setattr(exact, "LARGE", (1 << 12, 1 << 13))
    monkeypatch.setattr(exact, "RANGE_SIZE", 1 << 12)
    bounds = {(1 << 12, "float64"): 2.0, (1 << 12, "float32"): 1.25}
    monkeypatch.setattr(exact, "OVER_CUB", bounds)
    monkeypatch.setattr(gpu, "cub", Cub([]), raising=False)
    monkeypatch.setattr(benchmarks.cub, "queued", lambda *_: lambda: None)
    rows = [row for row in exact.measure_large("float64", gpu) if cub in row["what"]]
    assert [(row["value"], row["at_least"]) for row in rows] == (
        [(2.0, 2.0)] * 3 + [(2.0, None)] * 4
    )
    assert rows[0]["what"] == (
        f"exact sum, uniform float64, 4 KiB: {cub}'s time over gred's exact one"
    )
    assert rows[0]["group"] == f"exact sums of float64 on a GPU, 4 KiB: time of {cub} over theirs"
    assert {row["group"] for row in rows[-4:]} == {None}


def test_cub_adds_neither_halves_nor_where_it_is_not(benchmarks, gpu, monkeypatch):
    array = np.ones(8, np.float64)
    assert benchmarks.exact.CUB not in gpu.queued(array)
    monkeypatch.setattr(gpu, "cub", Cub([array]), raising=False)
    monkeypatch.setattr(benchmarks.cub, "queued", lambda *_: None)
    monkeypatch.setattr(benchmarks.cub, "answered", lambda *_: None)
    assert benchmarks.exact.CUB in gpu.queued(array)
    assert benchmarks.exact.CUB in gpu.answered(array)
    assert benchmarks.exact.CUB not in gpu.queued(array.astype(np.float16))


def test_headers_with_cubs_sums_are_looked_for_where_one_says_and_in_packages(
    benchmarks, monkeypatch, tmp_path
):
    """Those without such sums, as CUDA 13.0's are, are passed over."""
    old, named, package = (
        tmp_path / "old",
        tmp_path / "named",
        tmp_path / "nvidia/cu13/include/cccl",
    )
    for folder, text in ((old, "run_to_run"), (named, "gpu_to_gpu"), (package, "gpu_to_gpu")):
        (folder / benchmarks.cub.HEADER).parent.mkdir(parents=True)
        (folder / benchmarks.cub.HEADER).write_text(text)
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(benchmarks.cub.site, "getsitepackages", lambda: [str(tmp_path)])
    monkeypatch.setattr(benchmarks.cub.site, "getusersitepackages", lambda: str(tmp_path / "none"))
    for variable, found in (("", package), (str(named), named), (str(old), package)):
        monkeypatch.setenv(benchmarks.cub.VARIABLE, variable)
        assert benchmarks.cub.headers() == found
    monkeypatch.setattr(benchmarks.cub.site, "getsitepackages", list)
    assert benchmarks.cub.headers() is None
    assert benchmarks.cub.compiled_sums() is None


def test_halves_are_given_as_the_libraries_that_have_them_do(benchmarks, gpu, monkeypatch):
    monkeypatch.setattr(benchmarks.exact, "GIB", 1 << 10)
    rows = list(benchmarks.exact.measure_halves(gpu))
    assert [row["what"].partition(", 1 KiB: ")[0] for row in rows] == (
        ["exact sum, normal float16"] * 3 + ["exact sum, normal bfloat16"] * 2
    )
    assert "CuPy" not in str(rows[3:])


def test_exact_dot_products_are_held_against_reading_both_arrays(
    benchmarks, gpu, pretended, monkeypatch
):
    """Of 4 KiB each; 8 KiB are read in 2.048 us."""
    monkeypatch.setattr(benchmarks.exact, "DOT_SIZE", 1 << 12)
    pretended.update({"exact": 4.096e-6, "gred": 2.048e-6, "CuPy": 1.024e-6, "PyTorch": 8.192e-6})
    rows = list(benchmarks.exact.measure_dot("float32", gpu))
    assert [row["value"] for row in rows] == pytest.approx([0.5, 1.0, 2.0, 0.25])
    assert [row["at_least"] for row in rows] == [0.8, None, None, None]
    assert rows[0]["what"] == (
        "dot of normal float32, 4 KiB each: gred, exact: rate over the read limit's, 2.00 GB/s"
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponents_go_over_the_range_and_sums_stay_finite(benchmarks, dtype):
    draw = benchmarks.exact.over_the_range(dtype)
    values = benchmarks.exact.drawn(draw, dtype, 1 << 16)
    _, exponents = np.frexp(values)
    kind = np.finfo(dtype)
    assert exponents.min() < kind.minexp + 5
    assert exponents.max() > kind.maxexp - 35
    assert np.abs(values).max() * 2.0**28 < kind.max


def test_calls_over_size_become_lines(benchmarks, gpu, monkeypatch):
    pytest.importorskip("matplotlib")
    cub = benchmarks.exact.CUB
    seconds = {"exact": 2e-6, "gred": 1e-6, "CuPy": 4e-6, "PyTorch": 8e-6, cub: 5e-6}
    monkeypatch.setattr(benchmarks.exact, "CURVE", (1 << 12, 1 << 20))
    monkeypatch.setattr(benchmarks.exact, "call_seconds", lambda *_: seconds)
    rows = list(benchmarks.exact.measure_calls("float64", gpu))
    few = [(row["value"], row["met"]) for row in rows if row["unit"] == "us"]
    assert few == [(1.0, True)] * 3
    fast, beside_cub = (row for row in rows if row["unit"] == "x")
    assert (fast["value"], fast["at_most"]) == (2.0, 1.2)
    assert (beside_cub["value"], beside_cub["at_least"], beside_cub["met"]) == (2.5, 3.0, False)
    kept = {"machine": machine(), "rows": rows}
    lines = benchmarks.exact_plot.points(kept)
    assert [*lines] == ["float64"]
    assert lines["float64"]["gred, exact"] == pytest.approx({1 << 12: 2.048e9, 1 << 20: 5.2429e11})
    assert [*lines["float64"]] == [*benchmarks.exact.WHO.values()]
    figure = benchmarks.exact_plot.speed_figure(kept)
    drawn = {line.get_label(): line.get_xdata() for line in figure.axes[0].get_lines()}
    assert [*drawn["PyTorch"]] == [1 << 12, 1 << 20]


def test_whole_calls_are_measured_in_turns(benchmarks, gpu, monkeypatch):
    monkeypatch.setattr(benchmarks.exact, "CALLS", 3)
    seconds = benchmarks.exact.call_seconds(gpu, "float64", 100)
    assert [*seconds] == ["exact", "gred", "PyTorch", "CuPy"]
    assert min(seconds.values()) > 0


def test_exact_sums_along_axes_are_told_beside_fast_ones(benchmarks, gpu, monkeypatch):
    monkeypatch.setattr(benchmarks.exact, "AXES_SIZE", 1 << 14)
    made = []

    def in_turns(calls, count):
        made.append([np.shape(call()) for call in calls.values()])
        return {"exact": [2.0, 4.0, 9.0], "fast": [1.0], "CuPy": [6.0]}

    monkeypatch.setattr(benchmarks.exact, "taken_in_turns", in_turns)
    rows = list(benchmarks.exact.measure_axes("float64", gpu))
    assert made == [[(64,)] * 3] * 2
    assert [(row["value"], row["met"]) for row in rows] == [(0.25, None), (1.5, None)] * 2
    assert rows[0]["what"] == (
        "exact sum, a call, float64 (64, n) axis 1, 16 KiB: the fast one's time over its own"
    )
    assert "(n, 64) axis 0" in rows[2]["what"]


# ---- on the host ----


def test_exact_sums_on_the_host_are_held_against_numpys_and_fast_ones(benchmarks, monkeypatch):
    monkeypatch.setattr(benchmarks.host, "normal", lambda dtype, nbytes: np.ones(8, dtype))
    monkeypatch.setattr(benchmarks.host, "ALONG", (1, 2, 4, 8))
    monkeypatch.setattr(benchmarks.libraries, "sums", dict)
    seconds = {"exact": 2.0, "fast": 1.5, "NumPy": 3.0, "gred": 2.0, "fsum": 300.0}
    rows = list(
        benchmarks.host.measure(
            lambda calls: {n: call() and seconds[n] for n, call in calls.items()}
        )
    )
    small = [(row["value"], row["at_most"]) for row in rows if row["at_most"]]
    assert small == [*[(0.66667, 1.3)] * 2, *[(0.66667, 2.0)] * 3] * 2
    large = [(row["value"], row["at_least"]) for row in rows if " MiB " in row["what"]]
    large = [pair for pair in large if pair[1]]
    assert large == [(1.5, 1.0)] * 2 + [(0.75, 0.6), (1.5, 1.0)] * 2 + (
        [(1.5, 1.0)] * 2 + [(0.75, 0.6), (1.5, 1.0)] * 2
    )
    assert (rows[-1]["value"], rows[-1]["met"]) == (150.0, True)
    along = list(benchmarks.host.measure_axes(lambda calls: {n: seconds[n] for n in calls}))
    assert [(row["value"], row["at_least"]) for row in along] == [(0.75, None), (1.5, None)] * 16
    many = list(benchmarks.host.measure_many_cores(lambda calls: {n: seconds[n] for n in calls}))
    assert [row["at_least"] for row in many] == [0.8, 8.0] * 4


def test_exact_sums_are_held_against_the_packages_that_are_here(benchmarks, monkeypatch):
    added = []
    xsum = SimpleNamespace(
        xsum_small_accumulator=list,
        xsum_large_accumulator=list,
        xsum_add=lambda accumulator, array: accumulator.append(math.fsum(array)),
        xsum_round=lambda accumulator: added.append("xsum") or accumulator[0],
    )
    summary = SimpleNamespace(update=lambda array: added.append("crick"), sum=lambda: 0.0)
    crick = SimpleNamespace(SummaryStats=lambda: summary)
    for name, package in (("xsum", xsum), ("crick", crick), ("accupy", None)):
        monkeypatch.setitem(sys.modules, name, package)
    monkeypatch.setattr(benchmarks.host, "LIBRARIES_SIZES", (10, 100))
    array = np.random.default_rng(0).standard_normal(100)
    sums = benchmarks.libraries.sums()
    assert [*sums] == ["xsum, small", "xsum, large", "crick"]
    assert sums["xsum, small"](array) == sums["xsum, large"](array) == math.fsum(array)
    added.clear()

    def typical(calls):
        for call in calls.values():
            call()
        return {name: 1.0 if name == "gred" else 4.0 for name in calls}

    rows = list(benchmarks.host.beside_libraries(typical))
    assert [row["what"] for row in rows] == [
        f"2 cores: exact sum, {n} float64: {name}'s time over gred's"
        for n in (10, 100)
        for name in sums
    ]
    assert {(row["value"], row["at_least"], row["met"]) for row in rows} == {(4.0, 1.0, True)}
    assert added == ["xsum", "xsum", "crick"] * 2
    for name in ("xsum", "crick"):
        monkeypatch.setitem(sys.modules, name, None)
    assert list(benchmarks.host.beside_libraries(typical)) == []


def test_a_large_array_repeats_normal_data(benchmarks):
    array = benchmarks.host.normal("float32", 1 << 23)
    assert (array.nbytes, array.dtype) == (1 << 23, np.float32)
    assert np.array_equal(array[: 1 << 20], array[1 << 20 :])


# ---- parts, and what the README says ----


def machine():
    return record.describe_machine(next(d for d in gred.devices() if d.name == "host"))


def test_pieces_are_found_by_the_beginning_of_their_names(benchmarks):
    parse = benchmarks.figures.parse_parts
    assert parse("axes/2GiB") == [f"axes/2GiB/{dtype}" for dtype in benchmarks.axes.TYPES]
    assert parse("exact/calls") == ["exact/calls/float32", "exact/calls/float64"]
    assert parse("host-exact") == ["host-exact/axes", "host-exact/few", "host-exact/many"]
    assert {*parse("axes,exact")} < {*parse("gpu")}


@pytest.fixture
def kept(benchmarks, tmp_path):
    """Results of pieces of both parts."""

    def axes():
        for what, value in (("of the limit", 0.9), ("CuPy's time over gred's, 70.0 us", 1.0)):
            yield benchmarks.figure.figure(
                "axes", f"sum float32 (n, 2) axis 1, 256 MiB: {what}", [value], "x",
                at_least=1.05 if value == 1.0 else 0.85, group=f"along axes, rows: {what[:4]}",
            )  # fmt: skip

    def orders():
        yield from benchmarks.exact.sums_of_orders(
            "float64 that cancel: gred, exact", [2.0] * 8, Fraction(2), "float64"
        )
        yield from benchmarks.exact.sums_of_orders(
            "float64 that cancel: NumPy", [2.0, 3.0] * 4, Fraction(2), "float64"
        )

    for name, measure in {"axes/float32": axes, "exact/orders": orders}.items():
        part, piece = name.split("/")
        [(found, named)] = benchmarks.figures.pieces(part, {piece: measure}).items()
        assert found == name
        benchmarks.figures.write(tmp_path, machine(), name, list(named()))
    return benchmarks.report.Results(tmp_path, tmp_path / "README.md")


def test_the_readme_tells_of_axes_and_exact_sums(benchmarks, kept):
    axes = benchmarks.report.axes_part(kept)
    assert axes.startswith("## Along axes\n")
    assert "Targets met: 1 of 2." in axes
    assert "/plots/axes.svg)" in axes
    exact = benchmarks.report.exact_part(kept).splitlines()
    assert "| gred, exact | - | - | 1 | 0 |" in exact
    assert "| NumPy | - | - | 2 | 2.25e+15 |" in exact
    assert "on the GPU and on the host, 2 of 2 are met." in "\n".join(exact)
    figures = benchmarks.report.figures_part(kept)
    assert "along axes" not in figures
    assert "exact sums on a GPU, in eight orders: the worst error | 1 | at most 0.5 |" in figures


def test_the_readme_says_why_sums_are_not_exact_by_themselves(benchmarks, kept):
    """By the figure that is farthest from its target, and by the worst of each row."""
    figure, [folder] = benchmarks.figure.figure, kept.folders
    group = "exact sums on a GPU: rate over that of fast ones"
    large = [
        figure("exact", f"exact sum, {n}: rate", [rate], "x", at_least=0.95, group=group)
        for n, rate in (("256 MiB", 0.76), ("1 GiB", 0.9), ("4 GiB", 0.96))
    ]
    call = figure("exact", "exact sum, a call: time over the fast one's", [1.3], "x", at_most=1.2)
    other = figure("exact", "a call, float32, 1 MiB: CuPy", [1.0], "GB/s")
    for piece, rows in {"large/float32": large, "calls/float32": [call, other]}.items():
        rows = [{**row, "part": f"exact/{piece}"} for row in rows]
        benchmarks.figures.write(folder.parent, machine(), f"exact/{piece}", rows)
    exact = benchmarks.report.exact_part(kept)
    assert "3 of 6 are met, so it stays fast. The farthest from its target, at 80" in exact
    assert "of it, is: exact sum, 256 MiB: rate, 0.76 x of at least 0.95." in exact
    assert f"| {group} | 3 | at least 0.95 | 0.76 x: exact sum, 256 MiB | **1 of 3** |" in exact
    assert "| exact sum, a call: time over the fast one's | 1 | at most 1.2 | 1.3 x: exact" in exact
    assert "CuPy" not in exact.partition("`method=")[2]


def test_the_readme_says_nothing_of_what_is_not_measured(benchmarks, tmp_path):
    nothing = benchmarks.report.Results(tmp_path, tmp_path / "README.md")
    assert benchmarks.report.axes_part(nothing) == benchmarks.report.exact_part(nothing) == ""


def test_plots_are_drawn_anew_for_their_own_part_only(benchmarks, kept):
    pytest.importorskip("matplotlib")
    stale = [*benchmarks.report.stale_plots(kept)]
    assert [path.name for path, _, _ in stale] == ["axes.svg", "exact.svg"]
    for path, function, shown in stale:
        path.parent.mkdir(exist_ok=True)
        benchmarks.report.draw(path, function, shown)
    assert not [*benchmarks.report.stale_plots(kept)]
    [folder] = kept.folders
    row = benchmarks.figure.figure("import", "import numpy", [1.0], "s")
    benchmarks.figures.write(folder.parent, machine(), "import", [row])
    assert not [*benchmarks.report.stale_plots(kept)]
    benchmarks.figures.write(folder.parent, machine(), "axes/float32", [])
    assert not [*benchmarks.report.stale_plots(kept)]
    row = benchmarks.figure.figure("exact", "a call, float32, 1 MiB: CuPy", [1.0], "GB/s")
    row["part"] = "exact/calls/float32"
    benchmarks.figures.write(folder.parent, machine(), row["part"], [row])
    assert [path.name for path, _, _ in benchmarks.report.stale_plots(kept)] == ["exact.svg"]


def test_the_worst_of_what_has_an_upper_bound_is_the_maximum(benchmarks):
    rows = [
        benchmarks.figure.figure("exact", f"{n}: time", [n], "us", at_most=1.5, group="calls")
        for n in (1.0, 3.0, 2.0)
    ]
    table = benchmarks.target_parts.groups_table(rows)
    assert table.splitlines()[2] == "| calls | 3 | at most 1.5 | 3 us: 3.0 | **1 of 3** |"


# ---- segments ----


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


def test_a_compiler_that_is_not_there_leaves_cub_out(benchmarks, monkeypatch):
    monkeypatch.setattr(benchmarks.compiled.shutil, "which", lambda *_, **__: None)
    assert benchmarks.segments.compiled_cub() is None
