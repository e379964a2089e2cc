"""Writes what the kept results and the table of reductions say into README.md, and draws plots.

    python benchmarks/report.py            rewrite README.md and redraw what changed
    python benchmarks/report.py --check    exit status 1 if they disagree with the results

A part of README.md stands between `<!-- generated: NAME -->` and `<!-- end: NAME -->`. A plot holds
the digest of the data it shows, so a check needs no drawing.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import curve
import exact_figures

import gred
from gred.cli import record, units
from gred.cli.outcome import Outcome, mean_ratio, outcomes, series, series_text
from gred.cli.record import Record

ROOT = Path(__file__).resolve().parent.parent
NOTHING = "*No results are kept yet.*"
MARKED = re.compile(r"(<!-- generated: (\w+) -->\n)(.*?)(<!-- end: \2 -->)", re.DOTALL)

# Results file, or a part of the figures' file: the plots of it, by module and name of the function
# that draws them.
PLOTS = {
    "ladder.json": {"ladder": "gred.cli.plots.ladder_figure"},
    "sweep.json": {
        "bandwidth": "gred.cli.plots.bandwidth_figure",
        "block_size": "gred.cli.plots.block_size_figure",
        "time": "gred.cli.plots.time_figure",
    },
    "roofline.json": {"roofline": "gred.cli.roofline_plot.roofline_figure"},
    "curve.json": {"cost": "curve.cost_figure"},
    "versus.json": {
        "versus_time": "gred.cli.versus_plots.time_figure",
        "versus_ratio": "gred.cli.versus_plots.ratio_figure",
    },
    "figures.json/axes": {"axes": "axes_plot.heat_figure"},
    "figures.json/exact": {"exact": "exact_plot.speed_figure"},
}
TIMES = ("predicted", "measured")
FITTED = {
    "start": "the events that measure",
    "launch": "a pass's launch",
    "block_interval": "from one block's start to the next one's",
    "block_life": "a block's beginning and end",
    "memory_latency": "a load from memory, among many",
    "cache_latency": "one from L2",
    "request_cycles": "a warp's request to global memory, with the instructions around it",
    "arrival": "a warp's arrival at a barrier",
}
CAPTIONS = {
    "ladder": "The ladder: bandwidth of every method, beside the read limit",
    "bandwidth": "Bandwidth over array size",
    "block_size": "Bandwidth over block size",
    "time": "Kernel time over array size",
    "roofline": "The roofline, and every rung's predicted time beside its measured one",
    "cost": "What a sum costs over its size: points, fits and the best plain read",
    "versus_time": "Time of a whole call over array size, every library",
    "versus_ratio": "How many times faster than the best peer, every case",
    "axes": "Along axes: how many times faster than the best peer, and what share of the limit",
    "exact": "Bandwidth of whole calls over array size: exact sums, fast ones and other libraries",
}


class Results:
    """The kept results: a folder a machine."""

    def __init__(self, folder: Path, readme: Path) -> None:
        self.readme = readme
        self.folders = sorted(path for path in folder.glob("*") if path.is_dir())

    def read(self, folder: Path, name: str) -> Record | None:
        """Read one file of one machine, or one part of its figures, if it is kept."""
        name, _, part = name.partition("/")
        path = folder / name
        kept = record.read_json(path) if path.exists() else None
        return _only(kept, part) if kept and part else kept

    def shown(self) -> Path | None:
        """Find the machine whose ladder README.md shows: one with a GPU before any other."""
        ladders = [(f, self.read(f, "ladder.json")) for f in self.folders]
        found = [(f, kept) for f, kept in ladders if kept]
        found.sort(key=lambda pair: not pair[1]["machine"]["device"]["name"].startswith("cuda"))
        return found[0][0] if found else None

    def link(self, path: Path) -> str:
        """Name `path` as README.md does."""
        try:
            return path.relative_to(self.readme.parent).as_posix()
        except ValueError:
            return path.as_posix()


def _only(kept: Record, part: str) -> Record | None:
    """Take a part of the figures, all its pieces together."""
    rows = [row for row in record.rows_of(kept) if _part(row) == part]
    return {"machine": kept["machines"][part], "rows": rows} if rows else None


def _part(row: Record) -> str:
    return str(row["part"]).partition("/")[0]


def ladder_part(results: Results) -> str:
    """Show the ladder as a table: what each method's idea is, and what it brought."""
    folder = results.shown()
    kept = results.read(folder, "ladder.json") if folder else None
    if not kept:
        return NOTHING
    run, rows = kept["run"], {row["method"]: row for row in record.rows_of(kept)}
    limit = run["limit_gb_per_s"]
    first = next((row for row in rows.values() if row["number"] is not None), None)
    table = []
    for method in gred.methods():
        row = rows.get(method.name)
        names = " or ".join(f"`{name}`" for name in (method.name, *method.aliases))
        number = "" if method.number is None else str(method.number)
        table.append(
            [number, names, f"{method.title}: {method.idea}", *_measured(row, first, limit)]
        )
    head = ["#", "method", "the idea", "time", "GB/s", "of the read limit", "speed-up"]
    what = f"{run['op']} of {units.size_text(run['size'])} {run['dtype']}"
    below = (
        f"{_sentence(what)} in {run['dtype']} on one {record.title(kept['machine'])}, all "
        f"passes, medians. The read limit, {units.bandwidth_text(limit * 1e9)}, is the fastest "
        "that kernels which only read were in the same run; the speed-up is over "
        f"`{first['method'] if first else ''}`."
    )
    return _table(head, "rllrrrr", table) + "\n\n" + below


