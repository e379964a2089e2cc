"""Every constant that launches rest on names the measurement that it follows from."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "benchmarks/tuning"
# Of the rows in schedule/schedule.c and steps.c, and of the host's loops, not of those constants.
OF_TABLES = {"whole_arrays", "host"}


def entries():
    """List all measurements as file/entry, with what each has."""
    return {
        f"{path.stem}/{name}": entry
        for path in sorted(MEASURED.glob("*.json"))
        for name, entry in json.loads(path.read_text())["entries"].items()
    }


def constants():
    """List (constant, entry) of the table of constants."""
    text = (ROOT / "csrc/schedule/tuning.def").read_text()
    return re.findall(r'^[A-Z_]+\((\w+), [^"]*, "([\w/]+)"\)', text, re.MULTILINE)


def test_every_constant_names_a_measurement():
    assert len(constants()) > 30
    assert {entry for _, entry in constants()} <= entries().keys()


def test_every_measurement_is_one_of_a_constant():
    named = {entry for _, entry in constants()}
    left = {entry for entry in entries().keys() - named if entry.split("/")[0] not in OF_TABLES}
    assert left == set()


def test_every_measurement_is_a_table():
    for name, entry in entries().items():
        assert entry["unit"] in ("us", "1"), name
        assert entry["rows"], name
        widths = {len(row) for row in entry["rows"].values()}
        assert max(widths) == len(entry["columns"]), name
