import sys
from contextvars import ContextVar
from typing import Any, TypeVar, final, overload

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

@overload
def sum(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    initial: Any = ...,
    where: ArrayLike = True,
    out: None = None,
    stream: Any = None,
) -> Any: ...
@overload
def sum(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    initial: Any = ...,
    where: ArrayLike = True,
    out: _Out,
    stream: Any = None,
) -> _Out: ...
@overload
def prod(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    initial: Any = ...,
    where: ArrayLike = True,
    out: None = None,
    stream: Any = None,
) -> Any: ...
@overload
def prod(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    initial: Any = ...,
    where: ArrayLike = True,
    out: _Out,
    stream: Any = None,
) -> _Out: ...
@overload
def min(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    initial: Any = ...,
    where: ArrayLike = True,
    out: None = None,
    stream: Any = None,
) -> Any: ...
@overload
def min(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    initial: Any = ...,
    where: ArrayLike = True,
    out: _Out,
    stream: Any = None,
) -> _Out: ...
@overload
def max(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    initial: Any = ...,
    where: ArrayLike = True,
    out: None = None,
    stream: Any = None,
) -> Any: ...
@overload
def max(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    initial: Any = ...,
    where: ArrayLike = True,
    out: _Out,
    stream: Any = None,
) -> _Out: ...
@overload
def mean(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    where: ArrayLike = True,
    out: None = None,
    stream: Any = None,
) -> Any: ...
@overload
def mean(
    a: ArrayLike | Any,
    /,
    *,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    where: ArrayLike = True,
    out: _Out,
    stream: Any = None,
) -> _Out: ...
def parse(a: Any, /) -> None: ...
def nothing(*arguments: Any) -> None: ...
def methods() -> tuple[tuple[Any, ...], ...]: ...
def devices() -> list[tuple[Any, ...]]: ...
def kernel_time(a: Any, op: str = "sum", /, **options: Any) -> tuple[Any, ...]: ...
def read_limit(
    device: str | None = None, nbytes: int = ..., /, **options: Any
) -> tuple[Any, ...]: ...
def explain(a: Any, op: str = "sum", /, **options: Any) -> tuple[Any, ...]: ...
def pretended_schedule(
    reduction: str, method: str, n: int, input: str, accumulator: str, **options: Any
) -> tuple[Any, ...]: ...
