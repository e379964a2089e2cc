"""How jobs begin and end: where results go, the machine, and the files that were written."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gred
from gred.cli import files, options, record, units
from gred.cli.console import Console


def check_places(given: argparse.Namespace, console: Console) -> None:
    """Refuse a --json and a --plot that cannot be written, before any work."""
    json, plot = given.json, getattr(given, "plot", None)
    files.check_apart({"--json": json, "--plot": plot})
    options.check_plot("--plot", plot)
    files.check_file("--json", json)
    files.check_file("--plot", plot)
    if json == files.STANDARD_OUTPUT:
        console.leave_stdout()


def write(
    given: argparse.Namespace,
    kept: record.Record,
    console: Console,
    figure: Callable[[], Any] | None = None,
) -> tuple[list[Path], OSError | None]:
    """Write a record where --json says, and draw it where --plot does, by what `figure` finds."""
    jobs = []
    if given.json:
        jobs.append(files.text_job(given.json, lambda: record.json_text(kept), console.stdout))
    if figure and given.plot:
        jobs.append(files.Job(given.plot, lambda: draw(figure, given.plot, kept)))
    return files.write_all(jobs)


def draw(figure: Callable[[], Any], path: Path, kept: record.Record) -> None:
    """Draw a record by what `figure` finds; matplotlib is only imported now."""
    from gred.cli import plots

    plots.save(figure()(kept), path, kept)


def introduce(console: Console, machine: record.Record, what: str) -> None:
    """Name the machine and its devices."""
    versions = [f"{name} {machine[name.lower()]}" for name in ("gred", "Python", "NumPy")]
    if machine["cuda"]:
        versions.append(f"CUDA {machine['cuda']}")
    if machine["driver"]:
        versions.append(f"driver {machine['driver']}")
    cores = f"{machine['cores']} core{'s' * (machine['cores'] != 1)}"
    memory = units.bytes_text(machine["memory"])
    pairs = [
        ("machine", f"{machine['processor']}, {cores}, {memory}"),
        ("", f"{machine['system']}; {', '.join(versions)}"),
    ]
    for device in gred.devices():
        pairs.append(("" if len(pairs) > 2 else "devices", _device_text(device)))
    console.title(f"gred: {what}")
    console.pairs(pairs)


def _device_text(device: Any) -> str:
    if device.name == "host":
        return "host: plain C on the processor"
    if device.name == "simulated":
        return "simulated: the GPU's kernels, thread by thread on the processor"
    parts = [
        f"{device.name}: {device.title}",
        f"{device.units} multiprocessors",
        units.bytes_text(device.memory),
    ]
    if device.bandwidth:
        parts.append(units.bandwidth_text(device.bandwidth))
    return ", ".join(parts)


def tell_written(console: Console, written: Sequence[Path], failure: OSError | None) -> None:
    """Name the files there are now; why one is not there comes last, as the command's error."""
    for path in written:
        if path != files.STANDARD_OUTPUT:
            console.line(f"wrote {path}")
    if failure:
        raise failure
