"""`python -m gred lab` checks a user's rungs; docs/your-own-rung.md shows its output."""

import re

import numpy as np
from labs import LAB, LADDER, PAGE, saved
from written import check_examples

import gred
from gred.cli import units
from gred.prediction import H200, predict

pytestmark = LAB
SIMULATED = ("--size", "4096", "--device", "simulated")


def test_the_page_is_true_and_so_are_the_sources_that_it_shows(screen, tmp_path):
    text = PAGE.read_text(encoding="utf-8")
    for language, name in (("cuda", "unroll16.cuh"), ("cpp", "tree.cu")):
        (source,) = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
        saved(tmp_path, source, name)
    check_examples(text, PAGE.name, more_than=10)
    out = screen("lab", "tree.cu", "--methods", "13", *SIMULATED)
    rows = [" ".join(line.split()[:2]) for line in out.splitlines()]
    assert {"* reduce", "13 shared_sequential"} <= {*rows}


def test_a_right_rung_stands_beside_the_ladders(screen):
    path = LADDER / "03_interleaved.cuh"
    out = screen("lab", path, "--methods", "3,6", *SIMULATED)
    assert "no errors found" in out
    assert "simulated" not in out
    rows = [" ".join(line.split()) for line in out.splitlines() if re.match(r" *[36*] ", line)]
    names = [re.match(r". \w+", row)[0] for row in rows]
    assert names == ["3 interleaved", "* interleaved", "6 unroll8"]
    assert rows[0][1:] == rows[1][1:]
    told = gred.counters(np.ones(4096, np.int32), method="interleaved", block_size=256, dtype="i4")
    time = units.time_text(predict(told, H200).seconds)
    assert [row.endswith(time) for row in rows] == [True, True, False]
    out = screen("lab", path, "--methods", "3", *SIMULATED, "--time")
    assert re.search(r"simulated +[\d.]+ .s; interleaved takes [\d.]+ .s", out)
    assert "not a GPU's" in out


def test_the_sheet_is_shown_and_answers_are_marked(screen, command, tmp_path):
    out = screen("lab")
    assert all(exercise.title in out for exercise in gred.lab.exercises())
    assert "The hole" in screen("lab", "--exercise", "7")
    path = tmp_path / "mine.cuh"
    screen("lab", "--exercise", "2", "--out", path)
    assert path.read_text(encoding="utf-8") == gred.lab.exercise(2).source
    status, out, _ = command("lab", path)
    assert status == 1
    assert "mine.cuh:26: a data race: " in out
    source = gred.lab.exercise(1).source.replace("make_tile(value)", "make_tile(valeu)")
    status, out, _ = command("lab", saved(tmp_path, source))
    assert status == 2
    assert re.search(r"mine.cuh:22:\d+: error: .valeu. was not declared", out)
