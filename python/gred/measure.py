"""Kernel times, and the limit that they are measured against: all samples, not only a mean."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from gred import _core
from gred.checks import number_from

Samples = np.ndarray[tuple[int], np.dtype[np.float64]]

_MOST = 1_000_000
_LAUNCHES_WARMUP, _READS_WARMUP, _READ_LEAST = 100, 2, 1024


def _rows(samples: int) -> Any:
    """Make room for samples of whole runs, and of their first passes."""
    return np.zeros((2, number_from(samples, "samples", _MOST)))


class KernelTime(NamedTuple):
    """Samples of one reduction's time on its device, in seconds, and what was run."""

    seconds: Samples
    first_pass: Samples
    nbytes: int
    passes: int
    grid: int
    block_size: int | None
    method: str
    device: str
    result: Any


class ReadLimit(NamedTuple):
    """Samples of the time that reading `nbytes` takes, in seconds, by the best kernel."""

    seconds: Samples
    nbytes: int
    device: str
    grid: int
    block_size: int | None


class LaunchLimit(NamedTuple):
    """Samples of the time from a launch of nothing to its end, in seconds."""

    seconds: Samples
    device: str


def kernel_time(
    a: Any,
    op: str = "sum",
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    samples: int = 20,
    warmup: int = 2,
    cold: bool = True,
) -> KernelTime:
    """Measure the time that a reduction takes on its device, without copies.

    Parameters
    ----------
    a : array_like of any shape
        As for `gred.sum`. A host array is copied to the device once, beforehand.
    op : str, default 'sum'
        What to reduce by; `gred.reductions` lists them. A mean is measured as its sum.
    method, block_size, dtype, device
        As for `gred.sum`.
    samples, warmup : int
        How often to measure, and how many runs to discard before.
    cold : bool
        Whether a GPU's caches are flushed before each sample, outside the measured time.

    Returns
    -------
    KernelTime
        ``seconds``: float64, shape ``(samples,)``, all passes, by the device's own events on a GPU;
        ``first_pass``: the same for the first launch alone; ``nbytes``: the array's size; ``grid``:
        the first launch's blocks; ``method``: what ran ("auto" where it is the device's own way);
        ``result``: the last run's. A working copy is made outside the measured time.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As `gred.sum`; ValueError for an empty array, too.
    """
    options = {"method": method, "block_size": block_size, "dtype": dtype, "device": device}
    rows, before = _rows(samples), number_from(warmup, "warmup", _MOST, 0)
    return KernelTime(*rows, *_core.kernel_time(a, op, rows, before, bool(cold), **options))


def read_limit(
    device: str | None = None, nbytes: int = 2**28, *, samples: int = 20, cold: bool = True
) -> ReadLimit:
    """Measure how fast a device can read its memory: the limit for every reduction.

    Parameters
    ----------
    device : str, optional
        As for `gred.sum`; by default the first GPU if there is one, else the simulated device.
    nbytes : int
        How much to read, of random data.
    samples : int
        How often to measure each shape of the reading kernel.
    cold : bool
        As for `kernel_time`.

    Returns
    -------
    ReadLimit
        ``seconds``: float64, shape ``(samples,)``, of the shape with the smallest median. The limit
        in bytes a second is ``nbytes / np.median(seconds)``.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As `gred.sum`.
    """
    rows, nbytes = _rows(samples), number_from(nbytes, "nbytes", 2**63 - 1, _READ_LEAST)
    where = _core.device_time(device, nbytes, rows, _READS_WARMUP, bool(cold))
    return ReadLimit(rows[0], nbytes, *where)


def launch_limit(device: str | None = None, *, samples: int = 1000) -> LaunchLimit:
    """Measure a device's launch latency: the limit for every call, however few its elements.

    Parameters
    ----------
    device, samples
        As for `read_limit`.

    Returns
    -------
    LaunchLimit
        ``seconds``: float64, shape ``(samples,)``, by the host's clock, from the launch of a kernel
        that does nothing to its end, both called from C.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As `gred.sum`; ValueError for the host, too, where nothing is launched.
    """
    rows = _rows(samples)
    name, *_ = _core.device_time(device, 0, rows, _LAUNCHES_WARMUP, False)
    return LaunchLimit(rows[0], name)
