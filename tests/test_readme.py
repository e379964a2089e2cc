"""README.md says what the kept results say, and names the two commands that a newcomer needs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gred
from gred.cli import record
from gred.cli.command import main

ROOT = Path(__file__).resolve().parent.parent
REPORT = ROOT / "benchmarks" / "report.py"
PARTS = ("machine", "ladder", "plots", "figures")


def report(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REPORT), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def marked_readme(tmp_path):
    path = tmp_path / "README.md"
    parts = [f"<!-- generated: {name} -->\n<!-- end: {name} -->\n" for name in PARTS]
    path.write_text("# title\n\n" + "\nbetween\n\n".join(parts), encoding="utf-8")
    return path


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results" / "some-machine"
    folder.mkdir(parents=True)
    options = ["--size", "500", "--device", "simulated", "--methods", "halving,shuffle"]
    assert main([*options, "--json", str(folder / "ladder.json")]) == 0
    return folder.parent


def test_readme_and_plots_agree_with_the_kept_results():
    checked = report("--check")
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    "command", ["pip install '.[cli]' && python -m gred", "pip install '.[test]' && pytest"]
)
def test_readme_holds_the_command(command):
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")


def test_report_writes_what_its_check_accepts(marked_readme, results):
    pytest.importorskip("matplotlib")
    places = ("--readme", marked_readme, "--results", results)
    assert report("--check", *places).returncode == 1
    assert report(*places).returncode == 0
    assert report("--check", *places).returncode == 0
    text = marked_readme.read_text(encoding="utf-8")
    assert "(results/some-machine/plots/ladder.svg)" in text
    assert text.count("between") == 3
    for method in gred.methods():
        assert f"`{method.name}`" in text


def test_check_finds_a_typed_figure(marked_readme, results):
    pytest.importorskip("matplotlib")
    places = ("--readme", marked_readme, "--results", results)
    report(*places)
    text = marked_readme.read_text(encoding="utf-8")
    marked_readme.write_text(text.replace("1.00x", "9.99x", 1), encoding="utf-8")
    checked = report("--check", *places)
    assert checked.returncode == 1
    assert "README.md disagrees" in checked.stdout


def test_check_finds_a_plot_of_other_data(marked_readme, results):
    pytest.importorskip("matplotlib")
    places = ("--readme", marked_readme, "--results", results)
    report(*places)
    path = results / "some-machine" / "ladder.json"
    kept = record.read_json(path)
    kept["rows"][0]["samples_ns"][0] += 1
    record.write_json(path, kept)
    checked = report("--check", *places)
    assert checked.returncode == 1
    assert "ladder.svg disagrees" in checked.stdout


def test_check_names_a_part_that_the_readme_lacks(marked_readme, results):
    text = marked_readme.read_text(encoding="utf-8")
    marked_readme.write_text(text.replace("generated: plots", "generated:"), encoding="utf-8")
    checked = report("--check", "--readme", marked_readme, "--results", results)
    assert checked.returncode == 1
    assert "no part 'plots'" in checked.stderr
