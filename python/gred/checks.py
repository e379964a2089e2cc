"""What several modules ask of what they are given: integers, arrays, libraries that are there."""

from __future__ import annotations

import importlib
import operator
from types import ModuleType
from typing import Any

import numpy as np

from gred import _core


def integer_from(value: Any, name: str) -> int:
    """Read a whole number."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer; got {value!r}") from None


def number_from(value: Any, name: str, most: int) -> int:
    """Read a whole number from 1 to `most`."""
    number = integer_from(value, name)
    if not 1 <= number <= most:
        raise ValueError(f"{name} must be from 1 to {most}; got {value!r}")
    return number


def needed(name: str, extra: str) -> ModuleType:
    """Import a module that one of gred's extras brings; the ImportError says which."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(
            f"this needs {name}, which cannot be imported ({error}); pip install 'gred[{extra}]' "
            "brings it",
            name=name,
        ) from error


def library_of(array: Any) -> Any:
    """Find the library of an array, by whose functions others are made of it, or None."""
    if isinstance(array, np.ndarray):
        return np
    name = type(array).__module__.split(".")[0]
    if name not in ("cupy", "torch", "jax", "jaxlib"):
        return None
    return importlib.import_module(name if name in ("cupy", "torch") else "jax.numpy")


def cast(x: Any, dtype: Any) -> Any:
    """Convert an array of any library, or a scalar of NumPy's."""
    return x.to(dtype) if hasattr(x, "to") else x.astype(dtype)


def brought(host: Any, like: Any) -> Any:
    """Bring an array of NumPy's to the library of another, and where that lies."""
    xp = library_of(like)
    if xp is None or xp is np:
        return host
    if xp.__name__ == "torch":
        return xp.as_tensor(host, device=like.device)
    return xp.asarray(host)


def array_of(given: Any, name: str = "a") -> Any:
    """Leave a device's array what it is; of others make NumPy's, once gred has looked at them.

    It refuses masks, units, nulls and sparse matrices, which NumPy would drop.
    """
    _core.element(given, name)
    return given if hasattr(given, "__cuda_array_interface__") else np.asarray(given)


def indexable(given: Any, name: str = "a") -> Any:
    """Make the same, if its library can take parts of it."""
    array = array_of(given, name)
    if not hasattr(array, "reshape"):
        raise TypeError(
            f"a {type(given).__name__} offers its memory, and nothing to take parts of it with; "
            f"copy it to the host, or to CuPy, PyTorch or JAX"
        )
    return array


def without_nulls(a: Any, name: str) -> Any:
    """Refuse nulls, of which NumPy would make NaN: Arrow's and Polars', and pandas' NA.

    And sparse matrices, of which it would make a single object.
    """
    if isinstance(a, (list, tuple)):
        for one in a:
            without_nulls(one, name)
    if hasattr(type(a), "tocsr"):
        raise TypeError(
            f"{name} is sparse; {name}.data has the elements that are not 0, as of "
            f"{name}.tocsr(), whose rows gred.reduceat reduces; {name}.toarray() has all"
        )
    nulls = _count_nulls(a)
    if nulls:
        raise TypeError(
            f"{name}: {nulls} of the elements are null, and would become NaN; leave them out, by "
            f"{name}.drop_nulls() or {name}.dropna(), or fill them in"
        )
    return a


def nulls_apart(a: Any, name: str) -> tuple[Any, Any]:
    """Give an array, and a mask that is False where it has nulls; None if there are none.

    The elements lie where Arrow has them: of pyarrow, of Polars, and what pandas gives to pyarrow.
    """
    library = type(a).__module__.partition(".")[0]
    of_arrow = library in ("pyarrow", "polars", "pandas") and not hasattr(a, "columns")
    if not (of_arrow and _count_nulls(a)):
        return without_nulls(a, name), None
    arrow = needed("pyarrow", "arrow")
    whole = a.to_arrow() if library == "polars" else a if library == "pyarrow" else arrow.array(a)
    whole = whole.combine_chunks() if isinstance(whole, arrow.ChunkedArray) else whole
    if not (isinstance(whole, arrow.Array) and arrow.types.is_primitive(whole.type)):
        return without_nulls(a, name), None
    buffers = [None, *whole.buffers()[1:]]
    values = arrow.Array.from_buffers(whole.type, len(whole), buffers, offset=whole.offset)
    present = whole.is_valid().to_numpy(zero_copy_only=False)
    return values.to_numpy(zero_copy_only=False), present


def _count_nulls(a: Any) -> int:
    a = a.data if type(a).__module__.startswith("xarray.") else a  # which may be pandas'
    counted = getattr(type(a), "null_count", None)
    if counted is not None:  # a method of Polars, a property of pyarrow
        count = counted(a) if callable(counted) else a.null_count
        return int(np.sum(np.asarray(count)))
    if not hasattr(type(a), "isna"):
        return 0
    table = a if hasattr(a, "dtypes") and hasattr(a, "columns") else None
    columns = [a] if table is None else [a[column] for column in table.columns]
    return sum(int(one.isna().sum()) for one in columns if not isinstance(one.dtype, np.dtype))
