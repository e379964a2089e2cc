"""Defects that are planted, to see whether these tests find them, can still be planted."""

import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.unsanitized

ROOT = Path(__file__).parents[2]


@pytest.fixture
def defects(benchmarks):
    return benchmarks.defects


def test_every_defect_can_be_planted_in_this_tree(defects):
    for defect in defects.DEFECTS:
        text = (ROOT / defect.file).read_text(encoding="utf-8")
        assert defect.planted(text) != text
        assert all((ROOT / "tests" / name).exists() for name in defect.tests.split()), defect.name
    assert {defect.kind for defect in defects.DEFECTS} == set(defects.KINDS)


def test_a_defect_that_the_tree_has_outgrown_is_named(defects):
    first = defects.DEFECTS[0]
    for text in ("", 2 * first.old):
        with pytest.raises(ValueError, match=rf"{first.name}.*{first.file}"):
            first.planted(text)


def test_what_is_told_of_defects_is_what_was_found(defects):
    path = ROOT / "benchmarks/results/mutations.json"
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert [row["name"] for row in kept] == [defect.name for defect in defects.DEFECTS]
    found = [row["found_by"] for row in kept if row["found_by"]]
    assert all((ROOT / test.partition("::")[0]).exists() for test in found)
    told = " ".join((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split())
    assert f"Of {len(kept)} the default run finds {len(found)};" in told
