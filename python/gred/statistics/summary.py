"""Summary statistics of an array, computed in one read of its memory."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

import numpy as np

from gred import _core
from gred.checks import is_tensor, on_device, to_library, torch_aliases
from gred.device_array import dtype_named
from gred.records import disjoint_base, facts_html, facts_text

if TYPE_CHECKING:
    from gred.exact.partials import Partials

_P = ParamSpec("_P")


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
    """Result of `describe`: NumPy scalars, or arrays along axes; prints as a table.

    Summaries of parts are merged by ``a.merge(b, c)``, ``a + b``, or ``sum(parts)``. With
    ``method="exact"`` they keep exact sums, and merging gives the same bits as a summary of the
    whole array.
    """

    ddof: float = 0  # of `var`
    sums: Partials | None = None  # of elements and squares, with method 'exact'

    def __add__(self, other: object) -> Any:
        """Merge two summaries."""
        return self.merge(other) if isinstance(other, Summary) else NotImplemented

    def __radd__(self, other: object) -> Any:
        """Return self for 0, the start value of `sum`."""
        if isinstance(other, int) and other == 0:
            return self
        raise TypeError(f"a Summary cannot be added to {type(other).__name__}")  # unlike a tuple

    def __eq__(self, other: object) -> bool:
        """Compare all fields and `ddof`; NaN equals NaN."""
        if not isinstance(other, Summary):
            return NotImplemented
        pairs = zip(map(on_host, self), map(on_host, other), strict=True)
        return self.ddof == other.ddof and all(
            np.array_equal(x, y, equal_nan=x.dtype.kind not in "biu") for x, y in pairs
        )

    def __ne__(self, other: object) -> bool:
        """Compare by `__eq__`, overriding the tuple's method."""
        return not self == other

    __hash__ = _Fields.__hash__

    def merge(self, *others: Summary) -> Summary:
        """Merge summaries of parts into that of all elements; arrays in it are NumPy's.

        Means and variances are merged by T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating
        formulae and a pairwise algorithm for computing sample variances", 1979; if all summaries
        have exact sums, these are merged and rounded once. Integer sums wrap around. Without exact
        sums the variance is NaN if a part has more than one element, but not more than `ddof`.
        Raises ValueError if `ddof` or shapes differ.
        """
        for one in others:
            if not isinstance(one, Summary):
                raise TypeError(f"only summaries can be merged; got a {type(one).__name__}")
        merged = functools.reduce(_merged, others, self)
        sums = [one.sums for one in (self, *others) if one.sums is not None]
        return apply_sums(merged, sums) if len(sums) == 1 + len(others) else merged

    @property
    def std(self) -> Any:
        """The standard deviation: the square root of `var`, in its type.

        With ``method="exact"`` it is rounded once. For GPU arrays without arithmetic (Numba's,
        `DeviceArray`) it is a NumPy array.
        """
        if self.sums is not None:
            return _spread("std", self.sums, self.ddof, self.var)
        var = self.var
        there = (on_device(var) or is_tensor(var)) and hasattr(var, "__pow__")
        return var**0.5 if there else np.sqrt(on_host(var))

    def to_bytes(self) -> bytes:
        """Serialize the summary to bytes, portable between machines.

        The bytes are a NumPy .npz file with the fields as host arrays, by name and with checksums.
        Equal summaries have equal bytes.
        """
        fields = [on_host(field) for field in self]
        # .npz files have no bfloat16, which is stored as float32.
        known = (x.astype(np.float32) if x.dtype.kind == "V" else x for x in fields)
        kept = dict(zip(self._fields, known, strict=True))
        kept |= {"types": np.array([x.dtype.name for x in fields]), "ddof": np.float64(self.ddof)}
        if self.sums is not None:
            sums = self.sums.normalised()
            kept |= {name: np.asarray(getattr(sums, name)) for name in _SUMS_FIELDS}
        file = io.BytesIO()
        np.savez(file, **{name: x.astype(x.dtype.newbyteorder("<")) for name, x in kept.items()})
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Summary:
        """Deserialize bytes from `to_bytes`; raise ValueError for anything else."""
        file = io.BytesIO(memoryview(data))
        try:
            with np.load(file, allow_pickle=False) as kept:
                return _read(dict(kept))
        except Exception as error:  # of zipfile, zlib or NumPy
            raise ValueError("data is not a serialized Summary") from error

    def _facts(self) -> list[tuple[str, str]]:
        fields = ("count", "nans", "min", "max", "mean", "var", "std", "sum")
        return [(field, str(getattr(self, field))) for field in fields]

    def __repr__(self) -> str:
        return facts_text(self._facts())

    def _repr_html_(self) -> str:
        return facts_html(self._facts())


def make_summary(fields: Iterable[Any], ddof: float, sums: Partials | None = None) -> Summary:
    """Create a summary of fields; `ddof` is that of the variance."""
    summary = Summary(*fields)
    if ddof:
        summary.ddof = float(ddof)
    if sums is not None:
        summary.sums = sums
    return summary


_SUMS_FIELDS = ("counts", "digits", "first", "is_complex")


def on_host(field: Any) -> Any:
    """Copy a device array or a tensor of any library to a NumPy array."""
    if not (on_device(field) or is_tensor(field)):
        return np.asarray(field)
    found = np.empty(field.shape, dtype_named(_core.element(field)))
    _core.sum(field, axis=(), out=found)
    return found


