"""How every job begins and ends: the machine it runs on, and the files it has written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gred
from gred.cli import files, record, units
from gred.cli.console import Console


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
