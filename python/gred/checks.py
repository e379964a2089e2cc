"""Argument checks and conversions that several modules share."""

from __future__ import annotations

import difflib
import functools
import importlib
import operator
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import numpy as np

from gred import _core

_P = ParamSpec("_P")
_R = TypeVar("_R")


def torch_aliases(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a function to accept dim and keepdim for axis and keepdims, as the core does."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> _R:
        for other, name in (("dim", "axis"), ("keepdim", "keepdims")):
            if other in options:
                if name in options:
                    raise TypeError(f"{function.__name__}() got {name} twice, also as {other!r}")
                options[name] = options.pop(other)
        return function(*args, **options)

    return call


def integer_from(value: Any, name: str) -> int:
    """Convert an argument to int; raise TypeError if it is a bool or not an integer."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer; got {value!r}") from None


def number_from(value: Any, name: str, most: int, least: int = 1, spelt: str = "") -> int:
    """Convert an argument to an int from `least` to `most`, printed as `spelt` in the error."""
    number = integer_from(value, name)
    if not least <= number <= most:
        raise ValueError(f"{name} must be from {least} to {spelt or most}; got {value!r}")
    return number


def import_extra(name: str, extra: str, version: tuple[int, ...] = ()) -> ModuleType:
    """Import a module that one of gred's extras installs; the ImportError names the extra.

    The leading numbers of the module's version must be at least `version`.
    """
    hint = f"run pip install 'gred[{extra}]'"
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        why = f"this needs {name}, which cannot be imported ({error}); {hint}"
        raise ImportError(why, name=name) from error
    if version and tuple(map(int, module.__version__.split(".")[: len(version)])) < version:
        least = ".".join(map(str, version))
        why = f"this needs {name} {least} or later, but {module.__version__} is installed; {hint}"
        raise ImportError(why, name=name)
    return module


def is_tensor(given: Any) -> bool:
    """Return whether an object is a PyTorch tensor, without importing PyTorch."""
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    return kind is not None and isinstance(given, kind)


def on_device(given: Any) -> bool:
    """Return whether an object is a device array."""
    return hasattr(given, "__cuda_array_interface__")


def library_of(array: Any) -> Any:
    """Return the array's library (NumPy, PyTorch, CuPy or jax.numpy), or None if unknown."""
    if isinstance(array, np.ndarray):
        return np
    if is_tensor(array):
        return sys.modules["torch"]
    name = type(array).__module__.split(".")[0]
    if name not in ("cupy", "jax", "jaxlib"):
        return None
    return importlib.import_module(name if name == "cupy" else "jax.numpy")


def dtype_name(dtype: Any) -> str:
    """Return the name of a PyTorch dtype, or of anything NumPy converts to a dtype."""
    name = str(dtype).removeprefix("torch.")
    given = name == "bfloat16" or type(dtype).__module__ == "torch"  # np.dtype may not accept these
    return name if given else np.dtype(dtype).name


def cast(x: Any, dtype: Any) -> Any:
    """Convert an array of any library, or a NumPy scalar, to a dtype."""
    return x.to(dtype) if hasattr(x, "to") else x.astype(dtype)


def to_library(host: Any, like: Any) -> Any:
    """Convert a NumPy array to the library and the device of `like`."""
    xp = library_of(like)
    if xp is None or xp is np:
        return host
    if xp.__name__ != "torch":
        return xp.asarray(host)
    if str(host.dtype) == "bfloat16":  # ml_dtypes' bfloat16, which PyTorch does not accept
        return xp.as_tensor(host.astype(np.float32), device=like.device).to(xp.bfloat16)
    return xp.as_tensor(host, device=like.device)


def match_library(array: Any, other: Any) -> Any:
    """Convert a host array to the library of `other`, unless either is on a device."""
    if on_device(array) or on_device(other):
        return array
    return np.asarray(array) if isinstance(other, np.ndarray) else to_library(array, other)


def array_of(given: Any, name: str = "a") -> Any:
    """Return a device array or a tensor unchanged, and anything else as a NumPy array.

    Raises TypeError for masks, units, nulls and sparse matrices, which NumPy would drop.
    """
    _core.element(given, name)
    return given if on_device(given) or is_tensor(given) else np.asarray(given)


def raise_unreadable(given: Any, name: str) -> None:
    """Raise the error that explains why an array's memory cannot be read, if the reason is known.

    RuntimeError for a deleted JAX array, and a tensor that requires grad or is traced by a
    ``torch.func`` transform; TypeError for a tensor that is nested, quantized, sparse, fake, or on
    a device without a backend in gred.
    """
    try:
        deleted = given.is_deleted()
    except Exception:  # not a JAX array: no such method, or a different one
        deleted = False
    if deleted is True:
        raise RuntimeError(f"{name} is an array that has been deleted")
    if not is_tensor(given):
        return
    torch, tensor = sys.modules["torch"], given
    if tensor.requires_grad and name != "out":
        raise RuntimeError(
            f"{name} requires grad, but gred's own functions have no gradients; use those of "
            f"gred.torch, or pass {name}.detach()"
        )
    if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
        raise RuntimeError(
            f"{name} is traced by a torch.func transform; use the functions of gred.torch"
        )
    device, why = tensor.device.type, None
    if tensor.is_nested:
        why = f"is nested; reduce each of {name}.unbind()"
    elif tensor.is_quantized:
        why = f"is quantized; pass {name}.dequantize()"
    elif tensor.layout != torch.strided:
        why = f"has the layout {tensor.layout}; pass {name}.to_dense()"
    elif device == "meta" or "fake" in type(tensor).__name__.lower():
        why = "has only a shape, no elements; use the functions of gred.torch"
    elif device not in ("cpu", "cuda"):
        why = f"is on {device!r}; gred reduces tensors on the CPU and on CUDA devices"
    if why is not None:
        raise TypeError(f"{name} is a tensor that {why}")


def raise_unknown_method(method: str) -> None:
    """Raise ValueError for an unknown method, listing all methods and suggesting the closest."""
    rows = _core.methods()
    names = ["auto", "exact", "batch_invariant", *(row[1] for row in rows)]
    aliases = (each for row in rows for each in row[2])
    near = difflib.get_close_matches(method, [*names, *aliases], 1)
    hint = f"did you mean {near[0]!r}? The" if near else "the"
    there = f"{hint} methods are {', '.join(names)} (see gred.methods())"
    raise ValueError(f"method {repr(method)[:200]} does not exist; {there}")


def indexable(given: Any, name: str = "a") -> Any:
    """Return `array_of` the argument; raise TypeError if it cannot be reshaped and indexed."""
    array = array_of(given, name)
    if not hasattr(array, "reshape"):
        raise TypeError(
            f"a {type(given).__name__} cannot be reshaped and indexed; copy it to the host, or to "
            f"CuPy, PyTorch or JAX"
        )
    return array


def reject_nulls(a: Any, name: str) -> Any:
    """Raise TypeError for Arrow, Polars and pandas nulls, which NumPy would convert to NaN.

    Also for sparse matrices, which NumPy would convert to a single object; and for xarray Datasets
    and xarray arrays with units or a mask, which NumPy would drop.
    """
    if isinstance(a, (list, tuple)):
        for one in a:
            reject_nulls(one, name)
    if hasattr(type(a), "tocsr"):
        raise TypeError(
            f"{name} is sparse; pass {name}.data for its nonzero elements, {name}.toarray() for "
            f"all, or reduce the rows of {name}.tocsr() by gred.reduceat"
        )
    if type(a).__module__.startswith("xarray."):
        if not hasattr(a, "data"):
            raise TypeError(f"{name} is an xarray {type(a).__name__}; pass one of its arrays")
        if any(hasattr(a.data, dropped) for dropped in ("units", "unit", "mask")):
            _core.element(a.data, name)  # raises TypeError
    nulls = _count_nulls(a)
    if nulls:
        raise TypeError(
            f"{name}: {nulls} of the elements are null, and would become NaN; drop them with "
            f"{name}.drop_nulls() or {name}.dropna(), or fill them"
        )
    return a


def values_and_validity(a: Any, name: str) -> tuple[Any, Any]:
    """Return an array and its mask, False at nulls, or None if it has no nulls.

    The array shares Arrow's buffer unless it is boolean; pandas exports one to pyarrow.
    """
    library = type(a).__module__.partition(".")[0]
    of_arrow = library in ("pyarrow", "polars", "pandas") and not hasattr(a, "columns")
    if not (of_arrow and _count_nulls(a)):
        return reject_nulls(a, name), None
    arrow = import_extra("pyarrow", "arrow")
    try:
        whole = arrow.array(a) if library == "pandas" else a
        whole = whole.to_arrow() if library == "polars" else whole
    except (TypeError, arrow.ArrowException):  # Arrow has no such type
        return reject_nulls(a, name), None
    whole = whole.combine_chunks() if isinstance(whole, arrow.ChunkedArray) else whole
    kinds = arrow.types.is_integer, arrow.types.is_floating, arrow.types.is_boolean
    if not (isinstance(whole, arrow.Array) and any(kind(whole.type) for kind in kinds)):
        return reject_nulls(a, name), None
    buffers = [None, *whole.buffers()[1:]]
    values = arrow.Array.from_buffers(whole.type, len(whole), buffers, offset=whole.offset)
    present = whole.is_valid().to_numpy(zero_copy_only=False)
    return values.to_numpy(zero_copy_only=False), present


def values_and_not_nan(a: Any, where: Any) -> tuple[Any, Any]:
    """Return an array and the mask, in its library, of unmasked elements that are not NaN."""
    if type(a) is np.ndarray and a.dtype.kind in "fc" and where is True:
        return a, a == a
    values, present = values_and_validity(a, "a")
    array = array_of(values)
    if present is not None:
        where = present if where is True else present & np.asarray(where)
    if not _core.element(array).startswith(("float", "bfloat", "complex")):
        return array, where
    shown = array == array
    return array, shown if where is True else shown & where


def _count_nulls(a: Any) -> int:
    a = a.data if type(a).__module__.startswith("xarray.") else a  # may be a pandas array
    if type(a).__module__.startswith("pyarrow.") and hasattr(a, "columns"):
        return sum(column.null_count for column in a.columns)
    counted = getattr(type(a), "null_count", None)
    if counted is not None:  # a method in Polars, a property in pyarrow
        count = counted(a) if callable(counted) else a.null_count
        return int(np.sum(np.asarray(count)))
    if not hasattr(type(a), "isna"):
        return 0
    table = a if hasattr(a, "dtypes") and hasattr(a, "columns") else None
    columns = [a] if table is None else [a[column] for column in table.columns]
    return sum(int(one.isna().sum()) for one in columns if not isinstance(one.dtype, np.dtype))
