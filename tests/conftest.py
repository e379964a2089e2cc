"""Parameters that tests share: each device that may be here, and each method on its devices.

A test that takes `device` runs once a device; with `method`, once for every method of every
device; with `rung`, once for every method that has block sizes. Without a GPU its cases skip, and
say so.
"""

import pytest
from inputs import block_sizes, methods_on

import gred

PLACES = ("host", "simulated", "cuda")
GPU_IS_HERE = any(device.name == "cuda:0" for device in gred.devices())
needs_gpu = pytest.mark.skipif(not GPU_IS_HERE, reason="there is no GPU here")


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: runs on a GPU only")
    config.addinivalue_line("markers", "unsanitized: measures memory or time, or other programs")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(needs_gpu)


def parameter(place: str, *more: str):
    """Make one parameter set, which skips if its device is not here."""
    return pytest.param(
        place, *more, id="-".join((place, *more)), marks=needs_gpu if place == "cuda" else ()
    )


def pytest_generate_tests(metafunc):
    names = metafunc.fixturenames
    if "device" not in names:
        return
    pairs = [(place, method) for place in PLACES for method in methods_on(place)]
    rungs = [(place, method) for place, method in pairs if block_sizes(method) != (None,)]
    if "rung" in names:
        metafunc.parametrize(("device", "rung"), [parameter(*pair) for pair in rungs])
    elif "method" in names:
        metafunc.parametrize(("device", "method"), [parameter(*pair) for pair in pairs])
    else:
        metafunc.parametrize("device", [parameter(place) for place in PLACES])
