"""Runs the ladder of parallel reduction, and checks each answer against NumPy.

Every method runs on the same random array. On a GPU it compares the kernels' speed with the memory
bandwidth. Without one they run on the simulated device, and it shows each rung's memory accesses,
its time on an H200, predicted and measured, and what limits it.

Sums and products accumulate in the array's own element type, int32 in int32, as the published
ladders do; gred.sum itself, like NumPy, adds int32 in int64. `recursive` always runs on the host,
`cub` only on a GPU.

Many array sizes and block sizes, with plots: python -m gred sweep --help
Comparison with other libraries: python -m gred versus --help
Memory accesses: python -m gred counters --help, python -m gred explain --help
Rungs drawn step by step: python -m gred show --help
Predicted times: python -m gred roofline --help
Your own rung: python -m gred lab --help
Check of the installation: python -m gred doctor --help
"""

import argparse
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import gred
from gred import prediction
from gred.cli import counters, explain, options, output, record, roofline, units
from gred.cli.console import RIGHT, Cell, Column, Console, Table
from gred.cli.measure import Plan, Sampling, measure_all, noise
from gred.cli.options import option
from gred.cli.record import Record
from gred.prediction import H200

_NEXT = """\
A rung's source with its counters: python -m gred explain shared_strided. Drawn step by step:
python -m gred show shared_strided. Times of the simulated device itself: python -m gred --time"""

# Elements of untimed runs, and of counts and predictions.
_CHECKED, _COUNTED = 1 << 16, 1 << 28

# Note on the simulated device's times, and the columns that are omitted for it.
SIMULATED_TIMES = (("times", "this processor's, which simulates the GPU's threads, not a GPU's"),)
_GPU_COLUMNS = ("GB/s", "share", "", "speed-up", "read limit")
FIGURE = "gred.cli.plots.ladder_figure"

_WRONG = Cell("WRONG", "bold red")
# Columns of times, in the tables of the ladder and the sweep.
TIMES = (
    Column("time", lambda r: units.time_text(r["median_ns"] * 1e-9)),
    Column("±", lambda r: units.percent_text(noise(r)), style="dim", rank=4),
    Column("GB/s", lambda r: units.gigabytes_text(r["gb_per_s"] * 1e9), style="bold", rank=1),
)

# Options of the ladder and the sweep.
COMMON = (
    option("--dtype"),
    option("--op"),
    option("--methods", "all methods of the device"),
    option("--device", "cuda, cuda:1, simulated or host (default: a GPU, or else simulated)"),
    option("--seed"),
)
OPTIONS = (
    option("--size", "2**28; 2**20 to time the simulated device"),
    *COMMON,
    option("--block-size", "each method's own"),
    option("--time"),
    option("--json", "write all measurements"),
    option("--plot", "the ladder (.svg, .png, .pdf)"),
    option("--version", "show the version", action="version", version=f"gred {gred.__version__}"),
)


def run(given: argparse.Namespace, console: Console) -> int:
    files = output.file_outputs(given, console, FIGURE)
    device = options.resolve_device(given.device)
    fast = device.name.startswith("cuda")
    timed = is_timed(given, device)
    size = given.size or (1 << 28 if fast else 1 << 20)
    options.check_memory(device, size, given.dtype)
    methods = choose_methods(given.methods, device, host_too=timed)
    rungs = tuple(method for method in methods if method.number is not None)
    counted = given.size or _COUNTED
    settings = counters.Settings(rungs, counted, given.dtype, given.block_size)
    size = size if timed else min(counted, _CHECKED)
    sampling = Sampling(20, 2, None if fast else 0.5) if timed else Sampling(1, 0)
    cases = [(method, given.block_size) for method in methods]
    plan = Plan(device, cases, (size,), given.dtype, given.op, given.seed, sampling)
    machine = output.introduce(console, device, "the ladder of parallel reduction")
    rows, _ = measure_all(plan, console)
    files.write(record_of(machine, plan, rows))
    if timed or not rungs:
        show(console, plan, rows)
    else:
        _show_rungs(console, settings)
        array = f"{plan.sizes[0]:,} random {plan.dtype}"
        _show_answers(console, rows, f": equal to NumPy's for {array} on the simulated device")
        console.text(_NEXT, "dim")
    return files.end(0 if all(row["right"] for row in rows) else 1)


