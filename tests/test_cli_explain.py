"""`python -m gred explain METHOD` shows a rung's source, counts, limits and neighbours."""

import functools
from pathlib import Path

import numpy as np
import pytest

import gred
from gred.cli import explain, record, units

pytestmark = pytest.mark.unsanitized

KERNELS = Path(__file__).parent.parent / "kernels"
RUNGS = [m.name for m in gred.methods() if m.number is not None]
SMALL = ("--size", "5000", "--block-size", "128")


@pytest.fixture
def command(command):
    """Run `python -m gred explain`, as the fixture of all commands does."""
    return functools.partial(command, "explain")


def counted(rung, size=5000, block_size=128):
    x = np.ones(size, np.int32)
    return gred.counters(x, method=rung, block_size=block_size, dtype=np.int32)


@pytest.mark.parametrize("rung", RUNGS)
def test_the_source_is_shown_with_the_counts_of_its_lines(command, rung):
    status, out, _ = command(rung, *SMALL)
    assert status == 0
    shown = out.splitlines()
    (own,) = KERNELS.glob(f"ladder/[0-9][0-9]_{rung}.cuh")
    for number, text in enumerate(own.read_text(encoding="utf-8").splitlines(), 1):
        assert f"  {number:>4}  {text}".rstrip() in shown
    for line in counted(rung).total.lines:
        text = (KERNELS / line.file).read_text(encoding="utf-8").splitlines()[line.number - 1]
        place = shown.index(f"  {line.number:>4}  {text}", shown.index(f"  kernels/{line.file}"))
        beneath = []
        while shown[place + 1].startswith("     ->"):
            place += 1
            beneath.append(shown[place])
        assert f"     ->  {explain.told(line)}" in beneath


def test_what_a_line_does_is_told_in_words():
    lines = {line.event: line for line in counted("shared_strided", 2**10, 256).passes[0].lines}
    load = [line for line in counted("shared_strided", 2**10, 256).passes[0].lines]
    (load,) = (line for line in load if line.event == "shared_load" and line.conflicts)
    told = "96 shared loads in 376 wavefronts, 280 of them conflicts; 21.2 lanes"
    assert explain.told(load) == told
    assert explain.told(lines["global_load"]) == "32 loads in 128 sectors; 32.0 lanes"
    assert explain.told(lines["merge"]) == "48 additions; 21.2 lanes"


@pytest.mark.parametrize(
    ("rung", "words"),
    [
        ("neighbored", ["12.0 times the array", "25 % of the loaded bytes", "5.4 of 32 lanes"]),
        ("neighbored_less", ["12.0 times the array", "25 % of the loaded bytes"]),
        ("shared_modulo", ["18.8 shared-memory wavefronts per", "5.4 of 32 lanes"]),
        ("shared_strided", ["70 % of shared-memory wavefronts are bank conflicts"]),
        ("halving", ["16 dependent launches"]),
        (
            "shared_sequential",
            ["a block barrier every 28 elements", "128 bytes in flight per warp"],
        ),
        ("shuffle", ["256 bytes in flight per warp"]),
        ("shuffle_vector", []),
        ("last_block", []),
    ],
)
def test_what_limits_a_rung_follows_from_its_counts(command, rung, words):
    limits = list(explain.limits(counted(rung, 2**16, 256)))
    for text in words:
        assert any(text in limit for limit in limits)
    assert bool(limits) == bool(words)
    _, out, _ = command(rung, "--size", "2**16")
    for limit in limits or [explain.FREE]:
        assert limit in out


@pytest.mark.parametrize("rung", ["neighbored", "shared_sequential"])
def test_the_time_of_a_rung_is_predicted(command, rung):
    _, out, _ = command(rung, "--size", "5000", "--block-size", "32")
    (line,) = (line for line in out.splitlines() if "  predicted " in line)
    told = gred.roofline(2**28, method=rung, block_size=32, dtype="int32")
    words = f"{units.time_text(told.seconds)} for 2^28 elements on one NVIDIA H200, bound by"
    assert line.split("predicted")[1].strip() == f"{words} {told.why()}"


@pytest.mark.parametrize(
    ("rung", "near"),
    [
        ("halving", ["halving", "neighbored"]),
        ("13", ["shared_strided", "shared_sequential", "shared_first_add"]),
        ("cluster", ["bulk", "cluster"]),
    ],
)
def test_neighbours_stand_beside_it(command, rung, near):
    _, out, _ = command(rung, *SMALL)
    lines = out.splitlines()
    (head,) = (line for line in lines if line.split() == ["all", "passes", *near])
    rows = lines[lines.index(head) + 2 :]
    totals = [counted(name).total for name in near]
    loads = [f"{total.global_load_sectors:,}" for total in totals]
    assert any(row.split() == ["global", "load", "sectors", *loads] for row in rows)
    conflicts = [t.shared_load_conflicts + t.shared_store_conflicts for t in totals]
    shown = [row.split()[2:] for row in rows if "bank conflicts" in row]
    assert shown == ([[f"{n:,}" for n in conflicts]] if any(conflicts) else [])


def test_json_holds_the_rung_and_its_neighbours(command, tmp_path):
    status, _, _ = command("shuffle", *SMALL, "--json", tmp_path / "shuffle.json")
    assert status == 0
    kept = record.read_json(tmp_path / "shuffle.json")
    names = ["shared_grid_stride", "shuffle", "shuffle_vector"]
    assert [row["method"] for row in kept["rows"]] == names


def test_the_sources_come_with_the_package():
    """What a wheel takes along are the files themselves."""
    package = Path(gred.__file__).parent
    for file in {line.file for rung in RUNGS for line in counted(rung).total.lines}:
        ours = (KERNELS / file).read_bytes()
        assert (package / "kernels" / file).read_bytes() == ours
        assert Path(file).suffix == ".cuh"
        assert Path(file).parent.as_posix() in (".", "ladder")