def _measured(row: Record | None, first: Record | None, limit: float) -> list[str]:
    if row is None or first is None:
        return ["-"] * 4
    here = row["device"] == first["device"]
    return [
        units.time_text(row["median_ns"] * 1e-9),
        units.gigabytes_text(row["gb_per_s"] * 1e9),
        units.percent_text(row["gb_per_s"] / limit) if here else "-",
        units.speedup_text(first["median_ns"] / row["median_ns"]) if here else "on the host",
    ]


def machine_part(results: Results) -> str:
    """Describe the machine that the ladder was climbed on."""
    folder = results.shown()
    kept = results.read(folder, "ladder.json") if folder else None
    return _machine(kept["machine"]) if kept else NOTHING


def _machine(machine: Record) -> str:
    device = machine["device"]
    words = [f"**{record.title(machine)}**"]
    if device["compute_capability"]:
        words.append(f"compute capability {device['compute_capability']}")
        words.append(f"{device['units']} multiprocessors")
        words.append(units.bytes_text(device["memory"]))
    if device["l2_cache"]:
        words.append(f"{units.bytes_text(device['l2_cache'])} of L2 cache")
    if device["bandwidth"]:
        words.append(f"{units.bandwidth_text(device['bandwidth'])} in theory")
    if device["name"].startswith("cuda"):
        words.append(f"in a machine with {machine['cores']} cores of {machine['processor']}")
    else:
        words.append(f"{machine['cores']} cores")
    versions = [f"{name} {machine[name.lower()]}" for name in ("Python", "NumPy")]
    versions.insert(0, machine["system"])
    if machine["cuda"]:
        versions.append(f"CUDA {machine['cuda']}")
    if machine["driver"]:
        versions.append(f"driver {machine['driver']}")
    return f"{', '.join(words)}; {', '.join(versions)}; measured {machine['date'][:10]}."


def reductions_part(_: Results) -> str:
    """List the reductions that there are; those of the ladder run by every method."""
    rows = [
        [f"`{reduction.name}`", reduction.summary, "yes" if reduction.on_ladder else ""]
        for reduction in gred.reductions()
    ]
    return _table(["reduction", "what it is", "every rung"], "lll", rows)


def plots_part(results: Results) -> str:
    """Show the plots of the machine whose ladder is shown."""
    folder = results.shown()
    if not folder:
        return NOTHING
    sources = [name for name in ("ladder.json", "sweep.json") if (folder / name).exists()]
    return "\n\n".join(_plots(results, folder, source) for source in sources)


def _plots(results: Results, folder: Path, source: str) -> str:
    lines = [
        f"![{CAPTIONS[name]}]({results.link(folder / 'plots' / f'{name}.svg')})"
        for name in PLOTS[source]
    ]
    return "\n\n".join(lines)


