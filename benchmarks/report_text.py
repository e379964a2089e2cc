"""What several parts of the report are written with: tables, sentences, a machine's description."""

from __future__ import annotations

from collections.abc import Sequence

from gred.cli import record, units
from gred.cli.record import Record

NOTHING = "*No results are kept yet.*"


def markdown_table(head: Sequence[str], aligned: str, rows: Sequence[Sequence[str]]) -> str:
    """Write a table; `aligned` has a letter a column, l or r."""
    rule = ["---:" if side == "r" else "---" for side in aligned]
    lines = [head, rule, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def sentence(text: str) -> str:
    """Begin with a capital letter."""
    return text[:1].upper() + text[1:]


def machine_text(machine: Record) -> str:
    """Describe a machine, its device and what it runs."""
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
