"""What measures exact sums on a GPU, for whose libraries NumPy stands, and on the host."""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scripts import Stream, machine
from scripts import benchmarks as benchmarks
from scripts import cupy as cupy
from scripts import given as given
from scripts import gpu as gpu
from scripts import pretended as pretended

pytestmark = pytest.mark.unsanitized


def test_the_cancelling_numbers_sum_is_the_fractions(benchmarks):
    for dtype in benchmarks.exact.TYPES:
        values, exact = benchmarks.exact.cancelling(dtype, 1 << 10)
        assert (values.dtype, values.size) == (dtype, 1 << 10)
        assert float(exact) == math.fsum(values.tolist())
        assert 0 < abs(exact) < 1000 < abs(values.astype(np.float64)).max() * 2**-30


NEAR_A_TIE = 1 + Fraction(1, 2**24) + Fraction(1, 2**60)  # to float64 it rounds to one of float32
ULPS = [
    (1.0, Fraction(1), "float64", 0),
    (1 + 2**-52, 1 + Fraction(1, 2**54), "float64", 0.75),
    (4.0, Fraction(3), "float64", 2.0**51),
    (1.0, 1 + Fraction(1, 2**24), "float32", 0.5),
    (1 + 2**-23, NEAR_A_TIE, "float32", 0.5 - 2**-37),
]


def test_errors_are_in_units_of_the_last_place_of_the_right_sum(benchmarks):
    for got, exact, dtype, ulps in ULPS:
        assert benchmarks.exact.ulps_off(got, exact, dtype) == ulps
    assert benchmarks.exact.rounded_once(NEAR_A_TIE, "float32") == np.float32(1 + 2**-23)


def test_other_libraries_are_wrong_and_gred_exact_is_not(benchmarks, gpu, given):
    few = functools.partial(benchmarks.exact.cancelling, size=1 << 12)
    given(benchmarks.exact, CANCELLING=1 << 12, cancelling=few)
    rows = {row["what"]: row for row in benchmarks.exact.measure_orders(gpu)}
    told = [kind for kind, _ in benchmarks.exact.ORDERS_TOLD]
    for dtype in benchmarks.exact.TYPES:
        for who in ("gred, exact", "gred, fast", "CuPy", "PyTorch", "NumPy"):
            distinct, worst = (rows.pop(f"{dtype} that cancel: {who}: {kind}") for kind in told)
            if who == "gred, exact":
                assert (distinct["value"], distinct["met"], worst["met"]) == (1.0, True, True)
            else:
                assert distinct["value"] > 1
                assert worst["value"] > 1000
                assert worst["met"] is None
    assert not rows


def test_exact_sums_are_held_against_fast_ones(benchmarks, gpu, pretended, given):
    given(benchmarks.exact, LARGE=(1 << 12,), RANGE_SIZE=1 << 12)
    rows = list(benchmarks.exact.measure_large("float32", gpu))
    with_target = [row for row in rows if row["at_least"]]
    told = [(row["value"], row["at_least"]) for row in with_target]
    assert told == [*[(0.5, 0.95)] * 3, (0.5, 0.15)]
    what = "exact sum, uniform float32, 4 KiB: rate over the fast one's, 2.05 MB/s"
    assert with_target[0]["what"] == what
    others = [row["value"] for row in rows if not row["at_least"]]
    assert sorted(others) == [1.5] * 4 + [2.5] * 4


class Cub:
    """CUB's sums of what CuPy's stand-in has."""

    def __init__(self, arrays):
        self.arrays = {array.ctypes.data: array for array in arrays}

    def _sum(self, values, size, answer, is_right=True):
        answer[0] = self.arrays[values.value].sum()
        return 0 if is_right and size.value == self.arrays[values.value].size else 700

    def sum_float64(self, values, size, out, stream):
        answer = ctypes.cast(out.value, ctypes.POINTER(ctypes.c_double))
        return self._sum(values, size, answer, stream.value == 1)

    def sum_for_host_float64(self, values, size, answer):
        return self._sum(values, size, ctypes.cast(answer, ctypes.POINTER(ctypes.c_double)))


class OnGpu(np.ndarray):
    """An array that says where it lies as CuPy's do."""

    data = property(lambda self: SimpleNamespace(ptr=self.ctypes.data))


def test_cubs_sums_are_called_with_an_arrays_address_and_size(benchmarks):
    array, out = np.arange(100.0).view(OnGpu), np.zeros(()).view(OnGpu)
    library, cub = Cub([array]), benchmarks.cub
    cub.queued(library, array, out, Stream())()
    assert float(out) == cub.answered(library, array)() == 4950.0
    elsewhere = cub.queued(library, array, out, SimpleNamespace(ptr=2))
    for fails in (cub.answered(library, array[:50]), elsewhere):
        with pytest.raises(RuntimeError, match="CUB fails with 700"):
            fails()


