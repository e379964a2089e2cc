"""Array reductions by every rung of the classic GPU ladder, on a GPU, a simulated one, or the host.

>>> import gred, numpy as np
>>> gred.sum(np.arange(1_000_000), method="unroll8", device="simulated")
np.int64(499999500000)
"""

from importlib import import_module as _import_module

from gred._core import (
    CudaError,
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    dot,
    max,
    mean,
    min,
    minmax,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nansum,
    norm,
    prod,
    ptp,
    std,
    sum,
    var,
)
from gred.cores import threads
from gred.device_array import DeviceArray
from gred.exact import ExactSum
from gred.explanation import Explanation, explain
from gred.measure import KernelTime, LaunchLimit, ReadLimit, kernel_time, launch_limit, read_limit
from gred.order import thread_order
from gred.records import Device, Method, Reduction, build_info, devices, methods, reductions
from gred.segments import reduceat
from gred.summary import Summary, describe
from gred.workspace import workspace_limit

__version__ = "0.1.0"

__all__ = [
    "Access",
    "Accesses",
    "Counters",
    "Counts",
    "CudaError",
    "Device",
    "DeviceArray",
    "ExactSum",
    "Explanation",
    "KernelTime",
    "LaunchLimit",
    "Method",
    "ReadLimit",
    "Reduction",
    "Roofline",
    "Summary",
    "accesses",
    "all",
    "any",
    "argmax",
    "argmin",
    "build_info",
    "count_nonzero",
    "counters",
    "describe",
    "devices",
    "dot",
    "explain",
    "kernel_time",
    "lab",
    "launch_limit",
    "max",
    "mean",
    "methods",
    "min",
    "minmax",
    "nanmax",
    "nanmean",
    "nanmin",
    "nanprod",
    "nansum",
    "norm",
    "prod",
    "ptp",
    "read_limit",
    "reduceat",
    "reductions",
    "roofline",
    "std",
    "sum",
    "thread_order",
    "threads",
    "var",
    "workspace_limit",
]


# Most programs sum and never count: what shows how rungs work is imported when somebody asks.
_LABORATORY = {
    "Access": "gred.recording",
    "Accesses": "gred.recording",
    "Counters": "gred.counting",
    "Counts": "gred.counting",
    "Roofline": "gred.prediction",
    "accesses": "gred.recording",
    "counters": "gred.counting",
    "roofline": "gred.prediction",
}


# And modules, of which some need libraries that are installed apart.
_MODULES = ("dask", "lab", "mpi", "testing", "torch")


def __getattr__(name: str) -> object:
    """Import a part of the laboratory, or a module."""
    if name in _MODULES:
        return _import_module(f"gred.{name}")
    if name in _LABORATORY:
        return getattr(_import_module(_LABORATORY[name]), name)
    raise AttributeError(f"module 'gred' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
