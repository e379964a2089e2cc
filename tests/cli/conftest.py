"""The command's tests work in empty folders, and with warm caches, since none is about a pace.

Sanitizers are kept off them, as there is little C in any.
"""

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
