from contextlib import AbstractContextManager
from typing import Literal, SupportsIndex

from gred import dask as dask
from gred import lab as lab
from gred import mpi as mpi
from gred import testing as testing
from gred import torch as torch
from gred._core import CudaError as CudaError
from gred._core import all as all
from gred._core import any as any
from gred._core import argmax as argmax
from gred._core import argmin as argmin
from gred._core import count_nonzero as count_nonzero
from gred._core import dot as dot
from gred._core import max as max
from gred._core import mean as mean
from gred._core import min as min
from gred._core import minmax as minmax
from gred._core import nanmax as nanmax
from gred._core import nanmean as nanmean
from gred._core import nanmin as nanmin
from gred._core import nanprod as nanprod
from gred._core import nansum as nansum
from gred._core import norm as norm
from gred._core import prod as prod
from gred._core import ptp as ptp
from gred._core import std as std
from gred._core import sum as sum
from gred._core import var as var
from gred.cores import threads as threads
from gred.counting import Counters as Counters
from gred.counting import Counts as Counts
from gred.counting import counters as counters
from gred.device_array import DeviceArray as DeviceArray
from gred.exact import ExactSum as ExactSum
from gred.explanation import Explanation as Explanation
from gred.explanation import explain as explain
from gred.measure import KernelTime as KernelTime
from gred.measure import LaunchLimit as LaunchLimit
from gred.measure import ReadLimit as ReadLimit
from gred.measure import kernel_time as kernel_time
from gred.measure import launch_limit as launch_limit
from gred.measure import read_limit as read_limit
from gred.prediction import Roofline as Roofline
from gred.prediction import roofline as roofline
from gred.recording import Access as Access
from gred.recording import Accesses as Accesses
from gred.recording import accesses as accesses
from gred.records import Device as Device
from gred.records import Method as Method
from gred.records import Reduction as Reduction
from gred.records import build_info as build_info
from gred.records import devices as devices
from gred.records import methods as methods
from gred.records import reductions as reductions
from gred.segments import reduceat as reduceat
from gred.summary import Summary as Summary
from gred.summary import describe as describe
from gred.workspace import workspace_limit as workspace_limit

__version__: str

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

def thread_order(
    order: Literal["forwards", "backwards", "shuffled"], seed: SupportsIndex = 0
) -> AbstractContextManager[None]: ...
