"""The notebooks are kept as somebody has run them, from the first cell to the last.

Whether they still show the same, `python notebooks/run.py --check` finds out, which .ci/run calls.
"""

import copy
import importlib.util
import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.unsanitized

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
LARGEST = 300_000

TOY = {
    "cells": [
        {"cell_type": "code", "id": "a", "metadata": {}, "source": "print(1)\nprint(2)"},
        {"cell_type": "code", "id": "b", "metadata": {"tags": ["times"]}, "source": "id(object())"},
    ],
    **{"metadata": {}, "nbformat": 4, "nbformat_minor": 5},
}
every_notebook = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


def code_cells(path):
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture
def run():
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    spec = importlib.util.spec_from_file_location("run_notebooks", NOTEBOOKS / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def notebook(run, *sources):
    toy = copy.deepcopy(TOY)
    for cell, source in zip(toy["cells"], sources, strict=False):
        cell["source"] = source
    for cell in toy["cells"]:
        cell |= {"execution_count": None, "outputs": []}
    return run.nbformat.from_dict(toy)


@every_notebook
def test_every_cell_was_run_in_order_without_an_error(path):
    cells = code_cells(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert len(cells) > 3
    for cell in cells:
        assert all(output["output_type"] != "error" for output in cell["outputs"])
        assert all(output.get("name") != "stderr" for output in cell["outputs"])


@every_notebook
def test_a_notebook_begins_with_what_it_is_about_and_is_kept_without_noise(path):
    kept, text = read(path), path.read_text(encoding="utf-8")
    assert kept["cells"][0]["cell_type"] == "markdown"
    assert "".join(kept["cells"][0]["source"]).startswith("# ")
    assert text == json.dumps(kept, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    assert len(text) < LARGEST
    assert set(kept["metadata"]) == {"kernelspec", "language_info"}
    assert all(cell["metadata"] in ({}, {"tags": ["times"]}) for cell in kept["cells"])
    for cell in code_cells(path):
        assert all(output.get("metadata", {}) == {} for output in cell["outputs"])


def test_what_is_kept_is_what_is_shown(run):
    kept = run.executed(notebook(run))
    assert [output.text for output in kept.cells[0].outputs] == ["1\n2\n"]
    assert run.differences(kept, run.executed(kept)) == []
    changed = copy.deepcopy(kept)
    changed.cells[0].outputs[0].text = "1\n3\n"
    assert {"-3", "+2"} <= set(run.differences(changed, kept))
    changed = copy.deepcopy(kept)
    changed.cells[1].source = "id(None)"
    assert "-id(None)" in run.differences(changed, kept)


def test_a_notebook_that_fails_says_so(run, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(run, "HERE", tmp_path)
    run.nbformat.write(notebook(run, "1 / 0"), tmp_path / "wrong.ipynb")
    before = (tmp_path / "wrong.ipynb").read_bytes()
    assert run.main(["--check"]) == run.main([]) == 1
    assert "ZeroDivisionError" in capfd.readouterr().out
    assert (tmp_path / "wrong.ipynb").read_bytes() == before
