"""Array reductions by every rung of the classic GPU ladder, on a GPU, a simulated one, or the host.

>>> import gred, numpy as np
>>> gred.sum(np.arange(1_000_000), method="unroll8", device="simulated")
np.int64(499999500000)
"""

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
from gred.counting import Counters, Counts, counters
from gred.device_array import DeviceArray
from gred.exact import ExactSum
from gred.explanation import Explanation, explain
from gred.measure import KernelTime, LaunchLimit, ReadLimit, kernel_time, launch_limit, read_limit
from gred.order import thread_order
from gred.recording import Access, Accesses, accesses
from gred.records import Device, Method, Reduction, build_info, devices, methods, reductions
from gred.segments import reduceat
from gred.summary import Summary, describe
from gred.workspace import workspace_limit

from gred import lab  # isort: skip  (it is made of all the others)

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
    "std",
    "sum",
    "thread_order",
    "threads",
    "var",
    "workspace_limit",
]
