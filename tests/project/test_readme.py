"""README.md and docs/figures.md say what the results say, and lead a newcomer where they say."""

import importlib
import re
import sys
from fractions import Fraction

import pytest
from scripts import machine
from test_packaging import ROOT, text_of

import gred
from gred.cli import record
from gred.cli.command import main

pytestmark = pytest.mark.unsanitized

PARTS = ("machine", "ladder", "plots", "figures", "axes", "exact", "versus", "roofline", "curve")


@pytest.fixture
def report(benchmarks, given, capsys):
    def run(*arguments):
        given(sys, argv=["report.py", *map(str, arguments)])
        try:
            status = benchmarks.report.main()
        except SystemExit as error:
            return 1, str(error)
        return status, capsys.readouterr().out

    return run


@pytest.fixture
def page(tmp_path):
    """A README with a place for every part."""
    path = tmp_path / "README.md"
    parts = [f"<!-- generated: {name} -->\n<!-- end: {name} -->\n" for name in PARTS]
    path.write_text("# title\n\n" + "\nbetween\n\n".join(parts), encoding="utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    """Results of a machine, of two rungs."""
    folder = tmp_path / "results" / "some-machine"
    folder.mkdir(parents=True)
    options = ["--size", "500", "--device", "simulated", "--methods", "halving,shuffle"]
    assert main([*options, "--json", str(folder / "ladder.json")]) == 0
    return folder


@pytest.fixture
def places(page, folder):
    return "--pages", page, "--results", folder.parent


def test_readme_and_plots_agree_with_the_kept_results(report):
    status, said = report("--check")
    assert status == 0, said


def test_report_writes_what_its_check_accepts(report, page, folder, places):
    """Also a comparison that was kept."""
    pytest.importorskip("matplotlib")
    options = ["--device", "host", "--peers", "numpy", "--samples", "1", "--types", "float32"]
    options += ["--sizes", "16,1KiB", "--reductions", "sum", "--layouts", "flat,rows"]
    assert main(["versus", *options, "--json", str(folder / "versus.json")]) == 0
    assert report("--check", *places)[0] == 1
    assert report(*places)[0] == report("--check", *places)[0] == 0
    text = page.read_text(encoding="utf-8")
    assert text.count("between") == len(PARTS) - 1
    for method in gred.methods():
        assert f"`{method.name}`" in text
    assert "| sum float32 | gred | NumPy | best peer over gred |" in text
    assert re.search(r"\| 1 KiB \| [\d.]+ [nu]s \| [\d.]+ [nu]s \| [\d.]+x \|", text)
    assert "Of 3 cases with a peer, gred is ahead in " in text
    for plot in ("ladder", "versus_ratio"):
        assert f"(results/some-machine/plots/{plot}.svg)" in text


def test_check_finds_a_typed_figure_a_plot_of_other_data_and_a_part_that_no_page_has(
    report, page, folder, places
):
    pytest.importorskip("matplotlib")
    report(*places)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace("1.00x", "9.99x", 1), encoding="utf-8")
    status, said = report("--check", *places)
    assert status == 1
    assert "README.md disagrees" in said
    assert "ladder.svg disagrees" not in said
    kept = record.read_json(folder / "ladder.json")
    kept["rows"][0]["samples_ns"][0] += 1
    record.write_json(folder / "ladder.json", kept)
    status, said = report("--check", *places)
    assert status == 1
    assert "ladder.svg disagrees" in said
    page.write_text(text.replace("generated: plots", "generated:"), encoding="utf-8")
    status, said = report("--check", *places)
    assert status == 1
    assert "no part 'plots'" in said


def test_of_a_group_the_row_farthest_from_its_bound_is_told_and_what_falls_short(benchmarks):
    def rows_of(*values, group, **bound):
        named = ((f"sum of {value}: rate", value) for value in values)
        return [
            benchmarks.figure.figure(name, [value], "x", **bound, group=group)
            for name, value in named
        ]

    rows = rows_of(0.9, 0.97, group="shares", at_least=0.95) + rows_of(0.5, group="shares")
    rows += rows_of(1.0, 3.0, 2.0, group="times", at_most=1.5)
    table, _, short = benchmarks.target_parts._groups(rows)
    assert table.splitlines()[2:] == [
        "| shares | 2 | at least 0.95 | 0.9 x: sum of 0.9 | **1 of 2** |",
        "| shares | 1 | - | 0.5 x: sum of 0.5 | - |",
        "| times | 3 | at most 1.5 | 3 x: sum of 3.0 | **1 of 3** |",
    ]
    assert "| sum of 0.9: rate | 0.9 x | at least 0.95 |" in short.splitlines()
    assert len(list(benchmarks.target_parts._groups(rows[1:2]))) == 1


@pytest.fixture
def kept(benchmarks, tmp_path):
    """Results of axes and of exact sums."""

    def axes():
        for what, value, bound in (
            ("of the limit", 0.9, 0.85),
            ("CuPy's time over gred's", 1, 1.05),
        ):
            what = f"sum float32 (n, 2) axis 1, 256 MiB: {what}"
            yield benchmarks.figure.figure(
                what, [value], "x", at_least=bound, group="along axes, r"
            )

    def orders():
        for who, sums in (("gred, exact", [2.0] * 8), ("NumPy", [2.0, 3.0] * 4)):
            what = f"float64 that cancel: {who}"
            yield from benchmarks.exact.sums_of_orders(what, sums, Fraction(2), "float64")

    for name, measure in {"axes/float32": axes, "exact/orders": orders}.items():
        benchmarks.figures.write(tmp_path, machine(), name, list(measure()))
    return benchmarks.report.Results(tmp_path, tmp_path / "README.md")


def test_the_readme_tells_of_axes_and_exact_sums_if_they_are_measured(benchmarks, kept, tmp_path):
    """And why sums are not exact by themselves, by the figure that is farthest from its target."""
    axes = benchmarks.report.axes_part(kept)
    assert "Targets met: 1 of 2." in axes
    assert "/plots/axes.svg)" in axes
    exact = benchmarks.report.exact_part(kept)
    for line in ("| gred, exact | - | - | 1 | 0 |", "| NumPy | - | - | 2 | 2.25e+15 |"):
        assert line in exact.splitlines()
    assert "on the GPU and on the host, 2 of 2 are met." in exact
    assert "along axes" not in benchmarks.report.figures_part(kept)
    group = "exact sums on a GPU: rate over that of fast ones"
    large = [
        benchmarks.figure.figure(f"exact sum, {n}: rate", [rate], "x", at_least=0.95, group=group)
        for n, rate in (("256 MiB", 0.76), ("1 GiB", 0.9), ("4 GiB", 0.96))
    ]
    benchmarks.figures.write(kept.folders[0].parent, machine(), "exact/large/float32", large)
    exact = benchmarks.report.exact_part(kept)
    assert "3 of 5 are met, so it stays fast. The farthest from its target, at 80" in exact
    assert "of it, is: exact sum, 256 MiB: rate, 0.76 x of at least 0.95." in exact
    nothing = benchmarks.report.Results(tmp_path / "none", tmp_path / "README.md")
    assert benchmarks.report.axes_part(nothing) == benchmarks.report.exact_part(nothing) == ""


def test_plots_are_drawn_anew_for_their_own_part_only(benchmarks, kept):
    pytest.importorskip("matplotlib")

    def stale():
        return [path.name for path, _, _ in benchmarks.report.stale_plots(kept)]

    def write(part, *figure):
        rows = [benchmarks.figure.figure(*figure)] if figure else []
        benchmarks.figures.write(kept.folders[0].parent, machine(), part, rows)

    assert stale() == ["axes.svg", "exact.svg"]
    for path, function, shown in [*benchmarks.report.stale_plots(kept)]:
        path.parent.mkdir(exist_ok=True)
        benchmarks.report.draw(path, function, shown)
    write("import", "import numpy", [1.0], "s")
    write("axes/float32")
    assert stale() == []
    write("exact/calls/float32", "a call, float32, 1 MiB: CuPy", [1.0], "GB/s")
    assert stale() == ["exact.svg"]


def test_the_readme_holds_the_commands_and_is_read_to_its_end():
    text = text_of("README.md")
    assert "pip install '.[cli]' && python -m gred" in text
    assert "pip install '.[test]' && pytest" in text
    assert len(text.splitlines()) <= 250


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/inside.md"])
def test_files_that_a_text_names_are_there(name):
    """Folders and files of the project, in code or behind a link; NAME stands for any."""
    text = text_of(name)
    named = re.findall(r"`((?:csrc|kernels|tests|benchmarks|python|\.ci)/[\w./]*)", text)
    named += re.findall(r"^    ((?:csrc|kernels|python)/[\w/]+)", text, re.MULTILINE)
    named += re.findall(r"\]\((?!https?:)([^)#]+)", text)
    made_up = {"kernels/ladder/25_name.cuh", "kernels/reductions/name.cuh"}
    missing = [path for path in named if path not in made_up and not (ROOT / path).exists()]
    assert not missing
    assert named or name == "CHANGELOG.md"


def test_the_source_layout_has_every_directory():
    text = text_of("CONTRIBUTING.md")
    for path in (*(ROOT / "csrc").iterdir(), *(ROOT / "kernels").iterdir()):
        assert path.is_file() or f"    {path.relative_to(ROOT).as_posix()}/ " in text


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
