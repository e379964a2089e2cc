"""`python -m gred`: checked answers, written files, clear messages and exit statuses."""

import contextlib
import csv
import itertools
import json
import re
import sys
import warnings
from importlib import metadata

import numpy as np
import pytest
from devices import GPU_IS_HERE
from processes import output_of
from scripts import BENCHMARKS

import gred
from gred.cli import doctor, ladder, options, record, roofline, sweep, units
from gred.cli.command import _JOBS as JOBS

SIMULATED, TABLE = ("--device", "simulated"), " --csv kept.csv"
UNTIMED = ("--size", "700", *SIMULATED, "--methods", "halving,shuffle,recursive")
FEW = (*UNTIMED, "--time")
SWEEP = ("sweep", *SIMULATED, "--sizes", "64,2**7:2**9", "--block-sizes", "32,64", "--time")
SWEEP += ("--samples", "2", "--methods", "neighbored,atomic")


@pytest.fixture
def timing(monkeypatch):
    """Change the result of gred.kernel_time, depending on its settings."""
    measured = gred.kernel_time

    def change(changed):
        def kernel_time(*arguments, **settings):
            return changed(measured(*arguments, **settings), settings)

        monkeypatch.setattr(gred, "kernel_time", kernel_time)

    return change


def shown(out, method):
    """Return the entries of a method by column, and the line below them."""
    lines = out.splitlines()
    titles = re.split("  +", next(line for line in lines if " method " in line).strip())
    (place,) = (k for k, line in enumerate(lines) if re.match(rf" +\d+  {method} ", line))
    entries = re.split("  +", lines[place].strip())
    return dict(itertools.zip_longest(titles, entries)), lines[place + 1]


TRAFFIC_AND_CONFLICTS = {"neighbored": ("12.0x", "0"), "interleaved": ("3.1x", "0")}
TRAFFIC_AND_CONFLICTS |= {"shared_strided": ("1.0x", "111M"), "shared_sequential": ("1.0x", "0")}


