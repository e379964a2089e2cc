"""Shared test parameters and the selection of cases; CONTRIBUTING.md describes both.

A test marked `gpu_alone` has the GPU's memory to itself: it holds a readers-writer lock that the
tests of all workers share.
"""

import contextlib
import fcntl
import gc
import importlib
import os
import sys
from collections import defaultdict
from functools import cache, partial
from pathlib import Path

import pytest
from devices import GPU_IS_HERE, GPUS, PLACES, needs_gpu, parameter
from gpu_arrays import use_device
from gpu_libraries import LIBRARIES
from hypothesis import HealthCheck, settings
from inputs import block_sizes, methods_on
from scripts import BENCHMARKS
from thin import NAME, one_in, pairwise

import gred

MEASURED = cache(partial(gred.read_limit, cold=False))


def pytest_addoption(parser):
    options = {"action": "store_const", "dest": "selection", "default": "usual"}
    add = partial(parser.getgroup("gred").addoption, **options)
    add("--thorough", const="thorough", help="run every case of each test")
    add("--sanitized", const="sanitized", help="run few cases, and nothing that sanitizers disturb")


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    os.environ[NAME] = config.getoption("selection")
    # By default Hypothesis has no deadline and draws the same examples in every run.
    if not config.getoption("--hypothesis-profile", None):
        steady = {"deadline": None, "derandomize": True}
        steady["suppress_health_check"] = [HealthCheck.too_slow]
        settings.register_profile("steady", **steady)
        settings.load_profile("steady")
    few = settings().max_examples // one_in()
    settings.register_profile("few", settings(), max_examples=few)
    settings.load_profile("few")
    config.addinivalue_line("markers", "gpu: runs on a GPU only")
    config.addinivalue_line("markers", "gpu_alone: no other worker may use the GPU's memory")
    config.addinivalue_line("markers", "unsanitized: measures memory or time, or has no C in it")


def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(needs_gpu)
    kept = items if GPU_IS_HERE else without_gpu(items)
    if config.getoption("selection") == "sanitized":
        kept = [item for item in kept if not item.get_closest_marker("unsanitized")]
    if one_in() > 1 and not any("[" in name for name in config.args):
        names = defaultdict(list)  # keep cases that cover every pair of parameter values
        for item in kept:
            names[item.function].append(name_of(item))
        some = {test: pairwise(of_it) for test, of_it in names.items()}
        kept = [item for item in kept if name_of(item) in some[item.function]]
    chosen = set(kept)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = kept


def without_gpu(items):
    """Drop all but the first case of each test that needs a GPU; that case reports the skip."""
    kept, told = [], set()
    for item in items:
        if needs_gpu.mark not in item.own_markers:
            kept.append(item)
        elif item.function not in told:
            told.add(item.function)
            kept.append(item)
    return kept


def name_of(item):
    return item.callspec.id if hasattr(item, "callspec") else ""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    if not GPU_IS_HERE:
        return (yield)
    with gpu_lock(exclusive=item.get_closest_marker("gpu_alone") is not None):
        return (yield)


@contextlib.contextmanager
def gpu_lock(exclusive):
    """Hold a readers-writer lock shared by all workers; readers queue behind a waiting writer."""
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    here = Path(__file__)
    with here.open() as queue, here.with_name("sanitize.py").open() as memory:
        fcntl.flock(queue, kind)
        fcntl.flock(memory, kind)
        if not exclusive:
            fcntl.flock(queue, fcntl.LOCK_UN)
        try:
            yield
        finally:  # explicit, as processes forked by the test may have the files open
            fcntl.flock(memory, fcntl.LOCK_UN)
            fcntl.flock(queue, fcntl.LOCK_UN)


@pytest.fixture(scope="module", autouse=True)
def old_objects_are_kept():
    """Exempt objects older than the module from garbage collection, which many tests run."""
    gc.freeze()