def _read(kept: dict[str, Any]) -> Summary:
    from gred.exact.partials import Partials  # imports this module indirectly

    types = [dtype_named(name) for name in kept["types"].tolist()]
    stored = [kept[name] for name in Summary._fields]
    if len({x.shape for x in stored}) != 1:
        raise ValueError("fields have different shapes")
    fields = (x.astype(dtype)[()] for x, dtype in zip(stored, types, strict=True))
    sums = None
    if "digits" in kept:
        counts, digits = kept["counts"].astype(np.int64), kept["digits"].astype(np.int64)
        if not counts.shape[1] == digits.shape[1] == stored[0].size:
            raise ValueError("sums have another shape than the fields")
        parts = int(kept["first"]), bool(kept["is_complex"])
        sums = Partials(stored[0].shape, counts, digits, *parts)
    return make_summary(fields, float(kept["ddof"]), sums)


def _wide(x: Any) -> Any:
    return np.asarray(x).astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def _merged(a: Summary, b: Summary) -> Summary:
    a, b = (make_summary(map(on_host, one), one.ddof) for one in (a, b))
    if a.ddof != b.ddof:
        raise ValueError(f"the summaries have different ddof: {a.ddof:g} and {b.ddof:g}")
    m, n = np.asarray(a.count), np.asarray(b.count)
    if m.shape != n.shape:
        raise ValueError(f"the summaries have different shapes: {m.shape} and {n.shape}")
    count = m + n

    def both(name: str, merge: Any) -> Any:
        """Merge a field; if one part is empty, take the other's value and type."""
        x, y = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        if not (m.any() and n.any()):
            return (x if m.any() else y)[()]
        some = np.where(m > 0, np.where(n > 0, merge(x, y), x), y)
        return some.astype(np.result_type(x, y))[()]

    def squares(one: Summary) -> Any:
        """Return sums of squared deviations: 0 for one element, NaN if not above `ddof`."""
        k = np.asarray(one.count)
        of_many = np.where(k > one.ddof, _wide(one.var) * (k - one.ddof), np.nan)
        return np.where(k > 1, of_many, np.where(np.isfinite(_wide(one.mean)), 0, np.nan))

    with np.errstate(all="ignore"):
        x, y = _wide(a.mean), _wide(b.mean)
        apart, share = y - x, n / count
        finite = np.isfinite(apart)
        mean = np.where(finite, x + apart * share, x * (m / count) + y * share)
        squared = squares(a) + squares(b) + abs(apart) ** 2 * (m * share)
        var = np.where(finite, squared, np.nan) / np.maximum(count - a.ddof, 0)
        fields = (
            *(count[()], np.add(a.nans, b.nans)),
            *(both("min", np.minimum), both("max", np.maximum)),
            *(both("mean", lambda *_: mean), both("var", lambda *_: var), np.add(a.sum, b.sum)),
        )
    return make_summary(fields, a.ddof)


def _rounded(found: Any, field: Any) -> Any:
    """Convert results to the shape, library and device of a field, or to a scalar."""
    return to_library(found.reshape(field.shape), field) if field.ndim else found.reshape(())[()]


def _spread(name: str, sums: Partials, ddof: float, field: Any) -> Any:
    from gred.exact.moments import type_of, variances  # import this indirectly

    return _rounded(variances(name, sums, ddof, type_of([field], None), 0), field)


def apply_sums(summary: Summary, sums: Iterable[Partials]) -> Summary:
    """Replace a summary's means, variances and float sums by those of exact sums, rounded once."""
    from gred.exact.partials import merged, rounded
    from gred.several import common_type

    def of(field: Any, divided: bool) -> Any:
        dtype = common_type([_core.element(field)])
        return _rounded(rounded(exact, dtype, divided=divided), field)

    exact, total = merged(list(sums)), summary.sum
    if not _core.element(total).startswith(("int", "uint")):
        total = of(total, divided=False)
    mean = of(summary.mean, divided=True)
    var = _spread("var", exact, summary.ddof, summary.var)
    return make_summary((*summary[:4], mean, var, total), summary.ddof, exact)


def _exactly(
    a: Any,
    ddof: float,
    axis: Any = None,
    keepdims: Any = False,
    where: Any = True,
    dtype: Any = None,
    **rest: Any,
) -> Summary:
    """Describe an array by method 'exact': counts and extremes in one read, sums in others."""
    from gred.exact.partials import moments_of

    if given := [name for name, value in rest.items() if value is not None]:
        raise TypeError(f"describe with method 'exact' does not take {', '.join(given)}")
    options: dict[str, Any] = {"where": where, "dtype": dtype}
    listed = isinstance(a, (list, tuple)) and a and all(getattr(part, "shape", ()) for part in a)
    if axis is None and not keepdims and (listed or hasattr(a, "__next__")):
        parts = [_exactly(part, ddof, **options) for part in a]
        return parts[0].merge(*parts[1:])
    array, _, sums = moments_of(a, axis, keepdims, where, skips_nans=True)
    fields = _core.describe(array, ddof, axis=axis, keepdims=keepdims, **options)
    return apply_sums(make_summary(fields, ddof), [sums])


def _describing(core: Callable[_P, Any]) -> Callable[_P, Summary]:
    """Create `describe`, with the arguments and docstring of the core's function."""

    @torch_aliases
    @functools.wraps(core, ("__name__", "__qualname__", "__doc__"))
    def function(a: Any, /, ddof: float = 0, *, method: str = "auto", **options: Any) -> Summary:
        if method == "exact":
            return _exactly(a, ddof, **options)
        return make_summary(_core.describe(a, ddof, method=method, **options), ddof)

    return function  # type: ignore[return-value]


describe = _describing(_core.describe)
