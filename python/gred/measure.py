"""Measure kernel times and the limits to compare them with; all samples are returned."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from gred import _core
from gred.checks import number_from

Samples = np.ndarray[tuple[int], np.dtype[np.float64]]

_MOST = 1_000_000
_LAUNCHES_WARMUP, _READS_WARMUP, _READ_LEAST = 100, 2, 1024


def _rows(samples: int) -> Any:
    """Allocate rows for the samples of whole runs and of first passes."""
    return np.zeros((2, number_from(samples, "samples", _MOST)))


class KernelTime(NamedTuple):
    """Samples of a reduction's time on its device, in seconds, and the launch measured."""

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
    """Samples of the time to read `nbytes` with the fastest kernel, in seconds."""

    seconds: Samples
    nbytes: int
    device: str
    grid: int
    block_size: int | None


class LaunchLimit(NamedTuple):
    """Samples of the time from the launch of an empty kernel to its end, in seconds."""

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
    """Measure the time of a reduction on its device, without copies.

    Parameters
    ----------
    a : array_like of any shape
        Input array as for `gred.sum`. A host array is first copied to the device.
    op : str, default 'sum'
        Name of the reduction; see `gred.reductions`. A mean is measured as its sum.
    method, block_size, dtype, device
        As for `gred.sum`.
    samples, warmup : int
        Number of measured runs, and of unmeasured runs before them.
    cold : bool
        If True, a GPU's caches are flushed before each sample, outside the measured time.

    Returns
    -------
    KernelTime
        ``seconds``: float64, shape ``(samples,)``, the time of all passes, on a GPU from events;
        ``first_pass``: the time of the first launch only; ``nbytes``: the array's size; ``grid``:
        the first launch's blocks; ``method``: the method that ran ("auto" if it is the device's
        default); ``result``: of the last run. Working copies are not part of the measured time.

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
    """Measure how fast a device can read its memory, the limit for every reduction.

    Parameters
    ----------
    device : str, optional
        As for `gred.sum`; by default the first GPU if there is one, else the simulated device.
    nbytes : int
        Bytes of random data to read.
    samples : int
        Number of measurements of each launch configuration of the reading kernel.
    cold : bool
        As for `kernel_time`.

    Returns
    -------
    ReadLimit
        ``seconds``: float64, shape ``(samples,)``, of the launch configuration with the smallest
        median. The limit in bytes per second is ``nbytes / np.median(seconds)``.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As `gred.sum`.
    """
    rows, nbytes = _rows(samples), number_from(nbytes, "nbytes", 2**63 - 1, _READ_LEAST)
    where = _core.device_time(device, nbytes, rows, _READS_WARMUP, bool(cold))
    return ReadLimit(rows[0], nbytes, *where)


def launch_limit(device: str | None = None, *, samples: int = 1000) -> LaunchLimit:
    """Measure a device's launch latency, the limit for calls with few elements.

    Parameters
    ----------
    device, samples
        As for `read_limit`.

    Returns
    -------
    LaunchLimit
        ``seconds``: float64, shape ``(samples,)``, measured in C by the host's clock, from the
        launch of an empty kernel to its end.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As `gred.sum`; ValueError also for the host, where nothing is launched.
    """
    rows = _rows(samples)
    name, *_ = _core.device_time(device, 0, rows, _LAUNCHES_WARMUP, False)
    return LaunchLimit(rows[0], name)
