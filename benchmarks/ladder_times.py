"""Stores the H200's times of the ladder in the package, for `python -m gred` without a GPU.

python benchmarks/ladder_times.py      write python/gred/cli/h200.json from the kept results
"""

from pathlib import Path

from gred.cli import record

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "benchmarks" / "results" / "nvidia-h200" / "ladder.json"
PACKAGED = ROOT / "python" / "gred" / "cli" / "h200.json"

_FIELDS = ("number", "method", "block_size", "median_ns")


def text() -> str:
    """Return the file's text: a ladder's record of the rungs, without the samples."""
    kept = record.read_json(KEPT)
    rows = [{name: row[name] for name in _FIELDS} for row in kept["rows"]]
    machine = {"gred": kept["machine"]["gred"], "date": kept["machine"]["date"]}
    run = {name: kept["run"][name] for name in ("size", "dtype", "op")}
    return record.json_text({**kept, "machine": machine, "run": run, "rows": rows})


if __name__ == "__main__":
    PACKAGED.write_text(text(), encoding="utf-8")
