"""The command's tests work in empty folders, and with warm caches, since none is about a pace."""

import functools

import pytest

import gred


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for name in ("kernel_time", "read_limit"):
        monkeypatch.setattr(gred, name, functools.partial(getattr(gred, name), cold=False))
