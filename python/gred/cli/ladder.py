"""Climbs the ladder of parallel reduction, and checks each answer against NumPy.

Every method runs on the same random array. On a GPU it shows how fast the kernels are beside what
the memory allows. Without one they run on the simulated device, and it shows what each rung does to
memory, what that takes on an H200, predicted and measured, and what limits it.

Sums and products accumulate in the array's own element type, int32 in int32, as the published
ladders do; gred.sum itself, like NumPy, adds int32 in int64. `recursive` always runs on the host,
`cub` only on a GPU.

The same over many array sizes and block sizes, with plots: python -m gred sweep --help
Beside other libraries: python -m gred versus --help
What each does to memory: python -m gred counters --help, python -m gred explain --help
Each drawn step by step: python -m gred show --help
Predicted times: python -m gred roofline --help
A rung of your own: python -m gred lab --help
What is wrong here, and what to do: python -m gred doctor --help
"""

import argparse
from collections.abc import Sequence
from typing import Any, NamedTuple

import gred
from gred import prediction
from gred.cli import counters, explain, options, output, record, roofline, units
from gred.cli.console import RIGHT, Cell, Column, Console, Table
from gred.cli.measure import Clock, Plan, Row, Sampling, measure_size
from gred.cli.options import option
from gred.cli.record import Record
from gred.counting import bank_conflicts
from gred.prediction import H200

_NEXT = """\
A rung's source with its counters: python -m gred explain shared_strided. Drawn step by step:
python -m gred show shared_strided. What the simulated device itself takes: python -m gred --time"""

# Elements that are run where nothing is timed, and those that are counted and predicted.
_CHECKED, _COUNTED = 1 << 16, 1 << 28

# What is said of the simulated device's times, and the columns that they do not have.
SIMULATED_TIMES = (("times", "this processor's, which simulates the GPU's threads: no GPU's"),)
_OF_A_GPU = ("GB/s", "share", "", "speed-up", "read limit")
FIGURE = "gred.cli.plots.ladder_figure"

# What the ladder and the sweep share.
COMMON = (
    option("--dtype"),
    option("--op"),
    option("--methods", "all that the device has"),
    option(
        "--device",
        "cuda, cuda:1, simulated or host (default: a GPU if there is one, else simulated)",
    ),
    option("--seed"),
)
OPTIONS = (
    option("--size", "2**28; 2**20 to time the simulated device"),
    *COMMON,
    option("--block-size", "each method's own"),
    option("--time"),
    option("--json", "write everything measured"),
    option("--plot", "it (.svg, .png, .pdf)"),
    option(
        "--version",
        "show gred's version and leave",
        action="version",
        version=f"gred {gred.__version__}",
    ),
)


def run(given: argparse.Namespace, console: Console) -> int:
    files = output.one_file_each(given, console, FIGURE)
    plan, taught = _plan(given)
    what = "the ladder of parallel reduction, climbed"
    machine = output.introduce(console, plan.device, what)
    rows = climb(plan, console)
    lessons = learn(taught, console) if taught else []
    files.write(record_of(machine, plan, rows))
    if taught:
        _show_lessons(console, taught, lessons)
        array = f"{plan.sizes[0]:,} random {plan.dtype}"
        _show_answers(console, rows, f": as NumPy's, for {array} on the simulated device")
        console.text(_NEXT, "dim")
    else:
        show(console, plan, rows)
    return files.end(0 if all(row.right for row in rows) else 1)


def choose_methods(wanted: tuple[Any, ...] | None, device: Any, host_too: bool) -> tuple[Any, ...]:
    """List the methods asked for, if the device has them, or else all that it has."""
    kind = device.name.partition(":")[0]
    kinds = {kind, "host"} if host_too or wanted else {kind}
    for method in wanted or ():
        if kinds.isdisjoint(method.devices):
            raise options.UsageError(
                f"{method.name!r} does not run on {device.name}, only on "
                f"{' and '.join(method.devices)}"
            )
        if not is_able(device, method):
            raise options.UsageError(
                f"{method.name!r} needs a GPU of compute capability {method.compute_capability} "
                f"or later, and kernels for it; {device.name} has {device.compute_capability}"
            )
    there = (m for m in gred.methods() if not kinds.isdisjoint(m.devices) and is_able(device, m))
    return wanted or tuple(there)


def is_able(device: Any, method: Any) -> bool:
    """Tell whether a GPU is late enough for a method, and gred built for such."""
    needed, here = method.compute_capability, device.compute_capability
    if needed is None or here is None:
        return True
    built: Any = gred.build_info()["architectures"]
    able = int(here.replace(".", ""))
    if "ptx" not in built:
        able = min(able, max(int(text.rstrip("af")) for text in built))
    return int(needed.replace(".", "")) <= able


