"""What `python -m gred` promises: answers checked, files written, clear words, an exit status."""

import csv
import functools
import importlib
import itertools
import json
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
from processes import printed
from scripts import BENCHMARKS

import gred
from gred.cli import ladder, options, record, roofline, sweep, units
from gred.cli.command import _JOBS as JOBS

pytestmark = pytest.mark.unsanitized

SIMULATED = ("--device", "simulated")
SMALL = ("--size", "700", *SIMULATED, "--time")
FEW = (*SMALL, "--methods", "halving,shuffle,recursive")
PACKAGED_FROM = BENCHMARKS / "results" / "nvidia-h200" / "ladder.json"
TINY_SWEEP = (
    *("sweep", "--device", "simulated", "--sizes", "64,2**7:2**9", "--block-sizes", "32,64"),
    *("--samples", "2", "--methods", "neighbored,atomic", "--time"),
)


@pytest.fixture(autouse=True)
def warm_caches(monkeypatch):
    """Leave the caches alone between samples: no promise here is about how fast anything is."""
    monkeypatch.setattr(gred, "kernel_time", functools.partial(gred.kernel_time, cold=False))


@pytest.fixture
def kernel_time(monkeypatch):
    """Have what gred.kernel_time is given seen, and what it returns changed."""
    true_kernel_time = gred.kernel_time

    def change(seen=lambda settings: None, changed=lambda timed, settings: timed):
        def kernel_time(*arguments, **settings):
            seen(settings)
            return changed(true_kernel_time(*arguments, **settings), settings)

        monkeypatch.setattr(gred, "kernel_time", kernel_time)

    return change


@pytest.fixture
def wrong_shuffle(kernel_time):
    """Let gred.kernel_time be off by one for `shuffle`."""

    def off_by_one(timed, settings):
        off = timed.result.dtype.type(settings["method"] == "shuffle")
        return timed._replace(result=timed.result + off)

    kernel_time(changed=off_by_one)


def test_every_method_of_the_device_is_climbed_on_a_machine_that_is_named(screen):
    out = screen(*SMALL)
    names = [line.split()[1] for line in out.splitlines() if line.rstrip().endswith("right")]
    expected = [m.name for m in gred.methods() if {"simulated", "host"} & set(m.devices)]
    assert [name for name in names if name in expected] == expected
    assert f"all {len(expected)} answers right" in out
    assert all(device.name in out for device in gred.devices())
    assert f"NumPy {np.__version__}" in out


def shown(out, method):
    """Find the entries of a method, and what is written below them."""
    lines = out.splitlines()
    (place,) = (k for k, line in enumerate(lines) if re.match(rf" +\d+  {method} ", line))
    return re.split("  +", lines[place].strip()), lines[place + 1]


