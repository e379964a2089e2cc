"""The scripts of benchmarks/, and what stands for the libraries on a GPU: NumPy by their names."""

import importlib
import math
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import gred
from gred.cli import record

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


class Scripts:
    """The scripts as attributes, some by shorter names; a script is imported as it is named."""

    def __init__(self, monkeypatch, **shorter):
        monkeypatch.syspath_prepend(str(BENCHMARKS))
        always = {name: f"measures.{name}" for name in ("compiled", "figure", "timing")}
        self._names = {**always, **shorter}

    def __getattr__(self, name):
        return importlib.import_module(self._names.get(name, name))


def machine():
    return record.describe_machine(next(d for d in gred.devices() if d.name == "host"))


@pytest.fixture
def benchmarks(monkeypatch):
    """Import the scripts as they import one another."""
    return Scripts(
        monkeypatch,
        axes="measures.axes_figures",
        cub="measures.reproducible_cub",
        exact="measures.exact_figures",
        host="measures.exact_on_host",
        segments="measures.segments_figures",
        times="measures.device_times",
    )


@pytest.fixture
def given(monkeypatch):
    """Give a module, or what has attributes, other values for the time of a test."""

    def change(module, **values):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)

    return change


class Stream(int):
    """A stream that is always done."""

    ptr = 1

    def __new__(cls, non_blocking=False):
        return int.__new__(cls, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def synchronize(self):
        return None


class CuPy:
    """NumPy by CuPy's names, and a GPU's words; its events tell the host's time."""

    def __init__(self, clock=time.perf_counter):
        self.queued = []

        class Event:
            def record(self, _, cupy=self):
                cupy.queued.append("event")
                self.at = clock()

            def synchronize(self):
                return None

        self.cuda = SimpleNamespace(
            Event=Event,
            Stream=Stream,
            Device=lambda: Stream(),
            get_elapsed_time=lambda before, after: 1e3 * (after.at - before.at),
        )

    def __getattr__(self, name):
        return getattr(np, name)

    def RawKernel(self, code, name):  # noqa: N802
        return lambda *_: self.queued.append(name)

    def get_default_memory_pool(self):
        return SimpleNamespace(free_all_blocks=lambda: None)


class Tensor(np.ndarray):
    """An array with what a tensor has."""

    def is_floating_point(self):
        return self.dtype.kind == "f"

    def to(self, dtype):
        return self.astype(dtype)


class PyTorch:
    """NumPy by PyTorch's names."""

    Tensor, float64, bfloat16 = Tensor, np.float64, np.float16
    cuda = SimpleNamespace(
        init=lambda: None,
        ExternalStream=lambda _: Stream(),
        stream=lambda s: s,
        empty_cache=lambda: None,
    )

    def as_tensor(self, array, device):
        return np.asarray(array).view(Tensor)

    def zeros(self, shape, dtype, device):
        return np.zeros(shape, dtype).view(Tensor)

    def amax(self, tensor, dim):
        return np.max(tensor, axis=dim)

    def var(self, tensor, dim, correction):
        if not tensor.is_floating_point():
            raise RuntimeError("not of integers")
        return np.var(tensor, axis=dim, ddof=correction)

    def __getattr__(self, name):
        return lambda tensor, dim=None, **options: getattr(np, name)(tensor, axis=dim, **options)


@pytest.fixture
def cupy():
    return CuPy()


@pytest.fixture
def gpu(benchmarks, cupy, monkeypatch):
    """A GPU without JAX that reads 4 bytes a nanosecond, and all the patience with its peers."""
    for module in (benchmarks.axes, benchmarks.exact, benchmarks.segments):
        monkeypatch.setattr(module, "PATIENCE", math.inf)
    monkeypatch.setattr(benchmarks.times, "OTHER_BYTES", 64)
    monkeypatch.setattr(benchmarks.axes, "peers", lambda: (cupy, PyTorch()))
    monkeypatch.setattr(benchmarks.axes, "compile_ahead", lambda dtype: None)
    monkeypatch.setitem(sys.modules, "jax", None)
    limit = SimpleNamespace(nbytes=4000, seconds=np.array([1e-6]))
    monkeypatch.setattr(gred, "read_limit", lambda *_, **__: limit)
    monkeypatch.setattr(benchmarks.cub, "compiled_sums", lambda: None)
    return benchmarks.exact.Bench()


@pytest.fixture
def pretended(benchmarks, gpu, monkeypatch):
    """Seconds that libraries are pretended to take on the device."""
    seconds = {"exact": 2e-3, "gred": 1e-3, "CuPy": 3e-3, "PyTorch": 5e-3}
    seconds[benchmarks.exact.CUB] = 4e-3
    monkeypatch.setattr(gpu.times, "medians", lambda calls: {name: seconds[name] for name in calls})
    monkeypatch.setattr(gpu.times, "able", lambda calls, *_: calls)
    return seconds


def warning_free(rows):
    """List the rows of little arrays, some of which have no variance."""
    with np.errstate(all="ignore"):
        return list(rows)
