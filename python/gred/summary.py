"""What there is to say of an array at a glance, in one read of its memory."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gred import _core
from gred.records import facts_html, facts_text


class Summary(NamedTuple):
    """What `describe` returns, as NumPy scalars, or arrays along axes; it prints as a table."""

    count: Any
    nans: Any
    min: Any
    max: Any
    mean: Any
    var: Any
    sum: Any

    def __add__(self, other: object) -> Any:
        """Refuse what tuples do: two summaries are not one of 14 fields."""
        return NotImplemented

    @property
    def std(self) -> Any:
        """The standard deviation: the square root of `var`, in its type.

        Of arrays on a GPU that have no arithmetic (Numba's, `DeviceArray`), one of NumPy's.
        """
        if isinstance(self.var, np.generic):
            return type(self.var)(np.sqrt(self.var)) if not math.isnan(self.var) else self.var
        if isinstance(self.var, np.ndarray):
            return np.sqrt(self.var)
        if hasattr(self.var, "__pow__"):
            return self.var**0.5
        here = getattr(self.var, "to_numpy", None) or self.var.copy_to_host
        return np.sqrt(here())

    def _facts(self) -> list[tuple[str, str]]:
        fields = ("count", "nans", "min", "max", "mean", "var", "std", "sum")
        return [(field, str(getattr(self, field))) for field in fields]

    def __repr__(self) -> str:
        return facts_text(self._facts())

    def _repr_html_(self) -> str:
        return facts_html(self._facts())


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
) -> Summary:
    """Describe an array: count, NaNs, extremes, mean, variance and sum, in one read of the memory.

    Parameters
    ----------
    a : array_like of any shape
        As for `gred.sum`: any element type and layout, on a GPU or not. It is never written.
    ddof, axis, keepdims, method, block_size, dtype, device, where, stream
        As for `gred.var`. Along axes each field is an array, with a value for each place along the
        outer ones, of the caller's library and on its device where it lies on one.

    Returns
    -------
    Summary
        ``count`` (int64): how many elements take part and are not NaN; ``nans`` (int64): how many
        are. NaNs are left out of all else: ``min``, ``max``: of the elements' type, complex numbers
        by their real parts first; ``mean`` and ``var``: of the types that `gred.mean` and
        `gred.var` have; ``sum``: of that which `gred.sum` has, integers wrap around. Of nothing,
        ``min``, ``max``, ``mean`` and ``var`` are NaN, without a warning. ``std`` is the square
        root of ``var``. Along axes, ``min`` and ``max`` of integers are float64 where there may be
        nothing: with a mask, and of no elements.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As `gred.var`.

    Examples
    --------
    >>> import gred
    >>> gred.describe([3.0, float("nan"), 5.0, 7.0])
    count  3
    nans   1
    min    3.0
    max    7.0
    mean   5.0
    var    2.6666666666666665
    std    1.632993161855452
    sum    15.0
    >>> gred.describe(range(10)).mean
    np.float64(4.5)

    """
    options: dict[str, Any] = {"method": method, "block_size": block_size, "dtype": dtype}
    options |= {"device": device, "where": where, "stream": stream}
    return Summary(*_core.describe(a, ddof, axis=axis, keepdims=keepdims, **options))
