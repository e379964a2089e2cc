"""What there is to say of an array at a glance, in one read of its memory."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from gred import _core
from gred.checks import takes_other_names
from gred.records import facts_html, facts_text

if TYPE_CHECKING:
    from typing_extensions import disjoint_base
else:

    def disjoint_base(cls):
        """Leave a class what it is: no other class with attributes can be a base beside it."""
        return cls


class _Fields(NamedTuple):
    count: Any
    nans: Any
    min: Any
    max: Any
    mean: Any
    var: Any
    sum: Any


@disjoint_base
class Summary(_Fields):
    """What `describe` returns, as NumPy scalars, or arrays along axes; it prints as a table.

    Summaries of parts make that of the whole by ``a.merge(b, c)``, ``a + b``, or ``sum(parts)``.
    """

    ddof: float = 0  # that `var` was divided with

    def __add__(self, other: object) -> Any:
        """Merge two; to add anything else makes no sense."""
        return self.merge(other) if isinstance(other, Summary) else NotImplemented

    def __radd__(self, other: object) -> Any:
        """Begin a sum, which Python does with 0."""
        if isinstance(other, int) and other == 0:
            return self
        raise TypeError(f"a Summary cannot be added to {type(other).__name__}")  # as a tuple could

    def merge(self, *others: Summary) -> Summary:
        """Summarise all that this and the others do, whose arrays are NumPy's or scalars.

        Means and variances by T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a
        pairwise algorithm for computing sample variances", 1979. A sum of integers wraps around. Of
        a part of more than one element, and no more than `ddof`, the variance is lost, and NaN.

        Raises
        ------
        ValueError
            If variances were divided with another `ddof`, or shapes differ.

        """
        merged = self
        for other in others:
            merged = _merged(merged, other)
        return merged

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


def made(fields: Iterable[Any], ddof: float) -> Summary:
    """Make a summary of fields whose variance was divided with `ddof`."""
    summary = Summary(*fields)
    if ddof:
        summary.ddof = float(ddof)
    return summary


def _wide(x: Any) -> Any:
    return np.asarray(x).astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def _merged(a: Summary, b: Summary) -> Summary:
    if a.ddof != b.ddof:
        raise ValueError(f"one variance was divided with ddof={a.ddof:g}, another with {b.ddof:g}")
    if np.shape(a.count) != np.shape(b.count):
        shapes = f"{np.shape(a.count)} and {np.shape(b.count)}"
        raise ValueError(f"the summaries have different shapes: {shapes}")

    m, n = np.asarray(a.count), np.asarray(b.count)
    count = m + n

    def both(name: str, merge: Any) -> Any:
        """Merge a field, or take it, and its type, of the one that is of something."""
        x, y = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        if not m.any():
            return y[()]
        if not n.any():
            return x[()]
        some = np.where(m > 0, np.where(n > 0, merge(x, y), x), y)
        return some.astype(np.result_type(x, y))[()]

    def squares(one: Summary) -> Any:
        """Undo the division: of one element there is nothing, and of few more no way back."""
        k = np.asarray(one.count)
        of_many = np.where(k > one.ddof, _wide(one.var) * (k - one.ddof), np.nan)
        return np.where(k > 1, of_many, np.where(np.isfinite(_wide(one.mean)), 0, np.nan))

    with np.errstate(all="ignore"):
        means = _wide(a.mean), _wide(b.mean)
        apart, share = means[1] - means[0], n / count
        mean = np.where(
            np.isfinite(apart), means[0] + apart * share, means[0] * (m / count) + means[1] * share
        )
        squared = squares(a) + squares(b) + abs(apart) ** 2 * (m * share)
        squared = np.where(np.isfinite(apart), squared, np.nan)
        fields = (
            *(count[()], np.add(a.nans, b.nans)),
            *(both("min", np.minimum), both("max", np.maximum)),
            both("mean", lambda *_: mean),
            both("var", lambda *_: squared / np.maximum(count - a.ddof, 0)),
            np.add(a.sum, b.sum),
        )
    return made(fields, a.ddof)


@takes_other_names
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
    return made(_core.describe(a, ddof, axis=axis, keepdims=keepdims, **options), ddof)
