"""The scripts of benchmarks/, and what stands for the libraries on a GPU: NumPy by their names."""

import importlib
import time
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

import gred
from gred.cli import record

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


class Scripts:
    """The scripts as attributes, some by shorter names; a script is imported as it is named."""

    NAMES: ClassVar = {
        name: f"measures.{name}" for name in ("compiled", "drawn_calls", "figure", "timing")
    } | {
        "axes": "measures.axes_figures",
        "cub": "measures.reproducible_cub",
        "exact": "measures.exact_figures",
        "exact_on_host": "measures.exact_on_host",
        "host": "measures.host_figures",
        "segments": "measures.segments_figures",
        "small": "measures.small_calls",
        "times": "measures.device_times",
        "types": "measures.type_figures",
    }

    def __getattr__(self, name):
        return importlib.import_module(self.NAMES.get(name, name))


def machine():
    return record.describe_machine(next(d for d in gred.devices() if d.name == "host"))


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


def warning_free(rows):
    """List the rows of little arrays, some of which have no variance."""
    with np.errstate(all="ignore"):
        return list(rows)
