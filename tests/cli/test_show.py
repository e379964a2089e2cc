"""`python -m gred show METHOD` shows a rung's steps in the terminal, and writes its picture."""

from xml.etree import ElementTree

import numpy as np
import pytest
from test_picture import SVG, Picture, every_rung, place
from test_picture import command as command

import gred
from gred.cli import console as consoles

pytestmark = pytest.mark.unsanitized


@every_rung
def test_every_rung_is_shown(command, rung):
    status, out, _ = command(rung)
    assert status == 0
    method = next(m for m in gred.methods() if m.name == rung)
    assert f"{method.number} {rung}: {method.title}" in out
    total = out.partition("summed in int32: ")[2].split()[0]
    values = [line.split()[-1] for line in out.splitlines() if line.split()[:1] == ["values"]]
    assert "None" not in out
    assert total in values or rung == "atomic"  # which no thread sees


def test_the_terminal_shows_lanes_elements_and_values(command):
    _, out, _ = command("neighbored", "--seed", "3")
    x = np.random.default_rng(3).integers(1, 10, 32)
    lines = [line.split(maxsplit=1) for line in out.splitlines() if len(line.split()) > 1]
    values, threads = ([text for name, text in lines if name == n] for n in ("values", "threads"))
    for level in range(5):
        assert values[level] == " ".join(map(str, x.reshape(-1, 2 << level).sum(1)))
    works, _, idle = consoles.make_console().lane_characters[:3]
    assert threads[2] == (works + 7 * idle) * 4
    assert "step 3 after __syncthreads(): 4 of 32 threads" in out
    assert "loads: 8 sectors, 12% used; stores: 4 sectors, 12% used" in out


def test_shuffles_are_told_in_the_terminal_and_beside_the_picture(command):
    _, out, _ = command("shuffle", "--block-size", "64", "--size", "256")
    steps = out.split("  step ")[1:]
    assert ["shuffles: 2" in step for step in steps] == [False, *[True] * 5, *[False] * 6]
    assert ["shuffles: 1" in step for step in steps] == [False] * 7 + [True] * 5
    picture = Picture("shuffle", x=np.arange(64), block=64)
    assert picture.texts("soft", **place(1)) == ["32 results discarded; shuffles: 2"]


@pytest.mark.parametrize("rung", ["shared_sequential", "shuffle", "last_block", "cooperative"])
def test_notes_do_not_lie_on_each_other(rung):
    notes = Picture(rung, 256).of("text", "note")
    right = max(float(note.get("x")) for note in notes)
    heights = sorted(float(note.get("y")) for note in notes if float(note.get("x")) == right)
    assert np.diff(heights).min() >= 11


def test_plain_text_says_it_without_rich(command, monkeypatch):
    monkeypatch.setattr("gred.cli.command.make_console", consoles.Console)
    _, out, _ = command("shared_strided", "--block-size", "64")
    assert out.isascii()
    assert f"threads  {'#' * 64}" in out
    assert f"shared 0 to 63  {'!.' * 32}" in out
    assert "# active  o discarded  . idle  r read  w written  ~ moved, not used  ! bank" in out


def test_a_narrow_terminal_wraps_the_lanes(command, monkeypatch):
    monkeypatch.setattr("gred.cli.console.Stream.columns", lambda self: 60)
    _, out, _ = command("shared_strided")
    lanes = consoles.make_console().lane_characters
    rows = [line for line in out.splitlines() if lanes[0] in line]
    assert [line.count(lanes[0]) for line in rows[:3]] == [32, 32, 32]
    assert all(len(line) <= 60 for line in rows)


def test_a_picture_is_written_or_goes_to_standard_output(command, tmp_path):
    path = tmp_path / "rung.svg"
    status, out, _ = command("13", "--size", "64", "--block-size", "64", "--out", path)
    assert status == 0
    assert f"wrote {path}" in out.replace("\n", "")
    written = path.read_text(encoding="utf-8")
    assert ElementTree.fromstring(written).tag == f"{SVG}svg"
    status, out, err = command("13", "--size", "64", "--block-size", "64", "--out", "-")
    assert (status, out) == (0, written)
    assert "13 shared_sequential" in err


def test_explain_points_at_the_picture(capsys):
    from gred.cli.command import main

    assert main(["explain", "unroll2", "--size", "500"]) == 0
    assert "python -m gred show unroll2" in capsys.readouterr().out
