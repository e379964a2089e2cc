import sys
from contextvars import ContextVar
from typing import Any, SupportsIndex, TypeVar, final, overload

from numpy.typing import ArrayLike, DTypeLike

cuda: str
architectures: str
thread_order: ContextVar[tuple[int, int]]
workspace_limit: ContextVar[int]

_Out = TypeVar("_Out")

class CudaError(RuntimeError):
    call: str
    name: str
    text: str

@final
class SimulatedMemory:
    def __new__(cls, nbytes: int, /) -> SimulatedMemory: ...
    @property
    def address(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class DeviceMemory:
    @property
    def address(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def device(self) -> str: ...
    @property
    def dl_device(self) -> tuple[int, int]: ...
    @property
    def stream(self) -> int | None: ...
    def read(self, target: Any, /) -> None: ...
    def capsule(
        self, shape: tuple[int, ...], type_name: str, stream: int, versioned: bool, /
    ) -> Any: ...

@overload
def sum(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def sum(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def sum(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: DTypeLike | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def prod(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def prod(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def prod(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: DTypeLike | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def min(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def min(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def min(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def max(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def max(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def max(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def mean(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def mean(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def mean(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: DTypeLike | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def any(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def any(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def any(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def all(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def all(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def all(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def count_nonzero(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    keepdims: SupportsIndex = False,
    out: None = None,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def count_nonzero(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    keepdims: SupportsIndex = False,
    out: _Out,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def argmin(
    a: ArrayLike | Any,
    axis: SupportsIndex | None = None,
    out: None = None,
    *,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def argmin(
    a: ArrayLike | Any,
    axis: SupportsIndex | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def argmin(
    a: ArrayLike | Any,
    axis: SupportsIndex | None,
    out: _Out,
    *,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def argmax(
    a: ArrayLike | Any,
    axis: SupportsIndex | None = None,
    out: None = None,
    *,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def argmax(
    a: ArrayLike | Any,
    axis: SupportsIndex | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def argmax(
    a: ArrayLike | Any,
    axis: SupportsIndex | None,
    out: _Out,
    *,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def var(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    mean: Any = ...,
    correction: float = ...,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def var(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out: _Out,
    ddof: float = 0,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    mean: Any = ...,
    correction: float = ...,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def var(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: DTypeLike | None,
    out: _Out,
    ddof: float = 0,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    mean: Any = ...,
    correction: float = ...,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def std(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: float = 0,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    mean: Any = ...,
    correction: float = ...,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def std(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out: _Out,
    ddof: float = 0,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    mean: Any = ...,
    correction: float = ...,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def std(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: DTypeLike | None,
    out: _Out,
    ddof: float = 0,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    mean: Any = ...,
    correction: float = ...,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def ptp(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    *,
    dtype: DTypeLike | None = None,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def ptp(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    dtype: DTypeLike | None = None,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def ptp(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    *,
    dtype: DTypeLike | None = None,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def nansum(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def nansum(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def nansum(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: DTypeLike | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def nanprod(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def nanprod(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def nanprod(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: DTypeLike | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def nanmin(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def nanmin(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def nanmin(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def nanmax(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def nanmax(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def nanmax(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    dtype: DTypeLike | None = None,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def nanmean(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def nanmean(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    dtype: DTypeLike | None = None,
    *,
    out: _Out,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def nanmean(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None,
    dtype: DTypeLike | None,
    out: _Out,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
@overload
def norm(
    x: ArrayLike | Any,
    ord: float | None = None,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    keepdims: SupportsIndex = False,
    *,
    dtype: DTypeLike | None = None,
    out: None = None,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
@overload
def norm(
    x: ArrayLike | Any,
    ord: float | None = None,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    keepdims: SupportsIndex = False,
    *,
    dtype: DTypeLike | None = None,
    out: _Out,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> _Out: ...
def minmax(
    a: ArrayLike | Any,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    *,
    keepdims: SupportsIndex = False,
    dtype: DTypeLike | None = None,
    where: ArrayLike = True,
    method: str = "auto",
    block_size: int | None = None,
    device: str | None = None,
    stream: Any = None,
) -> tuple[Any, Any]: ...
def describe(
    a: ArrayLike | Any,
    /,
    ddof: float = 0,
    *,
    axis: SupportsIndex | tuple[SupportsIndex, ...] | None = None,
    keepdims: SupportsIndex = False,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    where: ArrayLike = True,
    stream: Any = None,
) -> tuple[Any, ...]: ...
def parse(a: Any, /) -> None: ...
def nothing(*arguments: Any) -> None: ...
def threads(most: int, /) -> int: ...
def dot(
    a: ArrayLike | Any,
    b: ArrayLike | Any,
    *,
    method: str = "auto",
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
def element(a: Any, /) -> str: ...
def exact_sum(a: Any, /) -> bytes: ...
def exact_products(a: Any, b: Any, /) -> bytes: ...
def exact_normalised(words: Any, /) -> bytes: ...
def exact_rounded(words: Any, divisor: int, dtype: DTypeLike, /) -> Any: ...
def methods() -> tuple[tuple[Any, ...], ...]: ...
def reductions() -> tuple[tuple[Any, ...], ...]: ...
def devices() -> list[tuple[Any, ...]]: ...
def kernel_time(a: Any, op: str = "sum", /, **options: Any) -> tuple[Any, ...]: ...
def read_limit(
    device: str | None = None, nbytes: int = ..., /, **options: Any
) -> tuple[Any, ...]: ...
def launch_limit(device: str | None = None, /, **options: Any) -> tuple[Any, ...]: ...
def reduceat(
    op: str,
    values: Any,
    offsets: Any,
    dtype: Any,
    out: Any,
    may_be_empty: bool,
    device: Any,
    stream: Any,
    /,
) -> Any: ...
def counters(a: Any, op: str = "sum", /, **options: Any) -> tuple[Any, ...]: ...
def substitute(
    device: str, method: str, data_blocks: int, plain: int, counting: int, shared_bytes: int, /
) -> None: ...
def explain(a: Any, op: str = "sum", /, **options: Any) -> tuple[Any, ...]: ...
