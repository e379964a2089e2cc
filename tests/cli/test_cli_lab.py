"""`python -m gred lab` marks rungs of one's own; docs/your-own-rung.md shows what happens."""

import re
from pathlib import Path

import numpy as np
from labs import LAB
from written import check_examples

import gred
from gred.cli import units
from gred.prediction import H200, predict_counted

pytestmark = LAB
PAGE = Path(__file__).parents[2] / "docs/your-own-rung.md"


def test_the_page_is_true(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    (source,) = re.findall(r"```cuda\n(.*?)```", text, re.DOTALL)
    Path("unroll16.cuh").write_text(source, encoding="utf-8")
    (ordinary,) = re.findall(r"```cpp\n(.*?)```", text, re.DOTALL)
    Path("tree.cu").write_text(ordinary, encoding="utf-8")
    check_examples(text, PAGE.name, more_than=10)


def test_a_right_rung_stands_beside_the_ladders(screen, command):
    path = Path(gred.__file__).parent / "kernels/ladder/03_interleaved.cuh"
    simulated = "--device", "simulated"
    out = screen("lab", path, "--size", "4096", "--methods", "3,6", *simulated)
    assert "nothing is wrong" in out
    rows = [line.split() for line in out.splitlines() if line.split()[:1] in (["3"], ["*"], ["6"])]
    shown = [" ".join(row[:2]) for row in rows]
    assert shown == ["3 interleaved", "* interleaved", "6 unroll8"]
    assert rows[0][2:] == rows[1][2:]
    told = gred.counters(np.ones(4096, np.int32), method="interleaved", block_size=256, dtype="i4")
    time = units.time_text(predict_counted(told, H200).seconds)
    assert [" ".join(row).endswith(time) for row in rows] == [True, True, False]
    assert "simulated" not in out
    _, out, _ = command("lab", path, "--size", "4096", "--methods", "3", *simulated, "--time")
    assert re.search(r"simulated +[\d.]+ .s; interleaved takes [\d.]+ .s", out)
    assert "no GPU's" in out


def test_an_ordinary_kernel_stands_beside_the_ladders(screen, tmp_path):
    (source,) = re.findall(r"```cpp\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    path = tmp_path / "tree.cu"
    path.write_text(source, encoding="utf-8")
    simulated = "--size", "4096", "--methods", "13", "--device", "simulated"
    out = screen("lab", path, *simulated)
    rows = [line.split()[:2] for line in out.splitlines()]
    assert ["*", "reduce"] in rows
    assert ["13", "shared_sequential"] in rows


def test_a_wrong_rung_is_marked_as_wrong(command, tmp_path):
    path = tmp_path / "mine.cuh"
    status, out, _ = command("lab", "--exercise", "2", "--out", path)
    assert (status, path.read_text(encoding="utf-8")) == (0, gred.lab.exercise(2).source)
    status, out, _ = command("lab", path)
    assert status == 1
    assert "mine.cuh:26: a data race: " in out


def test_a_rung_that_does_not_compile_is_refused_in_the_compilers_words(command, tmp_path):
    path = tmp_path / "mine.cuh"
    source = gred.lab.exercise(1).source.replace("make_tile(value)", "make_tile(valeu)")
    path.write_text(source, encoding="utf-8")
    status, out, _ = command("lab", path)
    assert status == 2
    assert re.search(r"mine.cuh:22:\d+: error: .valeu. was not declared", out)


def test_the_sheet_is_listed_and_shown(command):
    _, out, _ = command("lab")
    assert all(exercise.title in out for exercise in gred.lab.exercises())
    _, out, _ = command("lab", "--exercise", "7")
    assert "The hole" in out