def versus_part(results: Results) -> str:
    """Show gred beside its peers, machine by machine."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "versus.json")
        if kept:
            found = outcomes(record.rows_of(kept))
            shown = (_machine(kept["machine"]), _versions(kept), _over_sizes(kept, found))
            parts += [*shown, _summed_up(found), _plots(results, folder, "versus.json")]
    return "\n\n".join(parts) or NOTHING


def _versions(kept: Record) -> str:
    libraries = kept["run"]["libraries"].values()
    peers = [f"{lib['title']} {lib['version']}" for lib in libraries if not lib["ours"]]
    floor = kept["run"]["floor_ns"]
    words = f"Peers: {', '.join(peers)}."
    if floor:
        words += f" Latency floor: {units.time_text(floor * 1e-9)} ({kept['run']['floor']})."
    return words


def _over_sizes(kept: Record, found: Sequence[Outcome]) -> str:
    """Make a table of what was measured at the most sizes."""
    counts = Counter(series(one.case) for one in found)
    if not counts:
        return NOTHING
    name = max(counts, key=lambda each: counts[each])
    libraries = kept["run"]["libraries"]
    head = [series_text(name), *(lib["title"] for lib in libraries.values()), "best peer over gred"]
    table = []
    for one in (one for one in found if series(one.case) == name):
        times = [_time(one.row(key)) for key in libraries]
        ratio = "-" if one.ratio is None else units.speedup_text(one.ratio)
        table.append([one.case["extent"], *times, ratio])
    return _table(head, "l" + "r" * (len(head) - 1), table)


def _time(row: Record | None) -> str:
    if not row or row["median_ns"] is None:
        return "-"
    return units.time_text(row["median_ns"] * 1e-9) + ("" if row["right"] else ", wrong")


def _summed_up(found: Sequence[Outcome]) -> str:
    ratios = [one.ratio for one in found if one.ratio is not None]
    ahead = sum(ratio >= 1 for ratio in ratios)
    average = units.speedup_text(mean_ratio(found) or 0)
    return f"Of {len(ratios)} cases with a peer, gred is ahead in {ahead}: {average} on average."


def curve_part(results: Results) -> str:
    """Show what a sum costs over its size, machine by machine: the fits, and what is above them."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "curve.json")
        if kept:
            shown = (_machine(kept["machine"]), _fits(kept), _plots(results, folder, "curve.json"))
            parts += [*shown, _above_the_fits(kept), _beyond_reading(record.rows_of(kept))]
    return "\n\n".join(parts) or NOTHING


def _fits(kept: Record) -> str:
    rows = record.rows_of(kept)
    fits = "; ".join(
        f"{curve.KINDS[kind]} {curve.formula(fit)}" for kind, fit in curve.fits_of(rows).items()
    )
    return (
        f"Sum of n {kept['run']['dtype']}, n = 1, 2, 4, ... {units.size_text(rows[-1]['n'])}: "
        f"{fits}. Fitted with the least sum of relative errors; all measured in one run."
    )


def _above_the_fits(kept: Record) -> str:
    """List the points too far above their fit, beside how far reading alone is above its own."""
    rows = record.rows_of(kept)
    fits = curve.fits_of(rows)
    reading = fits.pop("limit_ns")
    table = []
    for kind, row in ((kind, row) for kind in fits for row in rows):
        excess = curve.excess(fits[kind], row, kind)
        share = excess / fits[kind].seconds(row["nbytes"])
        if share > curve.TOLERANCE:
            of_reading = max(0.0, curve.excess(reading, row, "limit_ns") / excess)
            point = f"{curve.KINDS[kind]}, {units.bytes_text(row['nbytes'])}"
            measured = units.time_text(row[kind] * 1e-9)
            shares = units.percent_text(share), units.percent_text(of_reading)
            table.append([point, f"{row['grid']:,}", measured, *shares])
    tolerance = units.percent_text(curve.TOLERANCE)
    if not table:
        return f"No point is more than {tolerance} above its fit."
    head = ["point", "blocks", "measured", "above its fit", "of which reading is above its own"]
    return f"Points more than {tolerance} above their fit:\n\n" + _table(head, "lrrrr", table)