def is_timed(given: argparse.Namespace, device: Any, files_named: bool) -> bool:
    """Tell whether times are asked for: the simulated device's are no GPU's, and not by default."""
    return device.name != "simulated" or given.time or files_named


def _plan(given: argparse.Namespace) -> tuple[Plan, counters.Settings | None]:
    """Say what to run, and what to tell of it where it is not timed."""
    device = options.resolve_device(given.device)
    fast = device.name.startswith("cuda")
    timed = is_timed(given, device, bool(given.json or given.plot))
    size = given.size or (1 << 28 if fast else 1 << 20)
    options.check_memory(device, size, given.dtype)
    methods = choose_methods(given.methods, device, host_too=timed)
    rungs = tuple(method for method in methods if method.number is not None)
    counted = given.size or _COUNTED
    taught = counters.Settings(rungs, counted, given.dtype, given.block_size)
    size = size if timed else min(counted, _CHECKED)
    sampling = Sampling(20, 2, None if fast else 0.5) if timed else Sampling(1, 0)
    cases = [(method, given.block_size) for method in methods]
    plan = Plan(device, cases, (size,), given.dtype, given.op, given.seed, sampling)
    return plan, None if timed or not rungs else taught


def climb(plan: Plan, console: Console) -> list[Row]:
    with console.progress(len(plan.cases) + 1) as step:
        return list(measure_size(plan, plan.sizes[0], Clock(None), step))


def peak_of(device: Any, rows: Sequence[Row]) -> tuple[float, str]:
    """Say what a share is of: the memory's own figure or, without one, the read limit."""
    if device.bandwidth:
        return float(device.bandwidth), "the memory's theoretical bandwidth"
    return limit_of(device, rows), "the read limit measured in this run"


def limit_of(device: Any, rows: Sequence[Row]) -> float:
    """Find what the device, or the host in its place, reads at best."""
    return next((row for row in rows if row.device == device.name), rows[0]).limit


def show(console: Console, plan: Plan, rows: Sequence[Row]) -> None:
    """Print what was measured of which array, and the verdict."""
    device, dtype, op = plan.device, plan.dtype, plan.op
    peak, meaning = peak_of(device, rows)
    simulated, nbytes = device.name == "simulated", units.bytes_text(rows[0].nbytes)
    limit = units.bandwidth_text(limit_of(device, rows))
    limits = (
        ("read limit", f"{limit}, measured in this run"),
        ("share", f"of {units.bandwidth_text(peak)}, {meaning}"),
    )
    if op in ("sum", "prod"):
        published = ", as in the published ladders" if dtype == "int32" else ""
        op += f", accumulated in {dtype}{published}"
    console.pairs(
        ("array", f"{plan.sizes[0]:,} random {dtype} ({nbytes}), seed {plan.seed}"),
        ("op", op),
        ("device", device.name),
        *(SIMULATED_TIMES if simulated else limits),
    )
    first = next((row for row in rows if row.number is not None), rows[0])
    columns = _columns(console, first, peak, device)
    console.table(Table.of(shown_of(columns, device), rows))
    few, many = min(len(r.samples) for r in rows), max(len(r.samples) for r in rows)
    samples = str(few) if few == many else f"{few} to {many}"
    console.text(
        f"time: median of {samples} samples, all passes; ±: half of the {record.SPREAD}, over the "
        f"median" + ("" if simulated else f"; speed-up: over {first.method}"),
        "dim",
    )
    _show_answers(console, rows)


def shown_of(columns: Sequence[Column], device: Any) -> list[Column]:
    """Leave out what there is of a GPU alone."""
    return [c for c in columns if device.name != "simulated" or c.title not in _OF_A_GPU]


def _columns(console: Console, first: Row, peak: float, device: Any) -> list[Column]:
    """Make the columns; what another device ran, the host, has no share."""

    def share(r: Row) -> float | None:
        return r.bandwidth / peak if r.device == device.name else None

    def faster(r: Row) -> str | None:
        return units.speedup_text(first.seconds / r.seconds) if r.device == device.name else None

    def name(r: Row) -> str:
        return r.method if r.device == device.name else f"{r.method} ({r.device})"

    return [
        Column("#", lambda r: r.number, style="dim", rank=5),
        Column("method", name, right=False, style="bold"),
        Column("block", lambda r: r.block_size, style="dim", rank=6),
        Column("time", lambda r: units.time_text(r.seconds)),
        Column("±", lambda r: units.percent_text(r.noise), style="dim", rank=4),
        Column("GB/s", lambda r: units.gigabytes_text(r.bandwidth), style="bold", rank=1),
        Column("share", lambda r: units.optional(units.percent_text, share(r)), rank=2),
        Column("", lambda r: console.bar(share(r) or 0, 18), right=False, style="cyan", rank=7),
        Column("speed-up", faster, rank=3),
        Column("answer", lambda r: RIGHT if r.right else Cell("WRONG", "bold red"), right=False),
    ]


