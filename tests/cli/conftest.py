"""The command's tests run in empty folders, with warm caches, and not under sanitizers."""

import functools

import pytest

import gred


def pytest_itemcollected(item):
    item.add_marker("unsanitized")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("kernel_time", "read_limit"):
        monkeypatch.setattr(gred, name, functools.partial(getattr(gred, name), cold=False))