def _beyond_reading(rows: Sequence[Record]) -> str:
    """Tell what a device needs beside reading, in one block and in several."""
    needed: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        needed[row["grid"] > 1].append((row["device_ns"] - row["limit_ns"]) * 1e-9)
    texts = [
        f"{units.time_text(max(0.0, statistics.median(seconds)))} where there {blocks}"
        for blocks, seconds in (("is one block", needed[False]), ("are several", needed[True]))
        if seconds
    ]
    return f"Device time beyond the best plain read's, medians: {', '.join(texts)}."


def roofline_part(results: Results) -> str:
    """Set the predicted time of every rung beside the measured one, machine by machine."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "roofline.json")
        if kept:
            shown = (_predictions(record.rows_of(kept)), _errors(kept), _fitted(kept))
            parts += [*shown, _plots(results, folder, "roofline.json")]
    return "\n\n".join(parts) or NOTHING


def _predictions(rows: Sequence[Record]) -> str:
    table = []
    for row in rows:
        predicted, measured = (units.time_text(row[f"{k}_ns"] * 1e-9) for k in TIMES)
        error = f"{100 * _error(row):+.0f} %"
        rung = [str(row["number"]), f"`{row['method']}`", str(row["block_size"])]
        table.append([*rung, predicted, measured, error, row["limit"]])
    head = ["#", "method", "block", "predicted", "measured", "error", "bound by"]
    return _table(head, "rlrrrrl", table)


def _error(row: Record) -> float:
    return float(row["predicted_ns"] / row["measured_ns"] - 1)


def _errors(kept: Record) -> str:
    run, numbers = kept["run"], len(kept["fitted"])
    own = [abs(_error(row)) for row in record.rows_of(kept)]
    ladder = {"median": statistics.median(own), "most": max(own)}
    array = f"{run['op']} of {units.size_text(run['size'])} {run['dtype']} in {run['dtype']}"
    return (
        f"{_sentence(array)} on one {record.title(kept['machine'])}, all passes: "
        f"{_how_far(ladder)}. The {numbers} fitted numbers come from {kept['seen']['points']} "
        f"points of the sweep over sizes and block sizes ({_how_far(kept['seen'])}) and hold for "
        f"its {kept['unseen']['points']} other points, too ({_how_far(kept['unseen'])})."
    )


def _fitted(kept: Record) -> str:
    gpu = kept["gpu"]
    texts = [f"{FITTED[name]}, {_amount(name, gpu[name])}" for name in kept["fitted"]]
    return f"Fitted, by `benchmarks/roofline.py --fit`: {'; '.join(texts)}."


def _amount(name: str, value: float) -> str:
    return f"{value:.3g} cycles" if name.endswith("cycles") else units.time_text(value)


def _how_far(errors: Record) -> str:
    median, most = (units.percent_text(errors[name]) for name in ("median", "most"))
    return f"median error {median}, at most {most}"


def figures_part(results: Results) -> str:
    """List what was promised in figures and what was measured, machine by machine."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "figures.json")
        if kept:
            machine = next(iter(kept["machines"].values()))
            rows = [row for row in record.rows_of(kept) if _part(row) != "axes"]
            single = [row for row in rows if not row.get("group")]
            grouped = [row for row in rows if row.get("group")]
            parts.append(f"{record.title(machine)}, {machine['cores']} cores:")
            parts += [_figures(single), *(_groups(grouped) if grouped else ())]
    return "\n\n".join(parts) or NOTHING


def _figures(rows: Sequence[Record]) -> str:
    table = []
    for row in rows:
        if row["kept"] is None and row["published"] is None:
            continue
        published = "-" if row["published"] is None else f"{row['published']:.3g}"
        verdict = {None: "-", True: "yes", False: "**no**"}[row["kept"]]
        table.append([row["what"], _value(row), published, _promise(row), verdict])
    return _table(["what", "measured", "to compare", "promised", "kept"], "lrrrl", table)


