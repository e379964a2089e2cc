"""The benchmark scripts count, fit and group as documented, with a fake clock.

NumPy replaces the GPU libraries.
"""

import itertools
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scripts import CuPy, PyTorch
from test_cli_libraries import Peer, case_of

import gred
from gred.cli import record

pytestmark = pytest.mark.unsanitized

SIZES = {"GIB": 1 << 10, "DOT_SIZE": 1 << 12, "AXES_SIZE": 1 << 14, "CURVE": (1 << 12, 1 << 20)}
SIZES |= {"LARGE": (1 << 12,), "RANGE_SIZE": 1 << 12, "CANCELLING": 1 << 12}
LIMIT = SimpleNamespace(nbytes=4000, seconds=np.array([1e-6]))  # 4 bytes per nanosecond


@pytest.fixture
def clock(benchmarks, given):
    """A clock that only fake calls advance; `counts` says how often each was called."""
    pretended = SimpleNamespace(now=0.0, counts=Counter())

    def taking(seconds, name=None):
        def call(*_, **__):
            pretended.now += seconds
            pretended.counts[name] += 1

        return call

    pretended.taking = taking
    given(benchmarks.timing.time, perf_counter=lambda: pretended.now)
    return pretended


@pytest.fixture
def gpu(benchmarks, given, monkeypatch):
    """A GPU without JAX, unlimited patience with its peers, and arrays of little memory."""
    for module in (benchmarks.axes_figures, benchmarks.exact_figures, benchmarks.segments_figures):
        given(module, PATIENCE=math.inf)
    given(benchmarks.device_times, OTHER_BYTES=64)
    axes = benchmarks.axes_figures
    given(axes, peers=lambda: (CuPy(), PyTorch()), compile_ahead=lambda dtype: None)
    given(axes, MIDDLES=((-1, 8, 8), (8, -1, 8)), SLICED=(8,), SIDES=(4, 8))
    few = partial(benchmarks.exact_figures.cancelling, size=1 << 12)
    given(benchmarks.exact_figures, **SIZES, cancelling=few)
    monkeypatch.setitem(sys.modules, "jax", None)
    given(gred, read_limit=lambda *_, **__: LIMIT)
    given(benchmarks.reproducible_cub, compiled_sums=lambda: None)
    return benchmarks.exact_figures.Bench()


@pytest.fixture
def pretended(benchmarks, gpu, given):
    """The same GPU, on which each library takes the same time for everything."""
    seconds = {"exact": 2e-3, "gred": 1e-3, "CuPy": 3e-3, "PyTorch": 5e-3}
    seconds[benchmarks.exact_figures.CUB] = 4e-3
    given(gpu.times, medians=lambda calls: {name: seconds[name] for name in calls})
    return gpu


def test_device_time_is_a_calls_own_behind_a_delay_and_a_read(benchmarks, given, clock):
    cupy = CuPy(clock=lambda: clock.now)
    given(benchmarks.device_times, OTHER_BYTES=64)
    times = benchmarks.device_times.DeviceTimes(cupy, PyTorch())

    def takes(name, seconds):
        return lambda *_, **__: cupy.queued.append(name) or clock.taking(seconds)()

    times._delay = takes("delay", 0.5)
    times._other = SimpleNamespace(max=takes("read", 0.25))
    assert times.seconds(takes("call", 0.125)) == 0.125
    assert cupy.queued == ["delay", "read", "event", "call", "event"]
    assert times.medians({"a": takes("a", 2.0), "b": takes("b", 3.0)}) == {"a": 2.0, "b": 3.0}
    assert cupy.queued.count("a") == cupy.queued.count("b") == benchmarks.device_times.SAMPLES


def test_peers_that_cannot_or_take_long_are_left_out_but_never_gred(gpu, clock):
    """A slow one is not called again; one that cannot may still be able to do something else."""
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


def test_shapes_are_views_of_the_array_that_are_what_their_names_say(benchmarks):
    axes, flat = benchmarks.axes_figures, np.arange(1 << 16)
    shapes = [shape for shape in axes.shapes(flat.size) if shape.shaped(flat).size]
    named = {shape.name: shape for shape in shapes}
    assert len(named) == len(shapes)
    assert {shape.kind for shape in shapes} == {*axes.OF_LIMIT}
    for shape in shapes:
        view = shape.shaped(flat)
        assert np.shares_memory(view, flat)
        assert axes.shape_left(view.shape, shape.axis) == np.sum(view, axis=shape.axis).shape
        assert shape.name.endswith(f"axis {shape.axis}")
    for name, expected in VIEWS.items():
        assert np.array_equal(named[name].shaped(flat), expected(flat))


