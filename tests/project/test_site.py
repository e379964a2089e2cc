"""Examples in the README, docs/ and docstrings run, and agree with the code and the results.

Links and file names lead somewhere.
"""

import ast
import doctest
import importlib
import json
import os
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from devices import to_host
from test_sources import ROOT, text_of
from written import OPTIONS, check_examples

import gred
from gred.cli import record
from gred.cli.command import main

pytestmark = pytest.mark.unsanitized


def name_of(path):
    return path.relative_to(ROOT).with_suffix("").as_posix()


DOCS, HERE = ROOT / "docs", Path(gred.__file__).parent
PAGES = sorted(path for path in DOCS.rglob("*.md") if path.parent.name != "notebooks")
# tests/cli/test_cli_lab.py runs the examples of your-own-rung.md.
RUN = [path for path in PAGES if path.stem != "your-own-rung"]
# Pages that need not begin with an example.
OTHERS = ["changes", "eight-steps", "figures", "gallery", "index", "ladder", "notebooks"]
OTHERS += ["versions"]
MODULES = sorted(
    ".".join(("gred", *path.relative_to(HERE).with_suffix("").parts)).removesuffix(".__init__")
    for path in HERE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8") and path.stem != "docstrings"
)
REDUCTIONS = {one.name for one in gred.reductions()} - {"describe"}
FUNCTIONS = ["dot", *sorted(REDUCTIONS)]
TEXTS = {name_of(page): page.read_text(encoding="utf-8") for page in RUN}
TEXTS |= {f"{f}()": getattr(gred, f).__doc__ for f in [*FUNCTIONS, "describe"]}
TEXTS["README"] = text_of("README.md")
# By the name of a page or module: what its examples need.
NEEDS = {"docs/exact": ("dask.array", "mpi4py"), "docs/jax": ("jax", "gred._jax")}
NEEDS |= {"docs/pytorch": ("torch",), "docs/tables": ("pyarrow",)}
NEEDS |= {"dask": ("dask.array",), "jax": ("gred._jax",), "mpi": ("mpi4py",), "torch": ("torch",)}


@pytest.mark.parametrize("name", [*TEXTS, *MODULES])
def test_examples_are_true(name):
    for module in NEEDS.get(name if name in TEXTS else f"{name}.".split(".")[1], ()):
        pytest.importorskip(module)
    if name in TEXTS:
        check_examples(TEXTS[name], name, more_than=-1 if name.startswith("docs/") else 0)
    else:
        results = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
        assert results.attempted > results.failed == 0


