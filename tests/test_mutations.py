"""Defects that are planted, to see whether these tests find them, can still be planted."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def defects(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import defects

    return defects


def test_every_defect_can_be_planted_in_this_tree(defects):
    for defect in defects.DEFECTS:
        text = (ROOT / defect.file).read_text(encoding="utf-8")
        assert defect.planted(text) != text
        assert all((ROOT / "tests" / name).exists() for name in defect.tests.split()), defect.name
    assert {defect.kind for defect in defects.DEFECTS} == set(defects.KINDS)