def test_exact_sums_are_held_against_cubs_reproducible_ones(
    benchmarks, gpu, pretended, given, monkeypatch
):
    """At the sizes that have a bound; of the range there is none."""
    exact, cub = benchmarks.exact, benchmarks.exact.CUB
    bounds = {(1 << 12, "float64"): 2.0, (1 << 12, "float32"): 1.25}
    given(exact, LARGE=(1 << 12, 1 << 13), RANGE_SIZE=1 << 12, OVER_CUB=bounds)
    given(benchmarks.cub, queued=lambda *_: lambda: None)
    monkeypatch.setattr(gpu, "cub", Cub([]), raising=False)
    rows = [row for row in exact.measure_large("float64", gpu) if cub in row["what"]]
    told = [(row["value"], row["at_least"]) for row in rows]
    assert told == [(2.0, 2.0)] * 3 + [(2.0, None)] * 4
    what = f"exact sum, uniform float64, 4 KiB: {cub}'s time over gred's exact one"
    group = f"exact sums of float64 on a GPU, 4 KiB: time of {cub} over theirs"
    assert (rows[0]["what"], rows[0]["group"]) == (what, group)
    assert {row["group"] for row in rows[-4:]} == {None}


def test_cub_adds_neither_halves_nor_where_it_is_not(benchmarks, gpu, given, monkeypatch):
    array, cub = np.ones(8, np.float64), benchmarks.exact.CUB
    assert cub not in gpu.queued(array)
    monkeypatch.setattr(gpu, "cub", Cub([array]), raising=False)
    given(benchmarks.cub, queued=lambda *_: None, answered=lambda *_: None)
    assert cub in gpu.queued(array)
    assert cub in gpu.answered(array)
    assert cub not in gpu.queued(array.astype(np.float16))


def test_headers_with_cubs_sums_are_looked_for_where_one_says_and_in_packages(
    benchmarks, given, monkeypatch, tmp_path
):
    """Those without such sums, as CUDA 13.0's are, are passed over."""
    cub = benchmarks.cub
    old, named, package = map(tmp_path.joinpath, ("old", "named", "nvidia/cu13/include/cccl"))
    for folder, text in ((old, "run_to_run"), (named, "gpu_to_gpu"), (package, "gpu_to_gpu")):
        (folder / cub.HEADER).parent.mkdir(parents=True)
        (folder / cub.HEADER).write_text(text)
    given(sys, path=[])
    given(
        cub.site,
        getsitepackages=lambda: [str(tmp_path)],
        getusersitepackages=lambda: str(tmp_path / "none"),
    )
    for variable, found in (("", package), (str(named), named), (str(old), package)):
        monkeypatch.setenv(cub.VARIABLE, variable)
        assert cub.headers() == found
    given(cub.site, getsitepackages=list)
    assert cub.headers() is None
    assert cub.compiled_sums() is None


def test_halves_are_given_as_the_libraries_that_have_them_do(benchmarks, gpu, given):
    given(benchmarks.exact, GIB=1 << 10)
    rows = list(benchmarks.exact.measure_halves(gpu))
    told = [row["what"].partition(", 1 KiB: ")[0] for row in rows]
    assert told == ["exact sum, normal float16"] * 3 + ["exact sum, normal bfloat16"] * 2
    assert "CuPy" not in str(rows[3:])


def test_exact_dot_products_are_held_against_reading_both_arrays(benchmarks, gpu, pretended, given):
    """Of 4 KiB each; 8 KiB are read in 2.048 us."""
    given(benchmarks.exact, DOT_SIZE=1 << 12)
    pretended.update({"exact": 4.096e-6, "gred": 2.048e-6, "CuPy": 1.024e-6, "PyTorch": 8.192e-6})
    rows = list(benchmarks.exact.measure_dot("float32", gpu))
    assert [row["value"] for row in rows] == pytest.approx([0.5, 1.0, 2.0, 0.25])
    assert [row["at_least"] for row in rows] == [0.8, None, None, None]
    words = "4 KiB each: gred, exact: rate over the read limit's, 2.00 GB/s"
    assert rows[0]["what"] == f"dot of normal float32, {words}"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exponents_go_over_the_range_and_sums_stay_finite(benchmarks, dtype):
    draw = benchmarks.exact.over_the_range(dtype)
    values = benchmarks.exact.drawn(draw, dtype, 1 << 16)
    _, exponents = np.frexp(values)
    kind = np.finfo(dtype)
    assert exponents.min() < kind.minexp + 5
    assert exponents.max() > kind.maxexp - 35
    assert np.abs(values).max() * 2.0**28 < kind.max


