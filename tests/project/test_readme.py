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


@pytest.fixture
def report(benchmarks, given, capsys):
    """Run report.py: its status and what it says."""

    def run(*arguments):
        given(sys, argv=["report.py", *map(str, arguments)])
        try:
            status = benchmarks.report.main()
        except SystemExit as error:
            return 1, str(error)
        return status, capsys.readouterr().out

    return run


def test_pages_and_plots_agree_with_the_kept_results(report):
    status, said = report("--check")
    assert status == 0, said


def test_what_is_written_is_accepted_and_whatever_disagrees_is_found(benchmarks, report, tmp_path):
    """Results of two rungs and a comparison, and a page with a place for every part."""
    pytest.importorskip("matplotlib")
    page, folder = tmp_path / "README.md", tmp_path / "results" / "some-machine"
    parts = [f"<!-- generated: {p} -->\n<!-- end: {p} -->\n" for p in benchmarks.report.PARTS]
    page.write_text("# title\n\n" + "\nbetween\n\n".join(parts), encoding="utf-8")
    folder.mkdir(parents=True)
    ladder = "--size 500 --device simulated --methods halving,shuffle"
    versus = "versus --device host --peers numpy --samples 1 --types float32 --sizes 16,1KiB"
    versus += " --reductions sum --layouts flat,rows"
    for name, words in (("ladder", ladder), ("versus", versus)):
        assert main([*words.split(), "--json", str(folder / f"{name}.json")]) == 0
    places = "--pages", page, "--results", folder.parent

    def finds(*words):
        status, said = report("--check", *places)
        assert status == bool(words)
        assert all(word in said for word in words)
        return said

    finds("README.md disagrees")
    assert report(*places)[0] == 0
    finds()
    text = page.read_text(encoding="utf-8")
    assert text.count("between") == len(parts) - 1
    assert all(f"`{method.name}`" in text for method in gred.methods())
    assert "| sum float32 | gred | NumPy | best peer over gred |" in text
    assert re.search(r"\| 1 KiB \| [\d.]+ [nu]s \| [\d.]+ [nu]s \| [\d.]+x \|", text)
    assert "Of 3 cases with a peer, gred is ahead in " in text
    for plot in ("ladder", "versus_ratio"):
        assert f"(results/some-machine/plots/{plot}.svg)" in text
    page.write_text(text.replace("1.00x", "9.99x", 1), encoding="utf-8")
    assert "ladder.svg" not in finds("README.md disagrees")
    kept = record.read_json(folder / "ladder.json")
    kept["rows"][0]["samples_ns"][0] += 1
    record.write_json(folder / "ladder.json", kept)
    finds("ladder.svg disagrees")
    page.write_text(text.replace("generated: plots", "generated:"), encoding="utf-8")
    finds("no part 'plots'")


# ---- targets, axes and exact sums ----


@pytest.fixture
def figures(benchmarks):
    """Make figures of a group: the value of each by what it is."""

    def make(group, unit="x", bounds=(), **values):
        bounds = dict(bounds)
        make_one = benchmarks.figure.figure
        return [make_one(w, [v], unit, group=group, **bounds) for w, v in values.items()]

    return make


def test_of_a_group_the_farthest_from_its_bound_is_told(benchmarks, figures):
    shares = figures("shares", bounds={"at_least": 0.95}, **{"a: rate": 0.9, "b: rate": 0.97})
    rows = shares + figures("shares", **{"c: rate": 0.5})
    rows += figures("times", bounds={"at_most": 1.5}, **{"d: time": 1.0, "e: time": 3.0})
    table, _, short = benchmarks.target_parts._groups(rows)
    assert table.splitlines()[2:] == [
        "| shares | 2 | at least 0.95 | 0.9 x: a | **1 of 2** |",
        "| shares | 1 | - | 0.5 x: c | - |",
        "| times | 2 | at most 1.5 | 3 x: e | **1 of 2** |",
    ]
    assert "| a: rate | 0.9 x | at least 0.95 |" in short.splitlines()
    assert len(list(benchmarks.target_parts._groups(rows[1:2]))) == 1