def _value(row: Record) -> str:
    return f"{row['value']:.3g} {row['unit']}"


def _promise(row: Record) -> str:
    if row["at_least"] is not None:
        return f"at least {row['at_least']:.3g}"
    return "-" if row["at_most"] is None else f"at most {row['at_most']:.3g}"


def _groups(rows: Sequence[Record]) -> Iterator[str]:
    """Tell promises that hold for many cases each, then every case that falls short of its own."""
    yield _groups_table(rows)
    short = [row for row in rows if row["kept"] is False]
    if short:
        listed = [[row["what"], _value(row), _promise(row)] for row in short]
        yield f"Short of their promise, {len(short)} cases:"
        yield _table(["what", "measured", "promised"], "lrr", listed)


def _groups_table(rows: Sequence[Record]) -> str:
    """Tell every group by its worst case, and how many are kept."""
    groups: dict[tuple[str, str], list[Record]] = {}
    for row in rows:
        groups.setdefault((row["group"], _promise(row)), []).append(row)
    table = []
    for (name, promise), mine in groups.items():
        worst = max if promise.startswith("at most") else min
        found = worst(mine, key=lambda row: row["value"])
        kept = sum(row["kept"] is True for row in mine)
        verdict = "all" if kept == len(mine) else f"**{kept} of {len(mine)}**"
        where = f"{_value(found)}: {found['what'].rpartition(': ')[0]}"
        table.append([name, str(len(mine)), promise, where, verdict if promise != "-" else "-"])
    return _table(["what", "cases", "promised", "worst", "kept"], "lrrll", table)


def axes_part(results: Results) -> str:
    """Show reductions along axes beside the limit and other libraries, if they are measured."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "figures.json/axes")
        if kept:
            rows = record.rows_of(kept)
            promised = [row for row in rows if row["kept"] is not None]
            held = sum(row["kept"] for row in promised)
            said = (
                f"Device time on one {record.title(kept['machine'])}, beside the time in which its "
                "memory could be read and written, and beside CuPy, PyTorch and, for some sums, "
                "JAX, all in the same run; of small arrays whole calls. Of what is promised, "
                f"{held} of {len(promised)} are kept."
            )
            grouped = [row for row in rows if row["group"]]
            parts += [said, _groups_table(grouped), _plots(results, folder, "figures.json/axes")]
    return "\n\n".join(["## Along axes", *parts]) if parts else ""


def exact_part(results: Results) -> str:
    """Show what sums other libraries make, and how fast exact ones are, if they are measured."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "figures.json/exact")
        if kept:
            said = (
                f"On one {record.title(kept['machine'])}: the same numbers, most of which cancel, "
                "in eight orders. The exact sum is that of Python's fractions; errors are in units "
                "in the last place of what it rounds to. "
                f"{_of_cub(record.rows_of(kept))}"
            )
            plots = _plots(results, folder, "figures.json/exact")
            parts += [said, _orders(record.rows_of(kept)), plots]
    return "\n\n".join(["## Exactly right", *parts, *_exactness_of_auto(results)]) if parts else ""


def _of_cub(rows: Sequence[Record]) -> str:
    """Say what CUB's sums are, if they were there."""
    if any(exact_figures.CUB in row["what"] for row in rows):
        return (
            "CUB's sums are its reproducible ones, `gpu_to_gpu`: rounded, but alike on every GPU."
        )
    return "CUB's reproducible sums, `gpu_to_gpu`, were not at hand."


def _exactness_of_auto(results: Results) -> Iterator[str]:
    """Say whether whole arrays' sums are exact by themselves, and what keeps them from it."""
    rows = [row for folder in results.folders for row in _exact_promises(results, folder)]
    short = [row for row in rows if not row["kept"]]
    held = f"{len(rows) - len(short)} of {len(rows)} are kept"
    if short:
        farthest = min(short, key=_share_of_promise)
        yield (
            '`method="auto"` adds floats of whole arrays exactly once all that is promised of '
            "exact sums is kept, on the GPU and on the host. "
            f"Of these figures {held}, so it stays fast. "
            f"The farthest from its promise, at {units.percent_text(_share_of_promise(farthest))} "
            f"of it, is: {farthest['what']}, {_value(farthest)} of {_promise(farthest)}."
        )
    else:
        yield f"Of the figures promised of exact sums, on the GPU and on the host, {held}."
    yield _groups_table(rows)


