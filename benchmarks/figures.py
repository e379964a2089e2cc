"""Measures the figures that have targets, and reports which are met.

    python benchmarks/figures.py [--part gpu,arrays,...] [--out DIR]

`--help` lists the parts; some are divided into pieces, such as `--part host-types/sum` or
`host-types/sum/16MiB`. Results go to DIR/<machine>/figures.json (default: benchmarks/results),
where parts measured earlier on the same machine stay. The exit status is 1 if a target is missed
or a rung is slower than in the kept results.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from kept_results import RESULTS, place_of
from measures import (
    array_figures,
    axes_figures,
    call_figures,
    exact_figures,
    gpus_figures,
    host_figures,
    invariant_figures,
    key_figures,
    ladder_figures,
    list_figures,
    project_figures,
    reduction_figures,
    segments_figures,
    simulated_figures,
    statistics_figures,
    torch_figures,
    type_figures,
)
from measures.figure import Figure

from gred.cli import options, record

NO_SLOWER_THAN = 0.97
Pieces = dict[str, Callable[[], Iterator[Figure]]]


def pieces(part: str, measured: Pieces) -> Pieces:
    return {f"{part}/{piece}": measure for piece, measure in measured.items()}


def whole(part: str) -> str:
    return part.partition("/")[0]


GPU_PARTS: Pieces = {
    "gpu": ladder_figures.measure_gpu,
    "arrays": array_figures.measure_arrays,
    "reductions": reduction_figures.measure_reductions,
    "calls": call_figures.measure_calls,
    "torch": torch_figures.measure_on_gpu,
    "lists": list_figures.measure_lists,
    "keys": key_figures.measure_keys,
    "statistics": statistics_figures.measure_statistics,
    "invariant": invariant_figures.measure_invariant,
    "types": type_figures.measure_types,
    **pieces("axes", {**axes_figures.PIECES, **segments_figures.PIECES}),
    **pieces("exact", exact_figures.PIECES),
}
CPU_PARTS: Pieces = {
    "simulated": simulated_figures.measure_simulated,
    "import": project_figures.measure_import,
}
HOST_PARTS: Pieces = {
    **{f"host-{name}": partial(host_figures.measure, name) for name in host_figures.WORK},
    "host-transposed": array_figures.measure_transposed_on_host,
    "host-invariant": invariant_figures.measure_invariant_on_host,
    "host-keys": key_figures.measure_keys_on_host,
    "host-statistics": statistics_figures.measure_statistics_on_host,
}
PARTS: Pieces = {
    **GPU_PARTS,
    "gpus": gpus_figures.measure_gpus,
    **CPU_PARTS,
    **HOST_PARTS,
    **pieces("build", project_figures.PIECES),
    "tests": project_figures.measure_tests,
}
GROUPS = {
    name: tuple(dict.fromkeys(map(whole, parts)))
    for name, parts in (("cpu", CPU_PARTS), ("gpu", GPU_PARTS), ("host", HOST_PARTS))
}
NAMES = tuple(dict.fromkeys((*GROUPS, *map(whole, PARTS))))
REPEATED = ("part", "group")  # columns with few distinct texts, each stored once


def parse_parts(text: str) -> list[str]:
    """Return the named parts, all parts of `cpu`, `gpu` or `host`, and all pieces of parts."""
    parts: list[str] = []
    for name in text.split(","):
        for member in GROUPS.get(name, (name,)):
            found = [part for part in PARTS if f"{part}/".startswith(f"{member}/")]
            if not found:
                raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(NAMES)}")
            parts += [part for part in found if part not in parts]
    return parts


def kept_rungs(machine: record.Record) -> dict[str, float]:
    """Return the rungs' speeds in the kept results of the same machine."""
    path = RESULTS / record.slug(machine) / "figures.json"
    known = record.rows_of(record.read_json(path)) if path.exists() else []
    return {row["what"]: row["value"] for row in known if row["part"] == "gpu"}


def slower_rungs(before: dict[str, float], rows: Sequence[Figure]) -> Iterator[str]:
    for row in rows:
        was = before.get(row["what"], 0) if row["part"] == "gpu" else 0
        if row["value"] < NO_SLOWER_THAN * was:
            yield f"{row['what']}: {row['value']:.4g} {row['unit']}, and was {was:.4g}"


def write(folder: Path, machine: record.Record, part: str, rows: list[Figure]) -> Path:
    """Write a part's results to the machine's file, and keep those of other parts."""
    path = place_of(folder, machine, "figures.json")
    known: record.Record = {"machines": {}, "rows": []}
    if path.exists():
        known = record.read_json(path)
    kept = [row for row in record.rows_of(known) if row["part"] != part]
    kept += [{"part": part, **row} for row in rows]
    order = list(PARTS)
    merged = sorted(kept, key=lambda row: order.index(row["part"]))
    machines = {**known["machines"], whole(part): machine}
    machines = {name: machines[name] for name in NAMES if name in machines}
    texts = {}
    for name in REPEATED:
        found = dict.fromkeys(row.get(name) for row in merged)
        numbers = {text: number for number, text in enumerate(found)}
        merged = [{**row, name: numbers[row.get(name)]} for row in merged]
        texts[name] = list(numbers)
    columns = list(dict.fromkeys(column for row in merged for column in row))
    values = [[row.get(column) for column in columns] for row in merged]
    figures = {"kind": "figures", "machines": machines, "texts": texts, "columns": columns}
    record.write_json(path, {**figures, "rows": values})
    return path


def measured(part: str) -> Iterator[Figure]:
    """Measure a part; print and yield its rows, and print how long it took."""
    start = time.perf_counter()
    for row in PARTS[part]():
        verdict = {None: "", True: "  met", False: "  NOT MET"}[row["met"]]
        print(f"{shown(row)}{verdict}", flush=True)
        yield {"part": part, **row}
    print(f"{part}: {time.perf_counter() - start:.0f} s", flush=True)


def shown(row: Figure) -> str:
    target = row["at_least"] or row["at_most"]
    beside = f"  target {target:g}" if target else ""
    return f"{row['what']:<62} {row['value']:>9.4g} {row['unit']}{beside}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--part", type=parse_parts, help=f"from: {', '.join(NAMES)}")
    parser.add_argument("--out", type=Path, default=RESULTS, help="results folder")
    given = parser.parse_args()
    device = options.resolve_device(None)
    parts = given.part or parse_parts("gpu,cpu" if device.name.startswith("cuda") else "cpu")
    machine = record.describe_machine(device)
    before = kept_rungs(machine)
    rows: list[Figure] = []
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # sent at a job's time limit
    for part in parts:
        mine: list[Figure] = []
        try:
            mine.extend(measured(part))
        finally:  # keep what was measured before an error
            written = write(given.out, machine, part, mine)
        rows += mine
    print(f"wrote {written}")
    slower = list(slower_rungs(before, rows))
    for line in slower:
        print(f"SLOWER  {line}")
    missed = [row for row in rows if row["met"] is False]
    print(f"{len(missed)} of {sum(row['met'] is not None for row in rows)} targets not met")
    for row in missed:
        print(f"NOT MET  {shown(row)}")
    return 1 if slower or missed else 0


if __name__ == "__main__":
    sys.exit(main())
