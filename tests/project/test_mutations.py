"""Defects that are planted, to see whether these tests find them, can still be planted."""

import json

import pytest
from test_packaging import ROOT, text_of

pytestmark = pytest.mark.unsanitized


def test_every_defect_can_be_planted_in_this_tree(benchmarks):
    defects = benchmarks.defects.DEFECTS
    for defect in defects:
        assert defect.planted(text_of(defect.file)) != text_of(defect.file)
        assert all((ROOT / "tests" / name).exists() for name in defect.tests.split()), defect.name
    assert {defect.kind for defect in defects} == set(benchmarks.defects.KINDS)
    for text in ("", 2 * defect.old):  # which the tree has outgrown
        with pytest.raises(ValueError, match=rf"{defect.name}.*{defect.file}"):
            defect.planted(text)


def test_what_is_told_of_defects_is_what_was_found(benchmarks):
    kept = json.loads(text_of("benchmarks/results/mutations.json"))
    assert [row["name"] for row in kept] == [defect.name for defect in benchmarks.defects.DEFECTS]
    found = [row["found_by"] for row in kept if row["found_by"]]
    assert all((ROOT / test.partition("::")[0]).exists() for test in found)
    told = " ".join(text_of("CONTRIBUTING.md").split())
    assert f"Of {len(kept)} the default run finds {len(found)};" in told
