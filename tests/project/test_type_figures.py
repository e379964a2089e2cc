"""What measures every element type and reduction on a GPU, with clocks and peers of its own."""

import os
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest
from test_cli_libraries import case_of

import gred
from gred.cli import cases, contest, libraries

pytestmark = pytest.mark.unsanitized


@pytest.mark.parametrize("layout", ["flat", "columns", "rows", "inside", "sparse", "narrow"])
def test_the_bytes_needed_are_those_of_the_sectors_that_hold_an_element(benchmarks, layout):
    case = case_of("sum", "float32", layout, 1 << 12)
    places = case.view(np.arange(case.size) * case.type.itemsize)
    assert benchmarks.types.bytes_needed(case) == 32 * np.unique(places // 32).size
    masked = case_of("sum", "float32", "mask", 1 << 12)  # which is read, too
    assert benchmarks.types.bytes_needed(masked) == 5 << 12


class Peer(libraries.Library):
    """A library whose calls take so long, and which lacks a reduction."""

    package = "numpy"

    def __init__(self, key, call, lacks=()):
        super().__init__("host")
        self.key = self.title = key
        self.call, self.lacks, self.ours = call, lacks, key == "gred"
        self.module = SimpleNamespace(as_tensor=np.asarray, tile=np.tile)

    def place(self, array):
        return array

    def function(self, case):
        if case.reduction.name in self.lacks:
            raise libraries.LackingError("no such reduction")
        return self.call


def test_the_better_peer_counts_and_one_that_lacks_it_is_named(benchmarks, given, clock):
    """Where 4 bytes are read a nanosecond: gred takes 1 ms, CuPy 3, PyTorch 5."""
    limit = SimpleNamespace(nbytes=4000, seconds=np.array([1e-6]))
    timed = SimpleNamespace(seconds=np.full(7, 2e-6))
    given(gred, read_limit=lambda *_, **__: limit, kernel_time=lambda *_, **__: timed)
    given(gred, explain=lambda *_, **__: SimpleNamespace(steps=[]))

    def beside(*series, torch_lacks=()):
        torch = Peer("torch", clock.taking(5e-3), torch_lacks)
        peers = Peer("cupy", clock.taking(3e-3)), torch
        bench, case = benchmarks.types.Bench("host", peers[0], peers), case_of(*series, size=4096)
        bench.ours = Peer("gred", clock.taking(1e-3))
        rows = benchmarks.types.measure_case(bench, benchmarks.types.Stage(bench, case), case)
        return list(rows)[1]

    both = beside("max", "uint16")
    assert both["value"] == 3.0
    assert "cannot" not in both["what"]
    alone = beside("prod", "float64", torch_lacks=("prod",))
    assert (alone["value"], alone["at_least"]) == (3.0, 1.0)
    assert alone["what"].endswith("; torch cannot")
    nobody = beside("max", "float32", "columns", torch_lacks=("max",))
    assert (nobody["value"], nobody["unit"], nobody["met"]) == (1000.0, "us", None)


def test_the_whole_part_runs_where_numpy_stands_for_cupy(benchmarks, given):
    """One case in forty for all, on the host."""
    carrier, torch = libraries.NumPy("host"), Peer("torch", None, lacks=tuple(cases.REDUCTIONS))
    carrier.key = "cupy"
    kinds = ("bool", "uint16", "int64", "float32", "complex64")
    cases_of = benchmarks.types.cases_with_targets

    def some(n):
        return [c for c in cases_of(n) if c.type.name in kinds and not c.masked][::40]

    given(benchmarks.types, CUB_TYPES=(), SAMPLES=1, LIMIT_SAMPLES=1, cases_with_targets=some)
    bench = benchmarks.types.Bench("host", carrier, (carrier, torch))
    rows = list(benchmarks.types.measure_types(bench, 1 << 12))
    assert len(rows) > 6
    assert all(row["value"] > 0 for row in rows)
    assert all("torch cannot" in row["what"] for row in rows if row["what"].count("gred's"))


# ---- what is compiled beforehand ----

INT8 = [case_of("sum", "int8", size=64), case_of("sum", "int8", size=128), case_of("max", "int8")]


def test_every_case_is_compiled_once_whatever_its_size(given):
    compiled = []
    given(contest, _compile=lambda *work: compiled.append(work))
    given(contest, ProcessPoolExecutor=ThreadPoolExecutor)  # so that it is seen here
    expected = [("numpy", "host", (name, "int8", "flat")) for name in ("max", "sum")]
    for some in (INT8, INT8[:2]):
        contest.compile_ahead(libraries.NumPy("host"), some)
        assert sorted(compiled) == expected


def ends_its_process(*_):
    os._exit(3)


def test_processes_that_end_early_leave_the_rest_for_its_turn(given):
    given(contest, _compile=ends_its_process)
    contest.compile_ahead(libraries.NumPy("host"), INT8)