def _exact_promises(results: Results, folder: Path) -> Iterator[Record]:
    """List what is promised of exact sums and measured; what stands alone is a group of one."""
    kept = results.read(folder, "figures.json")
    for row in record.rows_of(kept) if kept else ():
        group = row.get("group") or row["what"]
        if row["kept"] is not None and "exact sum" in group:
            yield {**row, "group": group}


def _share_of_promise(row: Record) -> float:
    """Say what share of its promise a figure reaches, 1 where it is kept to a hair."""
    if row["at_least"] is not None:
        return float(row["value"] / row["at_least"])
    return float(row["at_most"] / row["value"])


def _orders(rows: Sequence[Record]) -> str:
    """Make the table of different sums and errors, a line for everybody who adds."""
    measured = {row["what"]: row["value"] for row in rows}
    head, lines = ["who adds"], {who: [who] for who in (*exact_figures.WHO.values(), "NumPy")}
    for dtype, (kind, short) in itertools.product(exact_figures.TYPES, exact_figures.ORDERS_TOLD):
        head.append(f"{dtype}: {short}")
        for who, line in lines.items():
            value = measured.get(f"{dtype} that cancel: {who}: {kind}")
            line.append("-" if value is None else f"{value:.3g}")
    told = [line for line in lines.values() if {*line[1:]} != {"-"}]
    return _table(head, "l" + "r" * (len(head) - 1), told)


def _table(head: Sequence[str], aligned: str, rows: Sequence[Sequence[str]]) -> str:
    rule = ["---:" if side == "r" else "---" for side in aligned]
    lines = [head, rule, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


PARTS = {
    "reductions": reductions_part,
    "ladder": ladder_part,
    "machine": machine_part,
    "plots": plots_part,
    "roofline": roofline_part,
    "curve": curve_part,
    "figures": figures_part,
    "axes": axes_part,
    "exact": exact_part,
    "versus": versus_part,
}


def filled(text: str, results: Results) -> str:
    """Renew every generated part of README.md's text."""
    found = [match[2] for match in MARKED.finditer(text)]
    for problem in (
        *(f"has no part {name!r}" for name in PARTS if name not in found),
        *(f"has a part {name!r} that nothing generates" for name in found if name not in PARTS),
    ):
        raise SystemExit(f"{results.readme.name} {problem}")
    made = {name: make(results) for name, make in PARTS.items()}
    return MARKED.sub(lambda match: f"{match[1]}{made[match[2]]}\n{match[4]}", text)


def stale_plots(results: Results) -> Iterator[tuple[Path, str, Record]]:
    """Find plots that are missing or show other data: where, drawn by what, from what."""
    for folder in results.folders:
        for source, names in PLOTS.items():
            kept = results.read(folder, source)
            for name, function in names.items() if kept else ():
                path = folder / "plots" / f"{name}.svg"
                mark = record.digest(kept).encode()
                if not path.exists() or mark not in path.read_bytes():
                    yield path, function, kept


def draw(path: Path, function: str, kept: Record) -> None:
    """Draw one plot."""
    from gred.cli import plots

    path.parent.mkdir(exist_ok=True)
    module, _, name = function.rpartition(".")
    figure = getattr(importlib.import_module(module), name)
    plots.save(figure(kept), path, kept)


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--check", action="store_true", help="change nothing, only compare")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results")
    given = parser.parse_args()
    results = Results(given.results.resolve(), given.readme.resolve())
    before = given.readme.read_text(encoding="utf-8")
    after = filled(before, results)
    stale = list(stale_plots(results))
    changed = [str(given.readme)] if before != after else []
    changed += [str(path) for path, _, _ in stale]
    if not given.check:
        for plot in stale:
            draw(*plot)
        given.readme.write_text(after, encoding="utf-8")
    for name in changed:
        print(f"{name} disagrees with the kept results" if given.check else f"wrote {name}")
    return 1 if given.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
