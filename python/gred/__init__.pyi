from contextlib import AbstractContextManager
from typing import Literal, SupportsIndex

from gred._core import CudaError as CudaError
from gred._core import max as max
from gred._core import mean as mean
from gred._core import min as min
from gred._core import prod as prod
from gred._core import sum as sum
from gred.measure import KernelTime as KernelTime
from gred.measure import ReadLimit as ReadLimit
from gred.measure import kernel_time as kernel_time
from gred.measure import read_limit as read_limit
from gred.records import Device as Device
from gred.records import Method as Method
from gred.records import build_info as build_info
from gred.records import devices as devices
from gred.records import methods as methods
from gred.workspace import workspace_limit as workspace_limit

__version__: str

__all__ = [
    "CudaError",
    "Device",
    "KernelTime",
    "Method",
    "ReadLimit",
    "build_info",
    "devices",
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

def thread_order(
    order: Literal["forwards", "backwards", "shuffled"], seed: SupportsIndex = 0
) -> AbstractContextManager[None]: ...
