"""Array reductions by every rung of the classic GPU ladder, on a GPU, a simulated one, or the host.

>>> import gred, numpy as np
>>> gred.sum(np.arange(1_000_000), method="unroll8", device="simulated")
np.int64(499999500000)
"""

from gred._core import CudaError, max, mean, min, prod, sum
from gred.explanation import Explanation, explain
from gred.measure import KernelTime, ReadLimit, kernel_time, read_limit
from gred.order import thread_order
from gred.records import Device, Method, build_info, devices, methods
from gred.workspace import workspace_limit

__version__ = "0.1.0"

__all__ = [
    "CudaError",
    "Device",
    "Explanation",
    "KernelTime",
    "Method",
    "ReadLimit",
    "build_info",
    "devices",
    "explain",
    "kernel_time",
    "max",
    "mean",
    "methods",
    "min",
    "prod",
    "read_limit",
    "sum",
    "thread_order",
    "workspace_limit",
]