@pytest.fixture
def generated(monkeypatch):
    for module in ("docutils", "sphinx"):
        pytest.importorskip(module, reason="Sphinx or what it needs is not installed")
    monkeypatch.syspath_prepend(DOCS)
    for name in ("COLUMNS", "NO_COLOR"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    return importlib.import_module("generated")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_whatever_looks_like_python_is_run_or_is_python(page):
    """Code for a GPU is indented and must parse; all other code is an example that runs.

    A guide begins with an example.
    """
    text = page.read_text(encoding="utf-8")
    if page in RUN and page.parent == DOCS and page.stem not in OTHERS:
        assert re.match(r"# [^\n]+\n\n(?:[^`#\n][^\n]*\n)+\n```python\n>>> ", text)
    assert all(example.startswith(">>> ") for example in re.findall(r"(?m)^```python\n(.*)", text))
    rest = re.sub(r"(?ms)^```.*?^```$", "", text)
    for indented in re.findall(r"(?:^ {4}.*\n(?:\n(?= {4}))?)+", rest, re.MULTILINE):
        lines = [line[4:] for line in indented.splitlines()]
        if not lines[0].startswith(("pip ", "python ")):
            ast.parse("\n".join(lines))


@pytest.mark.parametrize("page", [*PAGES, *ROOT.glob("notebooks/*.ipynb")], ids=name_of)
def test_links_to_elsewhere_are_addresses(page):
    """The network is not used; addresses need only be well formed."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "".join(line for cell in json.loads(text)["cells"] for line in cell["source"])
    for address in re.findall(r"\w+://[^\s)>\"`]*", text):
        parts = urlsplit(address)
        assert parts.scheme == "https"
        assert re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.netloc)


def test_every_public_name_is_in_the_reference(generated):
    """Modules have pages of their own; everything else is listed in groups."""
    written = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert all(f"```{{members}} {group}\n" in written for group in generated.GROUPS)
    listed = [name for group in generated.GROUPS.values() for name in group()]
    modules = {name for name in gred.__all__ if generated.directive(name) == "automodule"}
    assert sorted([*listed, *modules]) == sorted(gred.__all__)
    for module in modules | {"dask", "mpi", "testing", "torch"}:
        assert f".. automodule:: gred.{module}\n" in written


def test_pages_show_tables_and_commands_and_a_command_that_fails_is_no_page(generated):
    table = generated.records_table(gred.methods())
    for method in gred.methods():
        assert f"| `{method.name}`" in table
        assert f"{method.title}: {method.idea}" in table.replace("\\", "")
    assert "shared_strided" in generated.printed(["explain", "12", "--size", "64"])
    with pytest.raises(generated.CommandError, match="no_such_rung"):
        generated.printed(["explain", "no_such_rung"])


def test_every_step_of_the_tutorial_is_faster_than_the_last(generated):
    steps = generated.steps
    rates = [steps.measured()["rows"][step]["gb_per_s"] for step in steps.STEPS]
    assert rates == sorted(rates)
    assert (len(rates), round(rates[0] / 1000, 1), round(rates[-1] / 1000, 1)) == (8, 0.3, 4.4)
    page = text_of("docs/eight-steps.md")
    assert page.startswith("# From 0.3 to 4.4 TB/s in eight steps\n")
    assert re.findall(r"```{step} (\w+)", page) == list(steps.STEPS)
    for place, step in enumerate(steps.STEPS):
        head, *rows = steps.counted(step)
        assert f"`{step}`" in head
        assert all(len(row) == len(head) for row in rows)
        assert steps.bars(step).count('<rect class="done"') == place


def test_every_plot_has_a_dark_scheme_and_no_background_of_its_own(generated):
    paths = ROOT.glob("benchmarks/results/*/plots/*.svg")
    for svg in (*(path.read_text(encoding="utf-8") for path in paths), generated.steps.bars()):
        assert "prefers-color-scheme: dark" in svg
        first = re.search(r'<g id="patch_1">.*?style="([^"]*)"', svg, re.DOTALL)
        assert not first or "opacity: 0" in first[1] or "fill: none" in first[1]


# ---- generated parts of pages, and links ----


@pytest.fixture
def report(benchmarks, given, capsys):
    """Run report.py, and return its status and output."""

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
    """Use results of two rungs and a comparison, and a page with a place for every part."""
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
    page.write_text(text.replace("1.00x", "9.99x", 1), encoding="utf-8")
    assert "ladder.svg" not in finds("README.md disagrees")
    kept = record.read_json(folder / "ladder.json")
    kept["rows"][0]["samples_ns"][0] += 1
    record.write_json(folder / "ladder.json", kept)
    finds("ladder.svg disagrees")
    page.write_text(text.replace("generated: plots", "generated:"), encoding="utf-8")
    finds("no part 'plots'")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/inside.md"])
def test_files_that_a_text_names_are_there(name):
    """Files and folders of the project, in code spans or link targets."""
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
    """The latter has no relative links, as an index such as PyPI lacks the linked files."""
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


# ---- the table of NumPy's, CuPy's, PyTorch's and gred's functions ----

LIBRARIES = {"np": (0, "numpy"), "cp": (1, "cupy"), "torch": (2, "torch")}
A = np.array([[3.0, 1.0, -2.0, 0.0], [6.0, -5.0, 4.0, 1.0], [2.0, 2.0, 7.0, -1.0]])
VALUES = {"a": A, "m": A > 0, "x": A[1], "bounds": np.array([0, 1, 3, 4]), "k": np.array([0, 1, 3])}
VALUES |= {"o": np.zeros(4), "g": np.array([0, 2, 0, 1])}
# The calls of each row: NumPy, CuPy, PyTorch, gred.
LINES = re.findall(r"^.+`gred\.\w+\(.*", TEXTS["docs/from-numpy"], re.MULTILINE)
CELLS = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in LINES]
ROWS = [row[:4] for row in CELLS if len(row) == 5]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_each_call_is_what_it_stands_for(library, row):
    place, name = LIBRARIES[library]
    if not row[place]:
        pytest.skip("the library has no such call")
    module = pytest.importorskip(name)
    names = {library: module, "gred": gred, "np": np}
    on_gpu = library == "torch" and module.cuda.is_available()
    options = {"device": "cuda"} if on_gpu else {}
    made = {name: module.asarray(value, **options) for name, value in VALUES.items()}
    made["xs"] = [made["a"], made["x"]]
    expected, got = (to_host(eval(written, names, made)) for written in (row[place], row[3]))
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_the_table_has_every_reduction():
    assert {*re.findall(r"gred\.(\w+)\(", " ".join(own for *_, own in ROWS))} >= REDUCTIONS
