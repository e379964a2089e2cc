"""Array reductions by every rung of the classic GPU ladder, on a GPU, a simulated GPU or the host.

>>> import gred, numpy as np
>>> gred.sum(np.arange(1_000_000), method="unroll8", device="simulated")
np.int64(499999500000)
"""

from importlib import import_module as _import_module
from sys import modules as _modules
from typing import TYPE_CHECKING

try:  # noqa: SIM105
    # gred-cuda13 has a core with GPU kernels, which replaces the one next to this file.
    __path__[:0] = _import_module("gred_cuda13").__path__
except ImportError:
    pass

from gred._core import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    dot,
    logsumexp,
    max,
    mean,
    min,
    minmax,
    nanargmax,
    nanargmin,
    nanmax,
    nanmean,
    nanmin,
    nanprod,
    nanstd,
    nansum,
    nanvar,
    norm,
    prod,
    ptp,
    std,
    sum,
    var,
)
from gred.device_array import DeviceArray
from gred.errors import CudaError
from gred.exact import ExactMoments, ExactSum, ExactSums, corrcoef, cov
from gred.explanation import Explanation, explain
from gred.keys import by_key
from gred.measure import KernelTime, LaunchLimit, ReadLimit, kernel_time, launch_limit, read_limit
from gred.records import (
    Device,
    Method,
    Reduction,
    build_info,
    devices,
    methods,
    reductions,
    show_config,
)
from gred.segments import each, reduceat
from gred.settings import register_threadpoolctl, thread_order, threads, workspace_limit
from gred.statistics.products import vecdot
from gred.statistics.quantiles import median, nanmedian, nanquantile, quantile
from gred.statistics.summary import Summary, describe

if TYPE_CHECKING:
    from gred import dask as dask
    from gred import lab as lab
    from gred import mpi as mpi
    from gred import testing as testing
    from gred import torch as torch
    from gred.counting import Counters, Counts, counters
    from gred.prediction import Roofline, roofline
    from gred.recording import Access, Accesses, accesses

__version__ = "0.2.0"

__all__ = ["all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min", "minmax"]
__all__ += ["nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd"]
__all__ += ["median", "nanmedian", "nanquantile", "nansum", "nanvar", "quantile"]
__all__ += ["by_key", "corrcoef", "cov", "dot", "each", "logsumexp", "norm", "prod", "ptp"]
__all__ += ["reduceat", "std", "sum", "var", "vecdot"]
__all__ += ["CudaError", "DeviceArray", "ExactMoments", "ExactSum", "ExactSums"]
__all__ += ["Summary", "accesses", "counters", "describe", "explain", "lab", "roofline"]
__all__ += ["Device", "Method", "Reduction", "build_info", "devices", "methods", "reductions"]
__all__ += ["KernelTime", "LaunchLimit", "ReadLimit", "kernel_time", "launch_limit", "read_limit"]
__all__ += ["Access", "Accesses", "Counters", "Counts", "Explanation", "Roofline"]
__all__ += ["register_threadpoolctl", "show_config", "thread_order", "threads", "workspace_limit"]

# Names and submodules that are imported on first access, since few programs need them and some
# require libraries that are installed separately. Type checkers see the imports above.
_LAZY = {
    "gred.counting": ("Counters", "Counts", "counters"),
    "gred.prediction": ("Roofline", "roofline"),
    "gred.recording": ("Access", "Accesses", "accesses"),
}
_MODULES = ("dask", "lab", "mpi", "testing", "torch")

if "threadpoolctl" in _modules:
    register_threadpoolctl()

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a lazy submodule, or the module that defines a lazy name."""
        if name in _MODULES:
            return _import_module(f"gred.{name}")
        for module, names in _LAZY.items():
            if name in names:
                return getattr(_import_module(module), name)
        raise AttributeError(f"module 'gred' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, *(name for name in globals() if name.startswith("__"))})