def test_axes_and_exact_sums_are_told_if_measured(benchmarks, figures, tmp_path):
    """Plots are drawn anew for their own part only."""
    pytest.importorskip("matplotlib")
    report, page = benchmarks.report, tmp_path / "README.md"
    none = report.Results(tmp_path, page)

    def write(part, *rows):
        benchmarks.figures.write(tmp_path, machine(), part, list(rows))

    def stale():
        return [path.name for path, _, _ in report.stale_plots(kept)]

    assert report.axes_part(none) == report.exact_part(none) == ""
    what = "sum float32 (n, 2) axis 1, 256 MiB"
    values = {f"{what}: of the limit": 0.9, f"{what}: CuPy's time over gred's": 0.8}
    write("axes/float32", *figures("along axes, r", bounds={"at_least": 0.85}, **values))
    orders = benchmarks.exact.sums_of_orders
    sums = {"gred, exact": [2.0] * 8, "NumPy": [2.0, 3.0] * 4}
    of = [(f"float64 that cancel: {who}", some, Fraction(2)) for who, some in sums.items()]
    write("exact/orders", *(row for one in of for row in orders(*one, "float64")))
    kept = report.Results(tmp_path, page)
    axes, exact = report.axes_part(kept), report.exact_part(kept)
    assert "Targets met: 1 of 2." in axes
    assert "/plots/axes.svg)" in axes
    for line in ("| gred, exact | - | - | 1 | 0 |", "| NumPy | - | - | 2 | 2.25e+15 |"):
        assert line in exact.splitlines()
    assert "on the GPU and on the host, 2 of 2 are met." in exact
    assert "along axes" not in report.figures_part(kept)
    assert stale() == ["axes.svg", "exact.svg"]
    for path, function, shown in [*report.stale_plots(kept)]:
        path.parent.mkdir(exist_ok=True)
        report.draw(path, function, shown)
    write("import", *figures("start", "s", **{"import numpy": 1.0}))
    write("axes/float32")
    assert stale() == []
    rates = {"exact sum, 1 MiB: rate": 0.76, "exact sum, 1 GiB: rate": 0.96}
    group = "exact sums on a GPU: rate over that of fast ones"
    write("exact/large/float32", *figures(group, bounds={"at_least": 0.95}, **rates))
    exact = report.exact_part(kept)
    assert "3 of 4 are met, so it stays fast. The farthest from its target, at 80" in exact
    assert "of it, is: exact sum, 1 MiB: rate, 0.76 x of at least 0.95." in exact


# ---- where pages lead ----


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/inside.md"])
def test_files_that_a_text_names_are_there(name):
    """Folders and files of the project, in code or behind a link."""
    text = text_of(name)
    named = re.findall(r"`((?:csrc|kernels|tests|benchmarks|python|\.ci)/[\w./]*)", text)
    named += re.findall(r"^    ((?:csrc|kernels|python)/[\w/]+)", text, re.MULTILINE)
    named += re.findall(r"\]\((?!https?:)([^)#]+)", text)
    made_up = {"kernels/ladder/25_name.cuh", "kernels/reductions/name.cuh"}
    assert [path for path in {*named} - made_up if not (ROOT / path).exists()] == []
    assert named or name == "CHANGELOG.md"


def test_the_source_layout_has_every_directory():
    text = text_of("CONTRIBUTING.md")
    for path in (*(ROOT / "csrc").iterdir(), *(ROOT / "kernels").iterdir()):
        assert path.is_file() or f"    {path.relative_to(ROOT).as_posix()}/ " in text


@pytest.mark.parametrize("address", [None, "", "https://example.org/gred"])
def test_the_readme_and_its_long_description_hold_the_commands(monkeypatch, address):
    """The latter has no relative link: an index such as PyPI has none of the repository's files."""
    text = text_of("README.md")
    assert "pip install '.[cli]' && python -m gred" in text
    assert len(text.splitlines()) <= 250
    if address is not None:
        monkeypatch.syspath_prepend(ROOT / "build_backend")
        description = importlib.import_module("description")
        text = description.long_description(ROOT / "README.md", address)
        links = re.findall(r"\]\(([^)]*)\)", text)
        assert all(link.startswith("https://") for link in links)
        assert bool(links) == bool(address)
    assert "pip install '.[test]' && pytest" in text