def _show_answers(console: Console, rows: Sequence[Row], how: str = "") -> None:
    """Say the verdict, and for every wrong answer what it was and should have been."""
    wrong = [row for row in rows if not row.right]
    console.line()
    if not wrong:
        verdict = f"all {len(rows)} answers right" if len(rows) > 1 else "the answer is right"
        console.text(verdict + how, "green")
    for row in wrong:
        within = f" within {row.bound:.3g}" if row.bound else ""
        told = f"{row.result}, where NumPy has {row.expected}{within}"
        console.line(f"{row.method}: {told}", "bold red")


def record_of(machine: Record, plan: Plan, rows: Sequence[Row]) -> Record:
    peak, meaning = peak_of(plan.device, rows)
    run = {
        "size": plan.sizes[0],
        **{name: getattr(plan, name) for name in ("dtype", "op", "seed")},
        "limit_gb_per_s": round(limit_of(plan.device, rows) * 1e-9, 3),
        "peak_gb_per_s": round(peak * 1e-9, 3),
        "peak": meaning,
        "spread": record.SPREAD,
    }
    rest = {"result": "result", "expected": "expected", "samples_ns": "samples"}
    rest |= {"first_pass_samples_ns": "first_pass"}
    full = [row.summary() | {k: getattr(row, of) for k, of in rest.items()} for row in rows]
    return record.make("ladder", machine, run, full)


# ---- where nothing is timed ----


class Lesson(NamedTuple):
    method: Any
    counted: gred.Counters
    predicted: gred.Roofline
    measured: float | None

    def note(self) -> str:
        return f"{self.method.title}; {explain.limit(self.counted, self.predicted)}"

    def cells(self, nbytes: int, console: Console) -> list[str]:
        total, pace = self.counted.total, self.measured and nbytes / self.measured
        drawn = "-" if pace is None else console.bar(pace / H200.bandwidth, 8)
        return [
            str(self.method.number),
            self.method.name,
            str(len(self.counted.passes)),
            f"{counters.traffic(total) / nbytes:.1f}x",
            units.optional(units.percent_text, total.global_load_efficiency),
            units.count_text(bank_conflicts(total)),
            counters.lanes_text(total),
            units.count_text(total.block_barriers),
            units.time_text(self.predicted.seconds),
            units.optional(units.time_text, self.measured),
            units.optional(units.gigabytes_text, pace),
            drawn,
        ]


_LESSON_COLUMNS = (
    Column("#", style="dim", rank=4),
    Column("method", right=False, style="bold"),
    Column("launches", rank=7),
    Column("traffic", rank=1, about="of global memory, over the array's bytes"),
    Column("used", rank=5, about="bytes that lanes ask for, over bytes that global loads move"),
    Column("conflicts", rank=2, about="bank conflicts of shared memory"),
    Column("lanes", rank=3, about="of a warp's 32, active in the additions on average"),
    Column("barriers", rank=6, about="of blocks"),
    Column("predicted", about="from these counts, for an H200"),
    Column("measured", style="bold", about="on an H200"),
    Column("GB/s", rank=8),
    Column("", right=False, style="cyan", rank=9),
)


def learn(settings: counters.Settings, console: Console) -> list[Lesson]:
    """Count every rung on an array as long as it gets, and predict its time."""
    measured = roofline.packaged_times(settings)

    def lesson(method: Any) -> Lesson:
        launch = prediction.make_launch(method.name, settings.block_size, settings.dtype, H200)
        counted = prediction.counted(launch, settings.size)
        predicted = prediction.predict_counted(counted, H200)
        return Lesson(method, counted, predicted, measured.get(method.name))

    return console.each(settings.methods, lesson)


def _show_lessons(console: Console, settings: counters.Settings, lessons: Sequence[Lesson]) -> None:
    nbytes = settings.nbytes
    pairs = [
        settings.array,
        ("GPU", f"{roofline.gpu_text(H200)}; its times, not those of this machine"),
    ]
    times = sorted((one.measured, one.method.name) for one in lessons if one.measured)
    if len(times) > 1:
        ends = (f"{units.bandwidth_text(nbytes / t)} by {m}" for t, m in (times[-1], times[0]))
        climbed = units.speedup_text(times[-1][0] / times[0][0])
        pairs.append(("climb", f"from {' to '.join(ends)}: {climbed}, measured"))
    console.pairs(*pairs)
    rows = [lesson.cells(nbytes, console) for lesson in lessons]
    table = Table(_LESSON_COLUMNS, rows, [lesson.note() for lesson in lessons])
    console.table(table.where([{*column} != {"-"} for column in zip(*rows, strict=True)]))