def choose_methods(wanted: tuple[Any, ...] | None, device: Any, host_too: bool) -> tuple[Any, ...]:
    """Return the requested methods, checked for the device, or all methods of the device."""
    kind = device.name.partition(":")[0]
    kinds = {kind, "host"} if host_too or wanted else {kind}
    for method in wanted or ():
        if kinds.isdisjoint(method.devices):
            where = f"on {device.name}, only on {' and '.join(method.devices)}"
            raise options.UsageError(f"{method.name!r} does not run {where}")
        if not is_able(device, method):
            needed = f"compute capability {method.compute_capability} or later, and kernels for it"
            here = f"{device.name} has {device.compute_capability}"
            raise options.UsageError(f"{method.name!r} needs a GPU of {needed}; {here}")
    there = (m for m in gred.methods() if not kinds.isdisjoint(m.devices) and is_able(device, m))
    return wanted or tuple(there)


def is_able(device: Any, method: Any) -> bool:
    """Return whether the GPU, and gred's build, support a method's compute capability."""
    needed, here = method.compute_capability, device.compute_capability
    if needed is None or here is None:
        return True
    built: Any = gred.build_info()["architectures"]
    able = int(here.replace(".", ""))
    if "ptx" not in built:
        able = min(able, max(int(text.rstrip("af")) for text in built))
    return int(needed.replace(".", "")) <= able


def is_timed(given: argparse.Namespace, device: Any) -> bool:
    """Return whether to time: on the simulated device only if times or files are requested."""
    asked = (vars(given).get(name) for name in ("time", "json", "csv", "plot", "plots", "out"))
    return device.name != "simulated" or any(asked)


def peak_of(device: Any, rows: Sequence[Record]) -> tuple[float, str]:
    """Return the reference for shares, the memory's bandwidth or the read limit, and its name."""
    if device.bandwidth:
        return float(device.bandwidth), "the memory's theoretical bandwidth"
    return limit_of(device, rows), "the read limit measured in this run"


def limit_of(device: Any, rows: Sequence[Record]) -> float:
    """Return the read limit of the device, or of the host if only the host ran."""
    own = (row for row in rows if row["device"] == device.name)
    return float(next(own, rows[0])["limit"])


def show(console: Console, plan: Plan, rows: Sequence[Record]) -> None:
    device, dtype, op = plan.device, plan.dtype, plan.op
    peak, meaning = peak_of(device, rows)
    simulated, nbytes = device.name == "simulated", units.bytes_text(rows[0]["nbytes"])
    limit, best = map(units.bandwidth_text, (limit_of(device, rows), peak))
    limits = ("read limit", f"{limit}, measured in this run"), ("share", f"of {best}, {meaning}")
    if op in ("sum", "prod"):
        published = ", as in the published ladders" if dtype == "int32" else ""
        op += f", accumulated in {dtype}{published}"
    console.pairs(
        ("array", f"{plan.sizes[0]:,} random {dtype} ({nbytes}), seed {plan.seed}"),
        ("op", op),
        ("device", device.name),
        *(SIMULATED_TIMES if simulated else limits),
    )
    first = next((row for row in rows if row["number"] is not None), rows[0])
    console.table(Table.of(columns_for(_columns(console, first, peak, device), device), rows))
    counts = [len(row["samples_ns"]) for row in rows]
    samples = " to ".join(map(str, sorted({min(counts), max(counts)})))
    about = f"time: median of {samples} samples, all passes; ±: half of the {record.SPREAD} over"
    faster = "" if simulated else f"; speed-up: over {first['method']}"
    console.text(f"{about} the median{faster}", "dim")
    _show_answers(console, rows)


def columns_for(columns: Sequence[Column], device: Any) -> list[Column]:
    """Drop columns that apply to GPUs only, for the simulated device."""
    return [c for c in columns if device.name != "simulated" or c.title not in _GPU_COLUMNS]


def _columns(console: Console, first: Record, peak: float, device: Any) -> list[Column]:
    """Return the table's columns; rows of another device, the host, have no share."""

    def own(title: str, text: Callable[[Record], str], **how: Any) -> Column:
        return Column(title, lambda row: text(row) if row["device"] == device.name else None, **how)

    def share(row: Record) -> float:
        return float(row["gb_per_s"] * 1e9 / peak)

    def name(row: Record) -> str:
        where = f" ({row['device']})" if row["device"] != device.name else ""
        return f"{row['method']}{where}"

    return [
        Column("#", itemgetter("number"), style="dim", rank=5),
        Column("method", name, right=False, style="bold"),
        Column("block", itemgetter("block_size"), style="dim", rank=6),
        *TIMES,
        own("share", lambda r: units.percent_text(share(r)), rank=2),
        own("", lambda r: console.bar(share(r), 18), right=False, style="cyan", rank=7),
        own("speed-up", lambda r: units.speedup_text(first["median_ns"] / r["median_ns"]), rank=3),
        Column("answer", lambda r: RIGHT if r["right"] else _WRONG, right=False),
    ]


