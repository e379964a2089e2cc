from contextlib import AbstractContextManager
from typing import Any, Literal

from numpy.typing import ArrayLike, DTypeLike

from gred.measure import KernelTime as KernelTime
from gred.measure import ReadLimit as ReadLimit
from gred.measure import kernel_time as kernel_time
from gred.measure import read_limit as read_limit
from gred.records import Device as Device
from gred.records import Method as Method
from gred.records import build_info as build_info
from gred.records import devices as devices
from gred.records import methods as methods

__version__: str
__all__: list[str]

def sum(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Any: ...
def prod(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Any: ...
def min(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Any: ...
def max(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Any: ...
def mean(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Any: ...
def thread_order(
    order: Literal["forwards", "backwards", "shuffled"], seed: int = 0
) -> AbstractContextManager[None]: ...