def bytes_and_places(benchmarks):
    """Yield the bytes that a script counts for a view, its elements' offsets, and a tolerance."""
    axes, drawn, types = benchmarks.axes_figures, benchmarks.drawn_calls, benchmarks.type_figures
    for dtype in ("int8", "float16", "float64"):
        flat = np.zeros(1 << 16, dtype)
        places = np.arange(flat.size) * flat.itemsize
        for shape in axes.shapes(flat.size):
            slack = {"rel": 0.03, "abs": 96}
            yield axes.bytes_read(shape.shaped(flat)), shape.shaped(places), slack
    for number, shape in itertools.product(range(20), ((64, 256), (128, 8, 16))):
        call = drawn.Drawn(f"sum{number}", "float32", shape, 0, "every second")
        view = drawn.laid_out(np.empty(2 * call.nbytes, np.float32), call)
        places = zip(np.indices(shape), view.strides, strict=True)
        yield drawn.bytes_touched(call), sum(k * stride for k, stride in places), {}
    for layout in ("flat", "columns", "rows", "inside", "sparse", "narrow"):
        case = case_of("sum", "float32", layout, 1 << 12)
        yield types.bytes_needed(case), case.view(np.arange(case.size) * case.type.itemsize), {}


def test_bytes_are_those_of_the_sectors_that_hold_an_element(benchmarks):
    for nbytes, places, slack in bytes_and_places(benchmarks):
        assert nbytes == pytest.approx(32 * np.unique(places // 32).size, **slack)
    masked = case_of("sum", "float32", "mask", 1 << 12)  # the mask is read, too
    assert benchmarks.type_figures.bytes_needed(masked) == 5 << 12
    view, moved = np.zeros((8, 64), np.int8), benchmarks.axes_figures.bytes_moved
    assert moved("sum", view, 1) == 512 + 8 * 8
    assert moved("max", view, 0) == 512 + 64
    assert moved("argmax", view.astype(np.float16), 0) == 1024 + 8 * 64


NEAR_A_TIE = 1 + Fraction(1, 2**24) + Fraction(1, 2**60)  # rounds to a tie of float32 in float64
ULPS = [
    (1.0, Fraction(1), "float64", 0),
    (1 + 2**-52, 1 + Fraction(1, 2**54), "float64", 0.75),
    (4.0, Fraction(3), "float64", 2.0**51),
    (1.0, 1 + Fraction(1, 2**24), "float32", 0.5),
    (1 + 2**-23, NEAR_A_TIE, "float32", 0.5 - 2**-37),
]


def test_errors_are_in_units_of_the_last_place_of_the_right_sum(benchmarks):
    for got, right, dtype, ulps in ULPS:
        assert benchmarks.exact_figures.ulps_off(got, right, dtype) == ulps
    assert benchmarks.exact_figures.rounded_once(NEAR_A_TIE, "float32") == np.float32(1 + 2**-23)


ON_HOST = {"exact": 2.0, "fast": 1.5, "NumPy": 3.0, "gred": 2.0, "fsum": 300.0}
# How to measure a part, its number of rows, and value and bound of the first that have one.
PARTS = {
    "axes": (
        lambda of, gpu: of.axes_figures.measure("int8", 1 << 13, gpu),
        *(366, (0.01024, 0.85), (3.0, 1.05)),  # 8 KiB and 4096 sums of 8 bytes in 1 ms; and CuPy
    ),
    "small calls": (lambda of, gpu: of.axes_figures.measure_small(gpu), 2 * 4 * 2 * 5 * 2),
    "orders": (lambda of, gpu: of.exact_figures.measure_orders(gpu), 2 * 5 * 2),
    "segments": (
        lambda of, gpu: of.segments_figures.measure(gpu, 1000, lambda: None),
        *(9, (0.067, 0.7), (3.0, 1.1)),
    ),
    "large": (
        lambda of, gpu: of.exact_figures.measure_large("float32", gpu),
        *(12, (0.5, 0.95), (0.5, 0.95), (0.5, 0.95), (0.5, 0.15)),
    ),
    "halves": (lambda of, gpu: of.exact_figures.measure_halves(gpu), 5, (0.5, 0.95), (0.5, 0.95)),
    "dot": (lambda of, gpu: of.exact_figures.measure_dot("float32", gpu), 3, (0.001024, 0.8)),
    "along axes": (lambda of, gpu: of.exact_figures.measure_axes("float64", gpu), 4),
    "calls": (lambda of, gpu: of.exact_figures.measure_calls("float64", gpu), 12),
    "host": (
        lambda of, _: of.exact_on_host.measure(typical),
        *(31, (1.5, 1.0), (1.5, 1.0), *[(0.75, 0.6), (1.5, 1.0)] * 3),
    ),
    "host, axes": (lambda of, _: of.exact_on_host.measure_axes(typical), 16),
    "host, many cores": (
        lambda of, _: of.exact_on_host.measure_many_cores(typical),
        *(8, *[(0.75, 0.8), (1.5, 8.0)] * 4),
    ),
}


def typical(calls):
    return {name: ON_HOST[name] for name, call in calls.items() if call() is not None}


@pytest.mark.parametrize("part", PARTS)
def test_every_part_is_measured_with_pretended_times(benchmarks, pretended, given, part):
    seconds = {"exact": 3e-6, "gred": 1e-6, "CuPy": 4e-6, "PyTorch": 8e-6}
    given(benchmarks.exact_figures, call_seconds=lambda *_: seconds)
    given(benchmarks.exact_on_host, ALONG=(1, 2), sums=dict)
    given(benchmarks.exact_on_host, normal=lambda dtype, nbytes: np.ones(8, dtype))
    measure, count, *told = PARTS[part]
    with np.errstate(all="ignore"):  # some of the short arrays have no variance
        rows = list(measure(benchmarks, pretended))
    assert len(rows) == count
    assert all(row["value"] > 0 for row in rows)
    bounded = [(row["value"], row["at_least"]) for row in rows if row["at_least"]]
    assert bounded[: len(told)] == told


@pytest.mark.parametrize(
    ("series", "lacks", "value", "least", "unit", "cannot"),
    [
        (("max", "uint16"), (), 3.0, 1.05, "x", False),
        (("prod", "float64"), ("prod",), 3.0, 1.0, "x", True),
        (("max", "float32", "columns"), ("max",), 1000.0, None, "us", True),
    ],
)
def test_the_better_peer_counts_and_one_that_lacks_it_is_named(
    benchmarks, given, clock, series, lacks, value, least, unit, cannot
):
    """gred takes 1 ms, CuPy 3 ms, PyTorch 5 ms."""
    timed = SimpleNamespace(seconds=np.full(7, 2e-6))
    given(gred, read_limit=lambda *_, **__: LIMIT, kernel_time=lambda *_, **__: timed)
    given(gred, explain=lambda *_, **__: SimpleNamespace(steps=[]))
    peers = Peer("cupy", clock.taking(3e-3)), Peer("torch", clock.taking(5e-3), lacks)
    types, case = benchmarks.type_figures, case_of(*series, size=4096)
    bench = types.Bench("host", peers[0], peers)
    bench.ours = Peer("gred", clock.taking(1e-3))
    _, row, *_ = types.measure_case(bench, types.Stage(bench, case), case)
    assert (row["value"], row["at_least"], row["unit"]) == (value, least, unit)
    assert ("torch cannot" in row["what"]) == cannot


# ---- on the host ----


def test_a_small_call_is_held_against_the_quickest_other_way_to_write_it(benchmarks, given):
    small = benchmarks.small_calls
    given(small, SECONDS=0, SIZES=(16,))
    rows = list(small.measure(benchmarks.host_figures.REDUCTIONS))  # each can be made
    assert len(rows) == len(benchmarks.host_figures.REDUCTIONS)
    assert all(row["value"] > 0 for row in rows)
    seconds = {"gred.sum(a)": 2.0, "np.sum(a)": 9.0, "a.sum()": 6.0, "t.sum()": 7.0}
    given(small, quickest=lambda written, _: seconds)
    assert small.compare("sum", 16, "float32") == (3.0, 2.0, "a.sum()")
    seconds["np.sum(a)"] = 1.0
    assert small.compare("sum", 16, "float32") == (0.5, 2.0, "np.sum(a)")


def test_a_curve_is_measured_and_written(benchmarks, given, tmp_path):
    given(benchmarks.curve, SAMPLES=1, LIMIT_SAMPLES=1)
    given(sys, argv=["", *f"--device host --largest 2**3 --out {tmp_path}".split()])
    assert benchmarks.curve.main() == 0
    [path] = tmp_path.glob("*/curve.json")
    assert [row["n"] for row in record.rows_of(record.read_json(path))] == [1, 2, 4, 8]


def test_figures_are_kept_beside_others_and_compared_with_those_before(
    benchmarks, given, monkeypatch, tmp_path, capsys
):
    names = ["host-types/sum/4KiB", "host-types/max/4KiB", "import"]
    rates = iter((2.0, 1.0))

    def measure(name):
        yield benchmarks.figure.figure(name, [next(rates) if name == "gpu" else 1.0], "x")
        if name == "import":
            raise RuntimeError("in the middle")

    def figures(part, status=0):
        given(sys, argv=["figures.py", "--part", part, "--out", str(tmp_path)])
        assert benchmarks.figures.main() == status
        [path] = tmp_path.glob("*/figures.json")
        kept = record.read_json(path)
        return [row["what"] for row in record.rows_of(kept)], [*kept["machines"]]

    for name in (*names, "gpu"):
        monkeypatch.setitem(benchmarks.figures.PARTS, name, partial(measure, name))
    monkeypatch.setitem(benchmarks.figures.GROUPS, "gpu", ("gpu",))
    given(benchmarks.figures, RESULTS=tmp_path)
    kept = [figures(name) for name in (names[1], names[0], names[1])]
    assert kept[-1] == (names[:2], ["host-types"])
    with pytest.raises(RuntimeError, match="in the middle"):
        figures("import")
    assert {*figures(names[0])[0]} == {*names}
    figures("gpu")
    figures("gpu", status=1)
    assert "SLOWER  gpu: 1 x, and was 2" in capsys.readouterr().out


def test_rows_come_as_they_are_measured(benchmarks, given, tmp_path):
    """Rows before an error, or before the time is over, are not lost."""
    worker = tmp_path / "worker.py"
    given(benchmarks.host_figures, __file__=str(worker))
    for after in ("import time; time.sleep(1000)", "raise SystemExit(3)"):
        worker.write_text(f"print('{{\"what\": 1}}', flush=True)\n{after}")
        rows = benchmarks.host_figures.measure("layouts")
        assert next(rows) == {"what": 1}
        if "sleep" in after:
            rows.close()
        else:
            with pytest.raises(subprocess.CalledProcessError):
                next(rows)


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_calls_on_the_host_come_in_every_order_and_the_first_is_not_timed(benchmarks, clock, n):
    """A call takes 99 times as long after another one, and twice as long every third time."""
    calls, host = [], benchmarks.host_figures
    seconds = {name: 1e-4 * (1 + k / 10) for k, name in enumerate("abcde"[:n])}

    def call(name):
        again = calls[-1:] == [name]
        calls.append(name)
        clock.now += seconds[name] * (1 + calls.count(name) % 3 // 2) * (1 if again else 99)

    assert host.typical({name: partial(call, name) for name in seconds}) == pytest.approx(seconds)
    turns = [name for name, _ in itertools.groupby(calls)]
    assert len(turns) >= host.TURNS
    orders = host.balanced(list(seconds))
    pairs = [pair for order in orders for pair in itertools.pairwise(order)]
    for pair in itertools.permutations(seconds, 2):
        assert pair in itertools.pairwise(turns)
        assert pairs.count(pair) == len(orders) // n


def test_a_seed_draws_calls_of_every_kind_and_no_larger_than_asked(benchmarks):
    drawn_calls = benchmarks.drawn_calls
    calls, again, other = (list(drawn_calls.drawn(s, 2000, 1 << 10, 1 << 24)) for s in (3, 3, 2))
    assert calls == again != other
    assert max(call.nbytes for call in calls) <= 1 << 24
    assert {len(call.shape) for call in calls} == set(drawn_calls.RANKS)
    assert {call.dtype for call in calls} == set(drawn_calls.TYPES)
    assert {call.op for call in calls} == set(drawn_calls.OPS)
    assert {call.layout for call in calls} == set(drawn_calls.LAYOUTS)
    assert any(n % 2 and n > 100 for call in calls for n in call.shape)
