"""What there is to say of an array at a glance, in one read of its memory."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

import numpy as np

from gred import _core
from gred.checks import brought, is_tensor, on_device, takes_other_names
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
    """What `describe` returns, as NumPy scalars, or arrays along axes; it prints as a table.

    Summaries of parts make that of the whole by ``a.merge(b, c)``, ``a + b``, or ``sum(parts)``.
    Those by ``method="exact"`` keep exact sums, and so do what they make: their bits are those of
    the whole.
    """

    ddof: float = 0  # that `var` was divided with
    sums: Partials | None = None  # of elements and squares, by method 'exact'

    def __add__(self, other: object) -> Any:
        """Merge two; to add anything else makes no sense."""
        return self.merge(other) if isinstance(other, Summary) else NotImplemented

    def __radd__(self, other: object) -> Any:
        """Begin a sum, which Python does with 0."""
        if isinstance(other, int) and other == 0:
            return self
        raise TypeError(f"a Summary cannot be added to {type(other).__name__}")  # as a tuple could

    def __eq__(self, other: object) -> bool:
        """Compare all fields, and `ddof`; NaN is equal to NaN."""
        if not isinstance(other, Summary):
            return NotImplemented
        pairs = zip(map(on_host, self), map(on_host, other), strict=True)
        return self.ddof == other.ddof and all(
            np.array_equal(x, y, equal_nan=x.dtype.kind not in "biu") for x, y in pairs
        )

    def __ne__(self, other: object) -> bool:
        """Compare, as a tuple would do otherwise."""
        return not self == other

    __hash__ = _Fields.__hash__

    def merge(self, *others: Summary) -> Summary:
        """Summarise all that this and the others do; arrays are NumPy's then.

        Means and variances by T. F. Chan, G. H. Golub and R. J. LeVeque, "Updating formulae and a
        pairwise algorithm for computing sample variances", 1979; of exact sums, if all have them,
        rounded once. A sum of integers wraps around. Of a part of more than one element, and no
        more than `ddof`, the variance is lost without exact sums, and NaN. If variances were
        divided with another `ddof`, or shapes differ, ValueError is raised.
        """
        for one in others:
            if not isinstance(one, Summary):
                raise TypeError(f"only summaries can be merged; got a {type(one).__name__}")
        merged = functools.reduce(_merged, others, self)
        sums = [one.sums for one in (self, *others) if one.sums is not None]
        return exactly(merged, sums) if len(sums) == 1 + len(others) else merged

    @property
    def std(self) -> Any:
        """The standard deviation: the square root of `var`, in its type.

        By ``method="exact"`` it is rounded once. Of arrays on a GPU that have no arithmetic
        (Numba's, `DeviceArray`), one of NumPy's.
        """
        if self.sums is not None:
            return _spread("std", self.sums, self.ddof, self.var)
        var = self.var
        there = (on_device(var) or is_tensor(var)) and hasattr(var, "__pow__")
        return var**0.5 if there else np.sqrt(on_host(var))

    def to_bytes(self) -> bytes:
        """Write the summary as bytes, for keeping it, or for another machine.

        They are a .npz file of NumPy's, with the fields' names and checksums, as arrays of the
        host. Equal summaries' are equal.
        """
        fields = [on_host(field) for field in self]
        # bfloat16, which files of NumPy's have no name for, is kept as float32.
        known = (x.astype(np.float32) if x.dtype.kind == "V" else x for x in fields)
        kept = dict(zip(self._fields, known, strict=True))
        kept |= {"types": np.array([x.dtype.name for x in fields]), "ddof": np.float64(self.ddof)}
        if self.sums is not None:
            sums = self.sums.normalised()
            kept |= {name: np.asarray(getattr(sums, name)) for name in _OF_SUMS}
        file = io.BytesIO()
        np.savez(file, **{name: x.astype(x.dtype.newbyteorder("<")) for name, x in kept.items()})
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Summary:
        """Read what `to_bytes` has written; anything else raises ValueError."""
        file = io.BytesIO(memoryview(data))
        try:
            with np.load(file, allow_pickle=False) as kept:
                return _read(dict(kept))
        except Exception as error:  # of zipfile's, zlib's and NumPy's many
            raise ValueError("these are not the bytes of a Summary") from error

    def _facts(self) -> list[tuple[str, str]]:
        fields = ("count", "nans", "min", "max", "mean", "var", "std", "sum")
        return [(field, str(getattr(self, field))) for field in fields]

    def __repr__(self) -> str:
        return facts_text(self._facts())

    def _repr_html_(self) -> str:
        return facts_html(self._facts())


def made(fields: Iterable[Any], ddof: float, sums: Partials | None = None) -> Summary:
    """Make a summary of fields whose variance was divided with `ddof`."""
    summary = Summary(*fields)
    if ddof:
        summary.ddof = float(ddof)
    if sums is not None:
        summary.sums = sums
    return summary


_OF_SUMS = ("counts", "digits", "first", "is_complex")


def on_host(field: Any) -> Any:
    """Copy an array of a device, or a tensor, by gred, whosever it is."""
    if not (on_device(field) or is_tensor(field)):
        return np.asarray(field)
    found = np.empty(field.shape, dtype_named(_core.element(field)))
    _core.sum(field, axis=(), out=found)
    return found


def _read(kept: dict[str, Any]) -> Summary:
    from gred.exact.partials import Partials  # which rests on modules that this one serves

    types = [dtype_named(name) for name in kept["types"].tolist()]
    stored = [kept[name] for name in Summary._fields]
    if len({x.shape for x in stored}) != 1:
        raise ValueError("fields of several shapes")
    fields = (x.astype(dtype)[()] for x, dtype in zip(stored, types, strict=True))
    sums = None
    if "digits" in kept:
        counts, digits = kept["counts"].astype(np.int64), kept["digits"].astype(np.int64)
        if not counts.shape[1] == digits.shape[1] == stored[0].size:
            raise ValueError("sums of another shape")
        parts = int(kept["first"]), bool(kept["is_complex"])
        sums = Partials(stored[0].shape, counts, digits, *parts)
    return made(fields, float(kept["ddof"]), sums)


def _wide(x: Any) -> Any:
    return np.asarray(x).astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def _merged(a: Summary, b: Summary) -> Summary:
    a, b = (made(map(on_host, one), one.ddof) for one in (a, b))
    if a.ddof != b.ddof:
        raise ValueError(f"one variance was divided with ddof={a.ddof:g}, another with {b.ddof:g}")
    m, n = np.asarray(a.count), np.asarray(b.count)
    if m.shape != n.shape:
        raise ValueError(f"the summaries have different shapes: {m.shape} and {n.shape}")
    count = m + n

    def both(name: str, merge: Any) -> Any:
        """Merge a field, or take it, and its type, of the one that is of something."""
        x, y = np.asarray(getattr(a, name)), np.asarray(getattr(b, name))
        if not (m.any() and n.any()):
            return (x if m.any() else y)[()]
        some = np.where(m > 0, np.where(n > 0, merge(x, y), x), y)
        return some.astype(np.result_type(x, y))[()]

    def squares(one: Summary) -> Any:
        """Undo the division: of one element there is nothing, and of few more no way back."""
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
    return made(fields, a.ddof)


def _rounded(found: Any, field: Any) -> Any:
    """Make what a field is: an array of its shape, where it lies, or a scalar."""
    return brought(found.reshape(field.shape), field) if field.ndim else found.reshape(())[()]


def _spread(name: str, sums: Partials, ddof: float, field: Any) -> Any:
    from gred.exact.variances import type_of, variances  # which rest on modules that this serves

    return _rounded(variances(name, sums, ddof, type_of([field], None), 0), field)


def exactly(summary: Summary, sums: Iterable[Partials]) -> Summary:
    """Round means, variances and sums of floats of exact sums."""
    from gred.exact.partials import merged, rounded
    from gred.several import common

    def of(field: Any, divided: bool) -> Any:
        dtype = common([_core.element(field)])
        return _rounded(rounded(exact, dtype, divided=divided), field)

    exact, total = merged(list(sums)), summary.sum
    if not _core.element(total).startswith(("int", "uint")):
        total = of(total, divided=False)
    mean = of(summary.mean, divided=True)
    var = _spread("var", exact, summary.ddof, summary.var)
    return made((*summary[:4], mean, var, total), summary.ddof, exact)


def _exactly(
    a: Any,
    ddof: float,
    axis: Any = None,
    keepdims: Any = False,
    where: Any = True,
    dtype: Any = None,
    **rest: Any,
) -> Summary:
    """Describe what needs no rounding in one read, and add up in others."""
    from gred.exact.partials import moments_of

    if given := [name for name, value in rest.items() if value is not None]:
        raise TypeError(f"describe by method 'exact' takes no {', '.join(given)}")
    options: dict[str, Any] = {"where": where, "dtype": dtype}
    listed = isinstance(a, (list, tuple)) and a and all(getattr(part, "shape", ()) for part in a)
    if axis is None and not keepdims and (listed or hasattr(a, "__next__")):
        parts = [_exactly(part, ddof, **options) for part in a]
        return parts[0].merge(*parts[1:])
    array, _, sums = moments_of(a, axis, keepdims, where, skips_nans=True)
    fields = _core.describe(array, ddof, axis=axis, keepdims=keepdims, **options)
    return exactly(made(fields, ddof), [sums])


def _describing(core: Callable[_P, Any]) -> Callable[_P, Summary]:
    """Make the function that has the arguments of the core's, and its docstring."""

    @takes_other_names
    @functools.wraps(core, ("__name__", "__qualname__", "__doc__"))
    def function(a: Any, /, ddof: float = 0, *, method: str = "auto", **options: Any) -> Summary:
        if method == "exact":
            return _exactly(a, ddof, **options)
        return made(_core.describe(a, ddof, method=method, **options), ddof)

    return function  # type: ignore[return-value]


describe = _describing(_core.describe)