@pytest.fixture(autouse=True)
def jax_as_before():
    """Restore the process-wide width of JAX's types, and the current GPU, which JAX changes."""
    before = jax_width()
    yield
    if jax_width() != before:
        sys.modules["jax"].config.update("jax_enable_x64", bool(before))
    if GPUS > 1 and "jax" in sys.modules:
        use_device(0)


def jax_width():
    jax = sys.modules.get("jax")
    return jax and jax.config.jax_enable_x64


def pytest_generate_tests(metafunc):
    names = metafunc.fixturenames
    if "device" not in names:
        return
    methods = {place: methods_on(place) for place in PLACES}
    methods["cuda"] = methods["cuda"][0 if GPU_IS_HERE else -1 :]  # one skipped case is enough
    pairs = [(place, method) for place in PLACES for method in methods[place]]
    if "rung" in names:
        rungs = [parameter(*pair) for pair in pairs if block_sizes(pair[1]) != (None,)]
        metafunc.parametrize(("device", "rung"), rungs)
    elif "method" in names:
        metafunc.parametrize(("device", "method"), [parameter(*pair) for pair in pairs])
    else:
        metafunc.parametrize("device", [parameter(place) for place in PLACES])


@pytest.fixture
def command(capsys, monkeypatch):
    """Run the command in this process; return the exit status, standard output and error."""

    from gred.cli.command import main

    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def screen(command):
    """Run the command, which must succeed; return its standard output."""

    def run(*arguments):
        status, out, err = command(*arguments)
        assert status == 0, (out, err)
        return out

    return run


@pytest.fixture
def refused(command):
    """Run the command, which must exit with status 2 and one error line; return that line."""

    def run(*arguments):
        status, out, err = command(*arguments)
        assert status == 2
        assert (out, err.count("\n")) == ("", 1)
        return err

    return run


@pytest.fixture
def given(monkeypatch):
    """Set attributes of a module or another object for the duration of a test."""

    def change(module, **values):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)

    return change


class Scripts:
    """The benchmark scripts as attributes, including those in measures/, imported on first use."""

    def __getattr__(self, name):
        measures = (BENCHMARKS / "measures" / f"{name}.py").exists()
        return importlib.import_module(f"measures.{name}" if measures else name)


@pytest.fixture
def benchmarks(given, monkeypatch):
    """Import the benchmark scripts; use warm caches, and measure each limit only once."""
    given(gred, read_limit=MEASURED, kernel_time=partial(gred.kernel_time, cold=False))
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return Scripts()


@pytest.fixture(scope="module")
def patient_lab():
    """Raise the time limits of a rung's compiler and process, for busy machines."""
    from gred.lab import building, checking, processes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "_SECONDS", 1800)
        patch.setattr(processes, "SECONDS", 600)
        patch.setattr(processes, "_END_SECONDS", 120)
        patch.setattr(processes, "_GRACE_SECONDS", 60)
        patch.setattr(checking, "_SECONDS_OF_A_FAULT", 600)
        yield


@pytest.fixture(scope="session", params=LIBRARIES, ids=[one.module for one in LIBRARIES])
def library(request):
    """Provide each library whose arrays can be on a GPU; skip those not installed."""
    return request.param()


@pytest.fixture
def writing(library):
    if not library.writes:
        pytest.skip(f"{library.module}'s arrays are never written")
    return library


@pytest.fixture
def the_next_call_is_right():
    """Check that a refused call does not affect the next one."""
    yield
    assert gred.sum([1, 2, 3]) == 6
    assert gred.sum([1, 2, 3], method="shuffle", device="simulated") == 6


@pytest.fixture
def threads_as_before():
    """Restore the number of threads."""
    before = gred.threads()
    yield
    gred.threads(before)


@pytest.fixture
def shuffled(request):
    """Shuffle the order of the simulated device's threads, differently in every test."""
    with gred.thread_order("shuffled", seed=sum(map(ord, request.node.name))):
        yield
