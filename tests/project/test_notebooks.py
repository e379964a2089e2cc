"""The notebooks are stored as run, from the first cell to the last.

`python notebooks/run.py --check`, which .ci/run calls, checks that their outputs are current.
"""

import copy
import importlib.util
import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.unsanitized

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LARGEST = 300_000


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_was_run_in_order_and_is_kept_without_noise(path):
    text = path.read_text(encoding="utf-8")
    kept = json.loads(text)
    assert text == json.dumps(kept, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    assert len(text) < LARGEST
    assert set(kept["metadata"]) == {"kernelspec", "language_info"}
    assert all(cell["metadata"] in ({}, {"tags": ["times"]}) for cell in kept["cells"])
    assert kept["cells"][0]["cell_type"] == "markdown"
    assert "".join(kept["cells"][0]["source"]).startswith("# ")
    cells = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert len(cells) > 3
    for output in (output for cell in cells for output in cell["outputs"]):
        assert output["output_type"] != "error"
        assert output.get("name") != "stderr"
        assert output.get("metadata", {}) == {}


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Load the script, for a folder of its own."""
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    spec = importlib.util.spec_from_file_location("run_notebooks", NOTEBOOKS / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HERE", tmp_path)
    return module


def notebook(run, *sources):
    """Make a notebook of code cells, the last of which shows times."""
    cells = [run.nbformat.v4.new_code_cell(source) for source in sources]
    cells[-1].metadata.tags = ["times"]
    return run.nbformat.v4.new_notebook(cells=cells)


def test_what_is_kept_is_what_is_shown_and_a_notebook_that_fails_says_so(run, tmp_path, capfd):
    kept = run.executed(notebook(run, "print(1)\nprint(2)", "id(object())"))
    assert [output.text for output in kept.cells[0].outputs] == ["1\n2\n"]
    assert run.differences(kept, run.executed(kept)) == []
    changed = copy.deepcopy(kept)
    changed.cells[0].outputs[0].text = "1\n3\n"
    changed.cells[1].source = "id(None)"
    assert {"-3", "+2", "-id(None)"} <= set(run.differences(changed, kept))
    wrong = tmp_path / "wrong.ipynb"
    run.nbformat.write(notebook(run, "1 / 0"), wrong)
    before = wrong.read_bytes()
    assert run.main(["--check"]) == run.main([]) == 1
    assert "ZeroDivisionError" in capfd.readouterr().out
    assert wrong.read_bytes() == before
