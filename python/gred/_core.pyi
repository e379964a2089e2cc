import sys
from contextvars import ContextVar
from typing import Any, SupportsIndex, TypeAlias, TypedDict, final

from numpy.typing import ArrayLike, DTypeLike
from typing_extensions import TypeVar, Unpack

cuda: str
architectures: str
thread_order: ContextVar[tuple[int, int]]
workspace_limit: ContextVar[int]

_Array: TypeAlias = ArrayLike | Any
_Axes: TypeAlias = SupportsIndex | tuple[SupportsIndex, ...] | None
_DType: TypeAlias = DTypeLike | Any | None  # NumPy's or PyTorch's
_Out = TypeVar("_Out", default=Any)

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
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
    def read(self, target: Any, /) -> None: ...
    def capsule(
        self, shape: tuple[int, ...], type_name: str, stream: int, versioned: bool, /
    ) -> Any: ...

# Reductions. If `out` is given it is returned. All reductions take the keywords of _Launch.
class _Launch(TypedDict, total=False):
    method: str
    block_size: int | None
    device: str | None
    stream: Any

def sum(
    a: _Array,
    axis: _Axes = None,
    dtype: _DType = None,
    out: _Out | None = None,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    **options: Unpack[_Launch],
) -> _Out: ...

prod = nansum = nanprod = sum

def min(
    a: _Array,
    axis: _Axes = None,
    out: _Out | None = None,
    keepdims: SupportsIndex = False,
    initial: Any = ...,
    where: ArrayLike = True,
    *,
    dtype: _DType = None,
    **options: Unpack[_Launch],
) -> _Out: ...

max = nanmin = nanmax = min

def mean(
    a: _Array,
    axis: _Axes = None,
    dtype: _DType = None,
    out: _Out | None = None,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    weights: Any = None,
    **options: Unpack[_Launch],
) -> _Out: ...

nanmean = mean

def var(
    a: _Array,
    axis: _Axes = None,
    dtype: _DType = None,
    out: _Out | None = None,
    ddof: float = 0,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    mean: Any = ...,
    correction: float = ...,
    weights: Any = None,
    **options: Unpack[_Launch],
) -> _Out: ...

std = nanvar = nanstd = var

def any(
    a: _Array,
    axis: _Axes = None,
    out: _Out | None = None,
    keepdims: SupportsIndex = False,
    *,
    where: ArrayLike = True,
    **options: Unpack[_Launch],
) -> _Out: ...

all = any

def count_nonzero(
    a: _Array,
    axis: _Axes = None,
    *,
    keepdims: SupportsIndex = False,
    out: _Out | None = None,
    where: ArrayLike = True,
    **options: Unpack[_Launch],
) -> _Out: ...
def argmin(
    a: _Array,
    axis: SupportsIndex | None = None,
    out: _Out | None = None,
    *,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    **options: Unpack[_Launch],
) -> _Out: ...

argmax = nanargmin = nanargmax = argmin

def ptp(
    a: _Array,
    axis: _Axes = None,
    out: _Out | None = None,
    keepdims: SupportsIndex = False,
    *,
    dtype: _DType = None,
    where: ArrayLike = True,
    **options: Unpack[_Launch],
) -> _Out: ...

logsumexp = ptp

def norm(
    x: _Array,
    ord: float | None = None,
    axis: _Axes = None,
    keepdims: SupportsIndex = False,
    *,
    dtype: _DType = None,
    out: _Out | None = None,
    where: ArrayLike = True,
    **options: Unpack[_Launch],
) -> _Out: ...
def describe(
    a: _Array,
    /,
    ddof: float = 0,
    *,
    axis: _Axes = None,
    dtype: _DType = None,
    keepdims: SupportsIndex = False,
    where: ArrayLike = True,
    **options: Unpack[_Launch],
) -> Any: ...
def minmax(
    a: _Array,
    axis: _Axes = None,
    *,
    keepdims: SupportsIndex = False,
    dtype: _DType = None,
    where: ArrayLike = True,
    **options: Unpack[_Launch],
) -> tuple[Any, Any]: ...
def parse(a: Any, /) -> None: ...
def threads(most: int, /) -> int: ...
def dot(
    a: _Array,
    b: _Array,
    *,
    axis: SupportsIndex | None = None,
    out: Any = None,
    method: str = "auto",
    device: str | None = None,
    stream: Any = None,
) -> Any: ...
def dots(a: Any, b: Any, along: int, dtype: DTypeLike | None, exactly: bool, /) -> Any: ...
def element(a: Any, name: str = "a", /) -> str: ...
def select_rows(values: Any, rows: int, inner: int, asked: Any, dtype: Any, /) -> Any: ...
def quantile_places(asked: Any, n: int, /) -> tuple[tuple[int, int, float], ...]: ...
def select(values: Any, asked: Any, out: Any, /) -> None: ...
def exact_sum(a: Any, /) -> bytes: ...
def exact_products(a: Any, b: Any, /) -> bytes: ...
def exact_normalised(words: Any, /) -> bytes: ...
def exact_rounded(words: Any, divisor: int, dtype: DTypeLike, /) -> Any: ...
def methods() -> tuple[tuple[Any, ...], ...]: ...
def reductions() -> tuple[tuple[Any, ...], ...]: ...
def devices() -> list[tuple[Any, ...]]: ...
def kernel_time(
    a: Any, op: str, seconds: Any, warmup: int, cold: bool, /, **options: Any
) -> tuple[Any, ...]: ...
def device_time(
    device: str | None, nbytes: int, seconds: Any, warmup: int, cold: bool, /
) -> tuple[str, int, int | None]: ...
def each(op: str, arrays: tuple[Any, ...], /, *others: Any) -> Any: ...
def by_place(op: str, groups: tuple[tuple[Any, ...], ...], dtype: _DType, /) -> tuple[Any, ...]: ...
def by_key(op: str, keys: Any, values: Any, num_keys: int, /, *others: Any) -> Any: ...
def reduceat(op: str, values: Any, offsets: Any, /, *others: Any) -> Any: ...
def counters(a: Any, op: str = "sum", /, **options: Any) -> tuple[Any, ...]: ...
def simulated_memory(nbytes: int, /) -> DeviceMemory: ...
def substitute(
    device: str, method: str, data_blocks: int, plain: int, counting: int, shared_bytes: int, /
) -> None: ...
def explain(a: Any, op: str = "sum", /, **options: Any) -> tuple[Any, ...]: ...
def settle(a: Any, op: str, /, *others: Any) -> tuple[int, str, str, str, bool, bool]: ...