def test_the_first_screen_shows_what_each_rung_does_and_what_an_h200_takes(screen, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    out = screen(*SIMULATED)
    assert "all 25 answers right" in out
    assert all(device.name in out for device in gred.devices())
    assert f"NumPy {np.__version__}" in out
    kept = record.read_json(BENCHMARKS / "results/nvidia-h200/ladder.json")
    measured = {row["method"]: row["median_ns"] * 1e-9 for row in kept["rows"]}
    for rung in (m.name for m in gred.methods() if m.number is not None):
        row, below = shown(out, rung)
        predicted = gred.roofline(2**28, method=rung, dtype="int32").seconds
        assert {*map(units.time_text, (measured[rung], predicted))} <= {*row.values()}
        if rung in TRAFFIC_AND_CONFLICTS:
            assert (row["traffic"], row["conflicts"]) == TRAFFIC_AND_CONFLICTS[rung]
        if rung == "shared_strided":
            assert "70 % of shared-memory wavefronts are bank conflicts" in below


@pytest.mark.parametrize("line", ["--size 2**20", f"sweep --sizes 2**12 --block-sizes 64{TABLE}"])
def test_nothing_is_shown_as_measured_that_was_not_nor_as_a_gpus(screen, timing, line):
    timing(lambda timed, _: timed._replace(seconds=0 * timed.seconds + 777))
    few = (*SIMULATED, "--methods", "shuffle")
    out = screen(*line.removesuffix(TABLE).split(), *few)
    assert "H200" in out
    assert "777 s" not in out
    assert "measured" not in out or "sweep" in line
    out = screen(*line.split(), *few, "--time")
    assert "777 s" in out
    assert "not a GPU's" in out
    assert not {"GB/s", "share", "speed-up"} & set(out.split())


def test_the_times_in_the_package_are_the_kept_results(benchmarks):
    kept = benchmarks.ladder_times.text()
    assert roofline.PACKAGED.read_text(encoding="utf-8") == kept


# A GPU's compute capability, and the architectures that gred is built for.
ABLE, UNABLE = ("9.0 90a", "12.0 80 90 100f", "9.0 ptx"), ("8.0 75 80 90", "9.0 80", "8.0 ptx")


@pytest.mark.parametrize("built_for", [*ABLE, *UNABLE])
def test_no_gpu_climbs_a_rung_too_late_for_it(monkeypatch, built_for):
    (capability, *architectures), able = built_for.split(), built_for in ABLE
    gpu = gred.Device("cuda:0", "a GPU", 108, 2**35, None, 2**25, capability)
    monkeypatch.setattr(gred, "build_info", lambda: {"architectures": architectures})
    late = tuple(m for m in gred.methods() if m.compute_capability)
    chosen = {m.name for m in ladder.choose_methods(None, gpu, host_too=True)}
    assert chosen == {m.name for m in gred.methods() if able or m not in late}
    refused = pytest.raises(options.UsageError, match=f"'bulk' needs .* 9.0 .* has {capability}")
    with contextlib.nullcontext() if able else refused:
        assert ladder.choose_methods(late, gpu, host_too=True) == late


@pytest.mark.parametrize("dtype", options.ELEMENT_TYPES)
@pytest.mark.parametrize("op", options.OPS)
def test_every_type_and_op_is_right_and_int32_stays_int32(screen, timing, dtype, op):
    given = set()
    timing(lambda timed, settings: given.add(settings["dtype"]) or timed)
    screen(*FEW, "--dtype", dtype, "--op", op)
    assert dtype != "int32" or given == {"int32" if op in ("sum", "prod") else None}


def test_a_wrong_answer_ends_with_status_one(command, timing, tmp_path):
    def wrong(timed, settings):
        one = timed.result.dtype.type(settings["method"] == "shuffle")
        return timed._replace(result=timed.result + one)

    timing(wrong)
    for few in (FEW, UNTIMED):
        status, out, _ = command(*few)
        assert (status, "WRONG" in out) == (1, few == FEW)
        assert "shuffle:" in out
        assert "halving:" not in out
    given = ("sweep", *SIMULATED, "--methods", "shuffle,atomic", "--sizes", "100", "--samples", "1")
    status, out, _ = command(*given, "--json", "sweep.json")
    assert status == 1
    assert "WRONG: shuffle, 100 elements" in out
    rows = record.rows_of(record.read_json(tmp_path / "sweep.json"))
    assert {row["method"] for row in rows if not row["right"]} == {"shuffle"}


def test_json_holds_the_machine_and_every_sample_and_plots_name_it(screen, tmp_path):
    path = tmp_path / "ladder.json"
    for plot in ("ladder.svg", "ladder.png"):
        screen(*FEW, "--block-size", "64", "--seed", "5", "--json", path, "--plot", plot)
        assert record.digest(record.read_json(path)).encode() in (tmp_path / plot).read_bytes()
    kept = json.loads(path.read_text(encoding="utf-8"))
    machine, run = kept["machine"], kept["run"]
    assert (machine["device"]["name"], machine["gred"]) == ("simulated", gred.__version__)
    assert {"processor", "cores", "driver", "cuda", "numpy", "python", "date"} <= set(machine)
    assert (run["size"], run["seed"]) == (700, 5)
    assert run["limit_gb_per_s"] > 0
    places = {row["method"]: (row["block_size"], row["device"]) for row in kept["rows"]}
    assert places.pop("recursive") == (None, "host")
    assert places == dict.fromkeys(("halving", "shuffle"), (64, "simulated"))
    for row in kept["rows"]:
        assert row["right"]
        assert len(row["samples_ns"]) == len(row["first_pass_samples_ns"]) >= 3
        median = np.median(row["samples_ns"])
        assert row["median_ns"] == pytest.approx(median, rel=1e-4)
        assert row["gb_per_s"] == pytest.approx(row["nbytes"] / median, rel=1e-3)


def test_sweep_writes_json_csv_and_plots_and_says_what_it_left_out(screen, monkeypatch, tmp_path):
    out = screen(*SWEEP, "--out", tmp_path)
    rows = record.rows_of(record.read_json(tmp_path / "sweep.json"))
    cases = [(row["size"], row["method"], row["block_size"]) for row in rows]
    assert cases == [*itertools.product((64, 128, 256, 512), ("neighbored", "atomic"), (32, 64))]
    assert all(len(row["samples_ns"]) == 2 and row["limit_gb_per_s"] > 0 for row in rows)
    with (tmp_path / "sweep.csv").open(encoding="utf-8") as file:
        lines = [(int(x["size"]), x["method"], int(x["block_size"])) for x in csv.DictReader(file)]
    assert lines == cases
    for name in ("bandwidth", "block_size", "time"):
        assert (tmp_path / "plots" / f"{name}.svg").stat().st_size > 1000
        assert f"{name}.svg" in out
    monkeypatch.setattr(sweep, "_QUICK_SECONDS", 0.0)
    out = screen(*SWEEP, "--quick", "--json", "sweep.json")
    kept = record.read_json(tmp_path / "sweep.json")
    assert (kept["rows"], kept["run"]["left_out"]) == ([], "64, 128, 256, 512")
    assert "skipped to end in time: 64, 128, 256, 512" in out


def test_a_sweep_that_times_nothing_shows_the_best_block_size_of_an_h200(screen):
    given = "--sizes 2**16,2**26 --block-sizes 32,1024 --methods neighbored_less,shuffle"
    out = screen("sweep", *SIMULATED, *given.split())
    for rung in ("neighbored_less", "shuffle"):
        paces = []
        for size in (2**16, 2**26):
            options = {"method": rung, "dtype": "int32"}
            told = (gred.roofline(size, block_size=block, **options) for block in (32, 1024))
            best, worst = sorted(told, key=lambda told: told.seconds)
            paces.append(units.gigabytes_text(4 * size / best.seconds))
        slower = units.speedup_text(worst.seconds / best.seconds)
        ends = [str(best.block_size), f"{worst.block_size}, {slower}", best.why()]
        assert [*shown(out, rung)[0].values()][2:] == [*paces, *ends]


@pytest.mark.parametrize(
    "arguments", [(*FEW, "--plot", "ladder.png"), (*SWEEP, "--out", "new"), SWEEP]
)
def test_missing_matplotlib_names_the_extra(refused, monkeypatch, tmp_path, arguments):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'gred[cli]'" in refused(*arguments)
    assert not any(tmp_path.iterdir())


def test_warning_is_one_line_among_the_progress(command, timing):
    def warn(timed, _):
        warnings.warn("this takes 20 s", RuntimeWarning, stacklevel=2)
        return timed

    timing(warn)
    status, _, err = command(*FEW)
    assert status == 0
    assert "gred: this takes 20 s\n" in err


def test_help_leads_to_every_job_and_tells_options_and_the_version(screen):
    assert all(f"python -m gred {job} --help" in screen("--help") for job in JOBS)
    out = screen("versus", "--help")
    options = "--device --sizes --types --reductions --layouts --peers cupy-cub"
    assert all(option in out for option in options.split())
    assert screen("--version") == f"gred {gred.__version__}\n"


def test_module_runs_as_a_command():
    line = [sys.executable, "-m", "gred", *FEW, "--methods", "shared,7"]
    out = output_of(line)
    assert "shared_sequential" in out
    assert "unroll_warps2" in out


# ---- the doctor: a line per requirement, with a remedy for each problem ----

GPU = gred.Device("cuda:0", "a GPU", 108, 2**35, None, 2**25, "8.6")
SUM, VERSION = gred.sum, metadata.version


def burning(a, device):
    if device != "host":
        raise RuntimeError("it burns")
    return a.sum() + 1


def older(name):
    return "0.0.9" if name == "gred" else VERSION(name)


def built(*architectures, cuda="13.0"):
    return gred, "build_info", lambda: {"cuda": cuda, "architectures": architectures}


def with_gpu(*architectures):
    """List a GPU that is not here, and whose sums are right."""
    here = [one for one in gred.devices() if not one.name.startswith("cuda")]
    add = gred, "sum", lambda a, device: SUM(a, device=device.replace(GPU.name, "host"))
    return [(gred, "devices", lambda: (*here, GPU)), add, built(*architectures)]


DRIVEN = (doctor, "driver_version", lambda: "580.1")
NO_CODE, CACHE = {GPU.name: "GRED_CUDA_ARCHS=86"}, "cache of kernels"
DISABLED, UNWRITABLE = ("CUDA_CACHE_DISABLE", "1"), ("CUDA_CACHE_PATH", "/dev/null/x")
INSTRUCTIONS, THREADS = ("GRED_INSTRUCTIONS", "mmx"), ("OMP_NUM_THREADS", "many")
BURNT = {"sum on host": str(sum(range(100_003))), "sum on simulated": "it burns: please report it"}
# Changes to the environment or to modules, and the problems they cause.
CASES = [
    ([], {}),
    ([INSTRUCTIONS], {"instructions": "GRED_INSTRUCTIONS=mmx.*unset it"}),
    ([THREADS], {"threads": "OMP_NUM_THREADS=many: not a number.*unset it"}),
    ([(metadata, "version", older)], {"gred": "pip lists 0.0.9"}),
    ([(gred, "sum", burning)], BURNT),
    (with_gpu("86", "90"), {}),
    (with_gpu("89"), NO_CODE),
    (with_gpu("90a"), NO_CODE),
    ([*with_gpu("80"), DISABLED], {}),
    ([*with_gpu("80"), UNWRITABLE], {}),
    ([*with_gpu("ptx"), DISABLED], NO_CODE | {CACHE: "unset CUDA_CACHE_DISABLE"}),
    ([*with_gpu("ptx"), UNWRITABLE], NO_CODE | {CACHE: "CUDA_CACHE_PATH"}),
    ([DRIVEN, built(cuda=None)], {"driver": re.escape("gred[cuda13]")}),
    ([DRIVEN, built()], {"driver": "supports CUDA 13.0"}),
]


@pytest.mark.parametrize(("changed", "wrong"), CASES, ids=range(len(CASES)))
def test_what_is_wrong_is_a_problem_and_nothing_else(command, monkeypatch, changed, wrong):
    if GPU_IS_HERE and not any(change[1] == "devices" for change in changed):
        pytest.skip("the GPU that is here may have problems of its own")
    for name in ("OMP_NUM_THREADS", "GRED_INSTRUCTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "1000")
    for change in changed:
        (monkeypatch.setenv if len(change) == 2 else monkeypatch.setattr)(*change)
    status, out, err = command("doctor")
    assert (status, err) == (bool(wrong), "")
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    checks = {text.split(": ")[0]: (mark, text) for mark, text in lines}
    named = {"gred", "Python", "platform", "libraries", "instructions", "threads", "driver"}
    named |= {"built for", CACHE, *(f"sum on {one.name}" for one in gred.devices())}
    assert named <= set(checks)
    assert f"numpy {np.__version__}" in checks["libraries"][1]
    assert {name for name, (mark, _) in checks.items() if mark == "problem"} == set(wrong)
    for name, words in wrong.items():
        assert re.search(words, checks[name][1])
