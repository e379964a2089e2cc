"""Report parts: the ladder, comparisons with libraries, predictions, and the cost of a sum."""

import statistics
from collections import Counter
from collections.abc import Sequence

import curve
from kept_results import NOTHING, Results, machine_text, markdown_table, plots_of, sentence
from roofline import FREE

import gred
from gred.cli import record, units
from gred.cli.cases import series_text
from gred.cli.record import Record
from gred.cli.versus import Outcome, mean_ratio, outcomes, series, time_text

TIMES = ("predicted", "measured")


def ladder_part(results: Results) -> str:
    """Show the ladder as a table of the methods' ideas and speeds."""
    found = results.shown()
    if not found:
        return NOTHING
    _, kept = found
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
        f"{sentence(what)}, accumulated in {run['dtype']}, on one {record.title(kept['machine'])}: "
        f"median times of all passes. The read limit, {units.bandwidth_text(limit * 1e9)}, is the "
        "bandwidth of the fastest read-only kernel in the same run; the speed-up is over "
        f"`{first['method'] if first else ''}`."
    )
    return markdown_table(head, "rllrrrr", table) + "\n\n" + below


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
    found = results.shown()
    return machine_text(found[1]["machine"]) if found else NOTHING


def plots_part(results: Results) -> str:
    found = results.shown()
    if not found:
        return NOTHING
    folder, _ = found
    sources = [name for name in ("ladder.json", "sweep.json") if (folder / name).exists()]
    return "\n\n".join(plots_of(results, folder, source) for source in sources)


def versus_part(results: Results) -> str:
    """Compare gred with its peers, for each machine."""
    parts = []
    for folder, kept in results.each("versus.json"):
        found = outcomes(record.rows_of(kept))
        shown = (machine_text(kept["machine"]), _versions(kept), _over_sizes(kept, found))
        parts += [*shown, _summed_up(found), plots_of(results, folder, "versus.json")]
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
    """Make a table of the case measured at the most sizes."""
    counts = Counter(series(one.case) for one in found)
    if not counts:
        return NOTHING
    name = max(counts, key=lambda each: counts[each])
    libraries = kept["run"]["libraries"]
    head = [series_text(name), *(lib["title"] for lib in libraries.values()), "best peer over gred"]
    table = []
    for one in (one for one in found if series(one.case) == name):
        times = [time_text(one.row(key)) for key in libraries]
        ratio = "-" if one.ratio is None else units.speedup_text(one.ratio)
        table.append([one.case["extent"], *times, ratio])
    return markdown_table(head, "l" + "r" * (len(head) - 1), table)


def _summed_up(found: Sequence[Outcome]) -> str:
    ratios = [one.ratio for one in found if one.ratio is not None]
    ahead = sum(ratio >= 1 for ratio in ratios)
    average = units.speedup_text(mean_ratio(found) or 0)
    return f"gred is faster in {ahead} of {len(ratios)} cases with a peer, {average} on average."


def roofline_part(results: Results) -> str:
    """Compare the predicted time of every rung with the measured one, for each machine."""
    parts = []
    for folder, kept in results.each("roofline.json"):
        shown = (_predictions(record.rows_of(kept)), _errors(kept), _fitted(kept))
        parts += [*shown, plots_of(results, folder, "roofline.json")]
    return "\n\n".join(parts) or NOTHING


def _predictions(rows: Sequence[Record]) -> str:
    table = []
    for row in rows:
        predicted, measured = (units.time_text(row[f"{k}_ns"] * 1e-9) for k in TIMES)
        error = f"{100 * _error(row):+.0f} %"
        rung = [str(row["number"]), f"`{row['method']}`", str(row["block_size"])]
        table.append([*rung, predicted, measured, error, row["limit"]])
    head = ["#", "method", "block", "predicted", "measured", "error", "bound by"]
    return markdown_table(head, "rlrrrrl", table)


def _error(row: Record) -> float:
    return float(row["predicted_ns"] / row["measured_ns"] - 1)


def _errors(kept: Record) -> str:
    run, numbers = kept["run"], len(kept["fitted"])
    own = [abs(_error(row)) for row in record.rows_of(kept)]
    ladder = {"median": statistics.median(own), "most": max(own)}
    array = f"{run['op']} of {units.size_text(run['size'])} {run['dtype']}"
    return (
        f"{sentence(array)}, accumulated in {run['dtype']}, on one "
        f"{record.title(kept['machine'])}, all passes: "
        f"{_how_far(ladder)}. The {numbers} parameters were fitted to {kept['seen']['points']} "
        f"points of the sweep over sizes and block sizes ({_how_far(kept['seen'])}); for its "
        f"{kept['unseen']['points']} other points: {_how_far(kept['unseen'])}."
    )


def _fitted(kept: Record) -> str:
    gpu = kept["gpu"]
    texts = [f"{FREE[name]}, {_amount(name, gpu[name])}" for name in kept["fitted"]]
    return f"Fitted, by `benchmarks/roofline.py --fit`: {'; '.join(texts)}."


def _amount(name: str, value: float) -> str:
    return f"{value:.3g} cycles" if name.endswith("cycles") else units.time_text(value)


def _how_far(errors: Record) -> str:
    median, most = (units.percent_text(errors[name]) for name in ("median", "most"))
    return f"median error {median}, at most {most}"


# ---- the cost of a sum ----


def curve_part(results: Results) -> str:
    """Show the cost of a sum by size, for each machine: the fits, and the points above them."""
    parts = []
    for folder, kept in results.each("curve.json"):
        plots = plots_of(results, folder, "curve.json")
        parts += [machine_text(kept["machine"]), _fits(kept), plots]
        parts += [_above_the_fits(kept), _beyond_reading(record.rows_of(kept))]
    return "\n\n".join(parts) or NOTHING


def _fits(kept: Record) -> str:
    rows = record.rows_of(kept)
    fits = "; ".join(
        f"{curve.KINDS[kind]} {curve.formula(fit)}" for kind, fit in curve.fits_of(rows).items()
    )
    return (
        f"Sum of n {kept['run']['dtype']}, n = 1, 2, 4, ... {units.size_text(rows[-1]['n'])}: "
        f"{fits}. The fits minimize the sum of relative errors; all points are from one run."
    )


def _above_the_fits(kept: Record) -> str:
    """List the points far above their fit, and how much of this reading alone explains."""
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
    head = ["point", "blocks", "measured", "above its fit", "share due to reading"]
    return f"Points more than {tolerance} above their fit:\n\n" + markdown_table(
        head, "lrrrr", table
    )


def _beyond_reading(rows: Sequence[Record]) -> str:
    """Report the device time beyond reading, for one block and for several."""
    needed: dict[bool, list[float]] = {True: [], False: []}
    for row in rows:
        needed[row["grid"] > 1].append((row["device_ns"] - row["limit_ns"]) * 1e-9)
    texts = [
        f"{units.time_text(max(0.0, statistics.median(seconds)))} with {blocks}"
        for blocks, seconds in (("one block", needed[False]), ("several", needed[True]))
        if seconds
    ]
    return f"Median device time beyond that of the best plain read: {', '.join(texts)}."
