"""README.md and docs/figures.md say what the results say, and lead a newcomer where they say."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from scripts import benchmarks as benchmarks

import gred
from gred.cli import record
from gred.cli.command import main

pytestmark = pytest.mark.unsanitized

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("machine", "ladder", "plots", "figures", "axes", "exact", "versus", "roofline", "curve")


@pytest.fixture
def report(benchmarks, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["report.py", *map(str, arguments)])
        try:
            status = benchmarks.report.main()
        except SystemExit as error:
            return 1, str(error)
        return status, capsys.readouterr().out

    return run


@pytest.fixture
def marked_readme(tmp_path):
    path = tmp_path / "README.md"
    parts = [f"<!-- generated: {name} -->\n<!-- end: {name} -->\n" for name in PARTS]
    path.write_text("# title\n\n" + "\nbetween\n\n".join(parts), encoding="utf-8")
    return path


@pytest.fixture
def places(marked_readme, results):
    return "--pages", marked_readme, "--results", results


@pytest.fixture
def results(tmp_path):
    folder = tmp_path / "results" / "some-machine"
    folder.mkdir(parents=True)
    options = ["--size", "500", "--device", "simulated", "--methods", "halving,shuffle"]
    assert main([*options, "--json", str(folder / "ladder.json")]) == 0
    return folder.parent


def test_readme_and_plots_agree_with_the_kept_results(report):
    status, said = report("--check")
    assert status == 0, said


@pytest.mark.parametrize(
    "command", ["pip install '.[cli]' && python -m gred", "pip install '.[test]' && pytest"]
)
def test_readme_holds_the_command(command):
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")


def test_report_writes_what_its_check_accepts(report, marked_readme, places):
    pytest.importorskip("matplotlib")
    assert report("--check", *places)[0] == 1
    assert report(*places)[0] == report("--check", *places)[0] == 0
    text = marked_readme.read_text(encoding="utf-8")
    assert "(results/some-machine/plots/ladder.svg)" in text
    assert text.count("between") == len(PARTS) - 1
    for method in gred.methods():
        assert f"`{method.name}`" in text


def test_a_comparison_that_is_kept_is_shown(report, marked_readme, results, places):
    pytest.importorskip("matplotlib")
    options = ["--device", "host", "--peers", "numpy", "--samples", "1", "--types", "float32"]
    options += ["--sizes", "16,1KiB", "--reductions", "sum", "--layouts", "flat,rows"]
    kept = results / "some-machine" / "versus.json"
    assert main(["versus", *options, "--json", str(kept)]) == 0
    assert report(*places)[0] == report("--check", *places)[0] == 0
    text = marked_readme.read_text(encoding="utf-8")
    assert "| sum float32 | gred | NumPy | best peer over gred |" in text
    assert re.search(r"\| 1 KiB \| [\d.]+ [nu]s \| [\d.]+ [nu]s \| [\d.]+x \|", text)
    assert "Of 3 cases with a peer, gred is ahead in " in text
    assert "(results/some-machine/plots/versus_ratio.svg)" in text


def test_check_finds_a_typed_figure_and_a_plot_of_other_data(
    report, marked_readme, results, places
):
    pytest.importorskip("matplotlib")
    report(*places)
    text = marked_readme.read_text(encoding="utf-8")
    marked_readme.write_text(text.replace("1.00x", "9.99x", 1), encoding="utf-8")
    status, said = report("--check", *places)
    assert status == 1
    assert "README.md disagrees" in said
    assert "ladder.svg disagrees" not in said
    path = results / "some-machine" / "ladder.json"
    kept = record.read_json(path)
    kept["rows"][0]["samples_ns"][0] += 1
    record.write_json(path, kept)
    status, said = report("--check", *places)
    assert status == 1
    assert "ladder.svg disagrees" in said


def test_check_names_a_part_that_no_page_has(report, marked_readme, places):
    text = marked_readme.read_text(encoding="utf-8")
    marked_readme.write_text(text.replace("generated: plots", "generated:"), encoding="utf-8")
    status, said = report("--check", *places)
    assert status == 1
    assert "no part 'plots'" in said


def test_every_rung_takes_the_reductions_on_the_ladder_and_no_other():
    rungs = [method.name for method in gred.methods() if method.number is not None]
    for reduction in gred.reductions():
        function = getattr(gred, reduction.name)
        for rung in rungs if reduction.on_ladder else ():
            function([1, 2, 3], method=rung, device="simulated")
            for of_rows in ({"axis": 0}, {"keepdims": True}):
                with pytest.raises(ValueError, match="is for whole arrays"):
                    function([1, 2, 3], method=rung, device="simulated", **of_rows)
        if not reduction.on_ladder:
            with pytest.raises(ValueError, match="climb the ladder"):
                function([1.5, 2.5], method="unroll8")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/inside.md"])
def test_files_that_a_text_names_are_there(name):
    """Folders and files of the project, in code or behind a link; NAME stands for any."""
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"`((?:csrc|kernels|tests|benchmarks|python|\.ci)/[\w./]*)", text)
    named += re.findall(r"^    ((?:csrc|kernels|python)/[\w/]+)", text, re.MULTILINE)
    named += re.findall(r"\]\((?!https?:)([^)#]+)", text)
    made_up = {"kernels/ladder/25_name.cuh", "kernels/reductions/name.cuh"}
    missing = [path for path in named if path not in made_up and not (ROOT / path).exists()]
    assert not missing
    assert named or name == "CHANGELOG.md"


def test_the_source_layout_has_every_directory():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    folders = [path for path in (ROOT / "csrc").iterdir() if path.is_dir()]
    folders += [path for path in (ROOT / "kernels").iterdir() if path.is_dir()]
    for folder in folders:
        assert f"    {folder.relative_to(ROOT).as_posix()}/ " in text


def test_the_readme_is_read_to_its_end():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 250


@pytest.mark.parametrize("address", ["", "https://example.org/gred"])
def test_the_long_description_has_no_relative_link(monkeypatch, address):
    """An index such as PyPI has none of the repository's files."""
    monkeypatch.syspath_prepend(ROOT / "build_backend")
    description = importlib.import_module("description")
    text = description.long_description(ROOT / "README.md", address)
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert all(link.startswith("https://") for link in links)
    assert bool(links) == bool(address)
    assert "pip install '.[test]' && pytest" in text