def test_calls_over_size_become_lines(benchmarks, gpu, given):
    pytest.importorskip("matplotlib")
    cub = benchmarks.exact.CUB
    seconds = {"exact": 2e-6, "gred": 1e-6, "CuPy": 4e-6, "PyTorch": 8e-6, cub: 5e-6}
    given(benchmarks.exact, CURVE=(1 << 12, 1 << 20), call_seconds=lambda *_: seconds)
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
    [axes] = benchmarks.exact_plot.speed_figure(kept).axes
    drawn = {line.get_label(): line.get_xdata() for line in axes.get_lines()}
    assert [*drawn["PyTorch"]] == [1 << 12, 1 << 20]


def test_whole_calls_are_measured_in_turns(benchmarks, gpu, given):
    given(benchmarks.exact, CALLS=3)
    seconds = benchmarks.exact.call_seconds(gpu, "float64", 100)
    assert [*seconds] == ["exact", "gred", "PyTorch", "CuPy"]
    assert min(seconds.values()) > 0


def test_exact_sums_along_axes_are_told_beside_fast_ones(benchmarks, gpu, given):
    made = []

    def in_turns(calls, count):
        made.append([np.shape(call()) for call in calls.values()])
        return {"exact": 4.0, "fast": 1.0, "CuPy": 6.0}

    given(benchmarks.exact, AXES_SIZE=1 << 14, medians_in_turns=in_turns)
    rows = list(benchmarks.exact.measure_axes("float64", gpu))
    assert made == [[(64,)] * 3] * 2
    assert [(row["value"], row["met"]) for row in rows] == [(0.25, None), (1.5, None)] * 2
    words = "exact sum, a call, float64 (64, n) axis 1, 16 KiB: the fast one's time over its own"
    assert rows[0]["what"] == words
    assert "(n, 64) axis 0" in rows[2]["what"]


def test_exact_sums_on_the_host_are_held_against_numpys_and_fast_ones(benchmarks, given):
    host, seconds = benchmarks.host, {"exact": 2.0, "fast": 1.5, "NumPy": 3.0}
    seconds |= {"gred": 2.0, "fsum": 300.0}
    given(host, normal=lambda dtype, nbytes: np.ones(8, dtype), ALONG=(1, 2, 4, 8))
    given(host, sums=dict)
    rows = list(host.measure(lambda calls: {n: call() and seconds[n] for n, call in calls.items()}))
    small = [(row["value"], row["at_most"]) for row in rows if row["at_most"]]
    assert small == [*[(0.66667, 1.3)] * 2, *[(0.66667, 2.0)] * 3] * 2
    large = [(row["value"], row["at_least"]) for row in rows if " MiB " in row["what"]]
    large = [pair for pair in large if pair[1]]
    assert large == ([(1.5, 1.0)] * 2 + [(0.75, 0.6), (1.5, 1.0)] * 2) * 2
    assert (rows[-1]["value"], rows[-1]["met"]) == (150.0, True)

    def typical(calls):
        return {name: seconds[name] for name in calls}

    along = [(row["value"], row["at_least"]) for row in host.measure_axes(typical)]
    assert along == [(0.75, None), (1.5, None)] * 16
    assert [row["at_least"] for row in host.measure_many_cores(typical)] == [0.8, 8.0] * 4


def test_exact_sums_are_held_against_the_packages_that_are_here(benchmarks, given, monkeypatch):
    added, host = [], benchmarks.host
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
    given(host, LIBRARIES_SIZES=(10, 100))
    array, sums = np.random.default_rng(0).standard_normal(100), benchmarks.host.sums()
    assert [*sums] == ["xsum, small", "xsum, large", "crick"]
    assert sums["xsum, small"](array) == sums["xsum, large"](array) == math.fsum(array)
    added.clear()

    def typical(calls):
        for call in calls.values():
            call()
        return {name: 1.0 if name == "gred" else 4.0 for name in calls}

    rows = list(host.beside_libraries(typical))
    cases = itertools.product((10, 100), sums)
    told = [f"2 cores: exact sum, {n} float64: {name}'s time over gred's" for n, name in cases]
    assert [row["what"] for row in rows] == told
    assert {(row["value"], row["at_least"], row["met"]) for row in rows} == {(4.0, 1.0, True)}
    assert added == ["xsum", "xsum", "crick"] * 2
    for name in ("xsum", "crick"):
        monkeypatch.setitem(sys.modules, name, None)
    assert list(host.beside_libraries(typical)) == []


def test_a_large_array_repeats_normal_data(benchmarks):
    array = benchmarks.host.normal("float32", 1 << 23)
    assert (array.nbytes, array.dtype) == (1 << 23, np.float32)
    assert np.array_equal(array[: 1 << 20], array[1 << 20 :])
