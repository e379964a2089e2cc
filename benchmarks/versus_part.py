"""The report of gred beside other libraries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from kept_results import Results
from report_plots import plots_of
from report_text import NOTHING, machine_text, markdown_table

from gred.cli import record, units
from gred.cli.outcome import Outcome, mean_ratio, outcomes, series, series_text, time_text
from gred.cli.record import Record


def versus_part(results: Results) -> str:
    """Show gred beside its peers, machine by machine."""
    parts = []
    for folder in results.folders:
        kept = results.read(folder, "versus.json")
        if kept:
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
    """Make a table of what was measured at the most sizes."""
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
    return f"Of {len(ratios)} cases with a peer, gred is ahead in {ahead}: {average} on average."