def _show_answers(console: Console, rows: Sequence[Record], how: str = "") -> None:
    wrong = [row for row in rows if not row["right"]]
    console.line()
    if not wrong:
        verdict = f"all {len(rows)} answers right" if len(rows) > 1 else "the answer is right"
        console.text(verdict + how, "green")
    for row in wrong:
        within = f" within {row['bound']:.3g}" if row["bound"] else ""
        told = f"{row['result']} instead of {row['expected']}{within}"
        console.line(f"{row['method']}: {told}", "bold red")


def record_of(machine: Record, plan: Plan, rows: Sequence[Record]) -> Record:
    peak, meaning = peak_of(plan.device, rows)
    run = {
        "size": plan.sizes[0],
        **{name: getattr(plan, name) for name in ("dtype", "op", "seed")},
        "limit_gb_per_s": round(limit_of(plan.device, rows) * 1e-9, 3),
        "peak_gb_per_s": round(peak * 1e-9, 3),
        "peak": meaning,
        "spread": record.SPREAD,
    }
    kept = [{k: one for k, one in row.items() if k not in ("bound", "limit")} for row in rows]
    return record.make("ladder", machine, run, kept)


# ---- untimed runs ----

_RUNG_COLUMNS = (
    Column("#", style="dim", rank=4),
    Column("method", right=False, style="bold"),
    Column("launches", rank=7),
    Column("traffic", rank=1, about="bytes of global memory moved, divided by the array's"),
    Column("used", rank=5, about="requested bytes, divided by bytes moved by global loads"),
    Column("conflicts", rank=2, about="shared-memory bank conflicts"),
    Column("lanes", rank=3, about="active lanes per warp in additions, on average"),
    Column("barriers", rank=6, about="block barriers"),
    Column("predicted", about="from these counts, for an H200"),
    Column("measured", style="bold", about="on an H200"),
    Column("GB/s", rank=8),
    Column("", right=False, style="cyan", rank=9),
)


def _show_rungs(console: Console, settings: counters.Settings) -> None:
    """Count every rung, extrapolated to the array's size, and predict its time."""
    measured = roofline.packaged_times(settings)

    def rung_row(method: Any) -> tuple[list[str], str]:
        how = settings.block_size, settings.dtype, settings.size
        counted = prediction.counted(method.name, *how, H200)
        predicted = prediction.predict(counted, H200)
        total, time = counted.total, measured.get(method.name)
        pace = time and settings.nbytes / time
        cells = [
            str(method.number),
            method.name,
            str(len(counted.passes)),
            f"{counters.traffic(total) / settings.nbytes:.1f}x",
            units.optional(units.percent_text, total.global_load_efficiency),
            units.count_text(total.bank_conflicts),
            counters.lanes_text(total),
            units.count_text(total.block_barriers),
            units.time_text(predicted.seconds),
            units.optional(units.time_text, time),
            units.optional(units.gigabytes_text, pace),
            "-" if pace is None else console.bar(pace / H200.bandwidth, 8),
        ]
        return cells, f"{method.title}; {explain.limit(counted, predicted)}"

    rows, notes = zip(*console.each(settings.methods, rung_row), strict=True)
    filled = [{*cells} != {"-"} for cells in zip(*rows, strict=True)]
    gpu = ("GPU", f"{roofline.gpu_text(H200)}; times are the GPU's, not this machine's")
    pairs = [settings.array, gpu]
    times = sorted((time, method) for method, time in measured.items())
    if len(times) > 1:
        (best, last), (worst, first) = times[0], times[-1]
        paces = [units.bandwidth_text(settings.nbytes / time) for time in (worst, best)]
        climb = f"from {paces[0]} by {first} to {paces[1]} by {last}"
        pairs.append(("climb", f"{climb}: {units.speedup_text(worst / best)}, measured"))
    console.pairs(*pairs)
    console.table(Table(_RUNG_COLUMNS, rows, notes).where(filled))
