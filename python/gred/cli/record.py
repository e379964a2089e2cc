"""Records of runs, with the machine and rows of results, as JSON and CSV."""

import csv
import datetime
import hashlib
import io
import json
import os
import platform
import re
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import gred

Record = dict[str, Any]

SPREAD = "16th to 84th percentile"


def describe_machine(device: Any) -> Record:
    """Describe the machine: processor, device, driver, versions; no host name or addresses."""
    host = next(d for d in gred.devices() if d.name == "host")
    build: Record = gred.build_info()
    return {
        "device": device._asdict(),
        "processor": host.title,
        "cores": usable_cores(),
        "memory": host.memory,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "driver": driver_version(),
        "gred": gred.__version__,
        "cuda": build.get("cuda"),
        "architectures": list(build.get("architectures", ())),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
    }


def usable_cores() -> int:
    """Return the number of cores available to this process."""
    return len(os.sched_getaffinity(0))


def driver_version() -> str | None:
    with suppress(OSError):
        text = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
        if found := re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", text):
            return found[1]
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    with suppress(OSError, subprocess.SubprocessError):
        answer = subprocess.run(query, capture_output=True, text=True, timeout=10, check=True)
        return answer.stdout.split("\n")[0].strip() or None
    return None


def title(machine: Record) -> str:
    """Return the name of the measured device: the GPU, or the processor and device."""
    device = machine["device"]
    is_gpu = device["name"].startswith("cuda")
    return str(device["title"]) if is_gpu else f"{machine['processor']}, {device['name']}"


def slug(machine: Record) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", title(machine).lower())) or "machine"


def make(kind: str, machine: Record, run: Record, rows: Sequence[Any], **more: Any) -> Record:
    return {"kind": kind, "machine": machine, "run": run, **more, "rows": list(rows)}


def in_columns(kind: str, machine: Record, run: Record, rows: Sequence[Record]) -> Record:
    """Build a record of many rows with the same keys, which are stored once."""
    columns = list(rows[0]) if rows else []
    values = [list(row.values()) for row in rows]
    return make(kind, machine, {**run, "spread": SPREAD}, values, columns=columns)


def rows_of(record: Record) -> list[Record]:
    """Return rows as dictionaries; texts shared by many rows are stored once, in `texts`."""
    if "columns" not in record:
        return list(record["rows"])
    rows = [dict(zip(record["columns"], row, strict=True)) for row in record["rows"]]
    for name, texts in record.get("texts", {}).items():
        for row in rows:
            row[name] = texts[row[name]]
    return rows


def digits(value: float) -> float:
    return float(f"{value:.5g}")


def json_text(record: Record) -> str:
    """Format a record as JSON, with one line per row."""
    rows = [json.dumps(row, allow_nan=False) for row in record["rows"]]
    head = json.dumps({**record, "rows": []}, indent=1, allow_nan=False)
    body = ",\n  ".join(rows)
    return (head.replace('"rows": []', f'"rows": [\n  {body}\n ]') if rows else head) + "\n"


def write_json(path: Path, record: Record) -> None:
    path.write_text(json_text(record), encoding="utf-8")


def read_json(path: Path) -> Record:
    record: Record = json.loads(path.read_text(encoding="utf-8"))
    return record


def csv_text(record: Record) -> str:
    rows, text = rows_of(record), io.StringIO()
    names = [name for name in (rows[0] if rows else ()) if name != "samples_ns"]
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def digest(data: Any) -> str:
    """Return the digest that links a drawing to its data."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()
