"""The scripts of benchmarks/, and fakes of the GPU libraries that are based on NumPy."""

import time
from pathlib import Path
from unittest.mock import MagicMock

import numpy as np

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


class CuPy:
    """NumPy with CuPy's names and a GPU's functions; its events read the clock."""

    def __init__(self, clock=time.perf_counter):
        self.queued = []

        class Event:
            def record(self, _, cupy=self):
                cupy.queued.append("event")
                self.at = clock()

            def synchronize(self):
                return None

        self.cuda = MagicMock(Event=Event, Stream=lambda non_blocking=False: MagicMock(ptr=1))
        self.cuda.get_elapsed_time = lambda before, after: 1e3 * (after.at - before.at)

    def __getattr__(self, name):
        return getattr(np, name)

    def RawKernel(self, code, name):  # noqa: N802
        return lambda *_: self.queued.append(name)

    def get_default_memory_pool(self):
        return MagicMock()


class Tensor(np.ndarray):
    """An array with a tensor's methods."""

    def is_floating_point(self):
        return self.dtype.kind == "f"

    def to(self, dtype):
        return self.astype(dtype)


class PyTorch:
    """NumPy with PyTorch's names."""

    Tensor, float64, bfloat16 = Tensor, np.float64, np.float16
    cuda = MagicMock()

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
