"""The report of what the roofline predicts of every rung, beside what was measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from kept_results import Results
from report_plots import plots_of
from report_text import NOTHING, markdown_table, sentence

from gred.cli import record, units
from gred.cli.record import Record

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


def roofline_part(results: Results) -> str:
    """Set the predicted time of every rung beside the measured one, machine by machine."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "roofline.json")
        if kept:
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
    array = f"{run['op']} of {units.size_text(run['size'])} {run['dtype']} in {run['dtype']}"
    return (
        f"{sentence(array)} on one {record.title(kept['machine'])}, all passes: "
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