def test_the_first_screen_shows_what_each_rung_does_and_what_an_h200_takes(screen, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    out = screen(*SIMULATED)
    assert "all 25 answers right" in out
    kept = record.read_json(PACKAGED_FROM)
    measured = {row["method"]: row["median_ns"] * 1e-9 for row in kept["rows"]}
    for method in gred.methods():
        if method.number is None:
            continue
        cells, _ = shown(out, method.name)
        assert units.time_text(measured[method.name]) in cells
        told = gred.roofline(2**28, method=method.name, dtype="int32")
        assert units.time_text(told.seconds) in cells


# Of rungs: traffic, conflicts, and what is said below them.
TOLD = {
    "neighbored": (
        *("12.0x", "0"),
        "neighbours, in place; limited by multiprocessor throughput: global memory traffic is",
    ),
    "interleaved": (
        *("3.1x", "0"),
        "waiting for loads and barriers: global memory traffic is 3.1 times the array",
    ),
    "shared_strided": (
        *("1.0x", "111M"),
        "throughput: 70 % of shared-memory wavefronts are bank conflicts",
    ),
    "shared_sequential": (
        *("1.0x", "0"),
        "limited by waiting for loads and barriers: a block barrier every 28 elements",
    ),
    "atomic": ("1.0x", "0", "limited by memory bandwidth: every byte is read once"),
}


def test_the_first_screen_shows_ideas_pay_off_and_what_is_left(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    _, out, _ = command(*SIMULATED, "--methods", ",".join(TOLD))
    head = re.split("  +", next(line for line in out.splitlines() if " method " in line).strip())
    for rung, (traffic, conflicts, words) in TOLD.items():
        cells, below = shown(out, rung)
        row = dict(zip(head, cells, strict=False))
        assert (row["traffic"], row["conflicts"]) == (traffic, conflicts)
        assert words in below


@pytest.mark.parametrize("arguments", [SIMULATED, ("sweep", *SIMULATED, "--sizes", "2**12")])
def test_the_simulators_seconds_are_shown_where_they_are_asked_for_and_named(
    screen, kernel_time, monkeypatch, tmp_path, arguments
):
    """All are let to be 777."""
    kernel_time(changed=lambda timed, _: timed._replace(seconds=0 * timed.seconds + 777))
    monkeypatch.chdir(tmp_path)
    few = (*arguments, "--methods", "shuffle", "--block-size" + "s" * (len(arguments) > 2), "64")
    out = screen(*few)
    assert "777 s" not in out
    assert "H200" in out
    assert not any(tmp_path.iterdir())
    kept = ("--csv", "kept.csv") if "sweep" in few else ()
    out = screen(*few, "--time", *kept)
    assert "777 s" in out
    assert "no GPU's" in out
    assert not {"GB/s", "share", "speed-up"} & set(out.split())


def test_the_times_in_the_package_are_the_kept_results(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    ladder_times = importlib.import_module("ladder_times")
    assert roofline.PACKAGED.read_text(encoding="utf-8") == ladder_times.text()


@pytest.mark.parametrize(
    "more", [("--size", "2**20"), ("--dtype", "float32"), ("--block-size", "64")]
)
def test_nothing_is_shown_as_measured_that_was_not(command, more):
    _, out, _ = command(*SIMULATED, "--methods", "shuffle", *more)
    assert "predicted" in out
    assert "measured" not in out


ABLE = [
    ("8.0", ("75", "80", "90"), False),
    ("9.0", ("80",), False),
    ("9.0", ("90a",), True),
    ("12.0", ("80", "90", "100f"), True),
    ("9.0", ("ptx",), True),
    ("8.0", ("ptx",), False),
]


@pytest.mark.parametrize(("capability", "architectures", "able"), ABLE)
def test_what_a_gpu_is_too_old_for_is_left_out_or_refused(
    monkeypatch, capability, architectures, able
):
    gpu = gred.Device("cuda:0", "a GPU", 108, 2**35, None, 2**25, capability)
    monkeypatch.setattr(gred, "build_info", lambda: {"architectures": architectures})
    late = tuple(m for m in gred.methods() if m.compute_capability)
    names = {m.name for m in ladder.choose_methods(None, gpu, host_too=True)}
    assert names == {m.name for m in gred.methods() if able or m not in late}
    if able:
        assert ladder.choose_methods(late, gpu, host_too=True) == late
    else:
        with pytest.raises(options.UsageError, match=f"'bulk' needs .* 9.0 .* has {capability}"):
            ladder.choose_methods(late, gpu, host_too=True)


@pytest.mark.parametrize("more", [(), ("--time",), ("--size", "700", "--time")])
@pytest.mark.parametrize("width", [80, 100, 120])
def test_lines_fit_into_the_columns(command, monkeypatch, width, more):
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, _ = command(*SIMULATED, "--methods", "0,12,13,cluster", "--size", "5000", *more)
    assert max(map(len, out.splitlines())) <= width


@pytest.mark.parametrize("dtype", options.ELEMENT_TYPES)
@pytest.mark.parametrize("op", options.OPS)
def test_every_element_type_and_op_is_right(screen, dtype, op):
    screen(*FEW, "--dtype", dtype, "--op", op)


@pytest.mark.parametrize("timed", [True, False])
def test_a_wrong_answer_ends_with_status_one(command, wrong_shuffle, timed, tmp_path):
    """In a sweep, too."""
    status, out, _ = command(*(FEW if timed else [word for word in FEW if word != "--time"]))
    assert status == 1
    assert ("WRONG" in out) == timed
    assert "shuffle:" in out
    assert "halving:" not in out
    given = ("sweep", *SIMULATED, "--methods", "shuffle,atomic", "--sizes", "100", "--samples", "1")
    status, out, _ = command(*given, "--json", tmp_path / "sweep.json")
    assert status == 1
    assert "WRONG: shuffle, 100 elements" in out
    rows = record.rows_of(record.read_json(tmp_path / "sweep.json"))
    assert {row["method"] for row in rows if not row["right"]} == {"shuffle"}


@pytest.mark.parametrize(
    ("op", "passed"), [("sum", "int32"), ("prod", "int32"), ("min", None), ("max", None)]
)
def test_int32_accumulates_in_int32_as_the_published_ladders_do(command, kernel_time, op, passed):
    given = []
    kernel_time(seen=lambda settings: given.append(settings["dtype"]))
    assert command(*FEW, "--op", op)[0] == 0
    assert set(given) == {passed}


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_json_holds_the_machine_and_every_sample_and_a_plot_names_it(screen, tmp_path, ending):
    pytest.importorskip("matplotlib")
    path, plot = tmp_path / "ladder.json", tmp_path / f"ladder.{ending}"
    screen(*FEW, "--block-size", "64", "--seed", "5", "--json", path, "--plot", plot)
    assert record.digest(record.read_json(path)).encode() in plot.read_bytes()
    kept = json.loads(path.read_text(encoding="utf-8"))
    machine, run = kept["machine"], kept["run"]
    assert (machine["device"]["name"], machine["gred"]) == ("simulated", gred.__version__)
    assert {"processor", "cores", "driver", "cuda", "numpy", "python", "date"} <= set(machine)
    assert (run["size"], run["seed"]) == (700, 5)
    assert run["limit_gb_per_s"] > 0
    assert [row["method"] for row in kept["rows"]] == ["recursive", "halving", "shuffle"]
    for row in kept["rows"]:
        assert row["right"]
        place = (None, "host") if row["method"] == "recursive" else (64, "simulated")
        assert (row["block_size"], row["device"]) == place
        assert len(row["samples_ns"]) == len(row["first_pass_samples_ns"]) >= 3
        median = np.median(row["samples_ns"])
        assert row["median_ns"] == pytest.approx(median, rel=1e-4)
        assert row["gb_per_s"] == pytest.approx(row["nbytes"] / median, rel=1e-3)


def test_sweep_writes_json_csv_and_plots(screen, tmp_path):
    pytest.importorskip("matplotlib")
    out = screen(*TINY_SWEEP, "--out", tmp_path)
    rows = record.rows_of(record.read_json(tmp_path / "sweep.json"))
    cases = [(row["size"], row["method"], row["block_size"]) for row in rows]
    expected = itertools.product((64, 128, 256, 512), ("neighbored", "atomic"), (32, 64))
    assert cases == [*expected]
    assert all(len(row["samples_ns"]) == 2 and row["limit_gb_per_s"] > 0 for row in rows)
    with (tmp_path / "sweep.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [(int(x["size"]), x["method"], int(x["block_size"])) for x in lines] == cases
    for name in ("bandwidth", "block_size", "time"):
        assert (tmp_path / "plots" / f"{name}.svg").stat().st_size > 1000
        assert f"{name}.svg" in out


def test_a_sweep_that_times_nothing_shows_the_best_block_size_of_an_h200(screen):
    rungs, sizes, blocks = ("neighbored_less", "shuffle"), (2**16, 2**26), (32, 1024)
    given = ("--sizes", "2**16,2**26", "--block-sizes", "32,1024", "--methods", ",".join(rungs))
    out = screen("sweep", *SIMULATED, *given)
    for rung in rungs:
        paces = []
        for size in sizes:
            options = [{"method": rung, "block_size": block, "dtype": "int32"} for block in blocks]
            told = [gred.roofline(size, **one) for one in options]
            best, worst = sorted(told, key=lambda told: told.seconds)
            paces.append(units.gigabytes_text(4 * size / best.seconds))
        slower = units.speedup_text(worst.seconds / best.seconds)
        ends = [str(best.block_size), f"{worst.block_size}, {slower}", best.why()]
        assert shown(out, rung)[0][2:] == [*paces, *ends]


@pytest.mark.parametrize("arguments", [FEW, (*TINY_SWEEP, "--csv", "sweep.csv")])
def test_works_without_rich_and_matplotlib(screen, monkeypatch, tmp_path, arguments):
    monkeypatch.chdir(tmp_path)
    for module in ("rich", "matplotlib"):
        monkeypatch.setitem(sys.modules, module, None)
    out = screen(*arguments)
    assert out.isascii() or "±" in out
    assert "─" not in out
    assert ("--csv" in arguments) == (tmp_path / "sweep.csv").exists()


def test_quick_sweep_stops_in_time_and_says_what_it_left_out(screen, monkeypatch, tmp_path):
    monkeypatch.setattr(sweep, "_QUICK_SECONDS", 0.0)
    out = screen(*TINY_SWEEP, "--quick", "--json", tmp_path / "sweep.json")
    assert "left out to end in time: 64, 128, 256, 512" in out
    kept = record.read_json(tmp_path / "sweep.json")
    assert kept["rows"] == []
    assert kept["run"]["left_out"] == "64, 128, 256, 512"


@pytest.mark.parametrize(
    "arguments", [(*FEW, "--plot", "ladder.png"), (*TINY_SWEEP, "--out", "new"), TINY_SWEEP]
)
def test_missing_matplotlib_names_the_extra(refused, monkeypatch, tmp_path, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'gred[cli]'" in refused(*arguments)
    assert not any(tmp_path.iterdir())


def test_interrupt_ends_with_status_130(command, kernel_time):
    def interrupt(_):
        raise KeyboardInterrupt

    kernel_time(seen=interrupt)
    status, _, err = command(*FEW)
    assert status == 130
    assert err.endswith("interrupted\n")


def test_warning_is_one_line_among_the_progress(command, kernel_time):
    kernel_time(seen=lambda _: warnings.warn("this takes 20 s", RuntimeWarning, stacklevel=2))
    status, _, err = command(*FEW)
    assert status == 0
    assert "gred: this takes 20 s\n" in err


def test_help_leads_to_every_job_and_tells_options_and_the_version(command):
    _, out, _ = command("--help")
    assert all(f"python -m gred {job} --help" in out for job in JOBS)
    _, out, _ = command("versus", "--help")
    options = ("--device", "--sizes", "--types", "--reductions", "--layouts", "--peers")
    assert all(option in out for option in (*options, "cupy-cub"))
    assert command("--version")[:2] == (0, f"gred {gred.__version__}\n")


def test_module_runs_as_a_command_and_importing_gred_imports_nothing_of_it():
    line = [sys.executable, "-m", "gred", *SMALL, "--methods", "shared,7"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "shared_sequential" in done.stdout
    assert "unroll_warps2" in done.stdout
    code = "import gred, sys; print({'rich', 'matplotlib', 'gred.cli'} & sys.modules.keys())"
    assert printed(code) == "set()\n"
