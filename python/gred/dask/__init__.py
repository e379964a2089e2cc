"""Reductions of Dask arrays, with the same bits for every chunking.

>>> import dask.array as da, gred.dask
>>> x = da.from_array([1e100, 1.0, -1e100, 2.0], chunks=1)
>>> float(gred.dask.sum(x)), float(x.sum())
(3.0, 2.0)

Every block is reduced on its worker, to exact sums of elements and of squares, extremes, or counts.
Dask merges these partial results as a tree, and they are rounded once, at the end: the bits are the
same for every chunking, scheduler and number of workers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from gred.dask import quantiles, sums
from gred.docstrings import NEEDED, OPTIONS, make_function

__all__ = ["all", "any", "by_key", "count_nonzero", "describe", "dot", "max", "mean", "median"]
__all__ += ["min", "nanmax", "nanmean", "nanmedian", "nanmin", "nanquantile", "nanstd", "nansum"]
__all__ += ["nanvar", "norm", "quantile", "std", "sum", "var"]

_RAISES = """TypeError
    If an array is not a Dask array, or a type, such as that of `where` or keys, is not supported.
ValueError
    If shapes do not match, or chunks differ where lengths are unknown; or if an option does not
    exist.
"""
_REFERENCES = """\
R. M. Neal, "Fast exact summation using small and large superaccumulators", arXiv:1505.05571, 2015;
M. Rocklin, "Dask: parallel computation with blocked algorithms and task scheduling", SciPy 2015.
"""
_EXAMPLE = """>>> import dask.array as da, gred.dask
>>> x = da.from_array({elements}, chunks=1)
>>> gred.dask.{name}({arguments}).compute()
{result}
"""

_ARRAY = "Input of any of gred's types, in NumPy blocks, or CuPy blocks where gred supports these."
# Name -> default, type, description.
_PARAMETERS = {
    **OPTIONS,
    "x": (NEEDED, "dask.array.Array", _ARRAY),
    "a": (NEEDED, "dask.array.Array of shape (n,)", _ARRAY),
    "b": (NEEDED, "dask.array.Array of shape (n,)", "Input; its chunks may differ from a's."),
    "op": (
        *(NEEDED, "str or numpy.ufunc"),
        "'sum', 'mean', 'var', 'std', 'norm', 'min', 'max', 'any', 'all', 'count', "
        "'count_nonzero', 'describe', or a corresponding NumPy ufunc.",
    ),
    "keys": (NEEDED, "array_like of int, shape (n,)", "Keys from 0 to num_keys - 1, in any order."),
    "values": (NEEDED, "dask.array.Array of shape (n, ...)", "Of gred's types, in NumPy blocks."),
    "num_keys": (NEEDED, "int", "Number of results."),
    "outside": (
        *("error", "{'error', 'drop'}, default 'error'"),
        "Whether other keys raise IndexError when computed, or their values are dropped.",
    ),
    "q": (NEEDED, "float or array_like of float", "Probabilities from 0 to 1."),
    "method": ("linear", "str, default 'linear'", "As for `gred.quantile`."),
    "where": (True, "array_like of bool, optional", "Mask of elements, of Dask or NumPy."),
    "split_every": (None, "int, optional", "As for `dask.array.sum`; does not change the bits."),
}


class _Kind(NamedTuple):
    """What several functions share; parameters and keywords are space-separated names."""

    call: Callable[..., Any]
    parameters: str
    keywords: str
    returns: str
    kind: str = "dask.array.Array\n    Lazy, in NumPy blocks."


_SUM = _Kind(
    *(sums.reduced_exactly, "x axis dtype keepdims", "where split_every"),
    "Integer sums wrap around; other sums, and means, are exact and rounded once, to nearest, ties "
    "to even. The mean of an empty array is NaN.",
)
_SPREAD = _Kind(
    *(sums.reduced_exactly, "x axis dtype ddof keepdims", "where split_every"),
    "The result of gred's own function with ``method='exact'`` for the whole array.",
)
_NORM = _SPREAD._replace(parameters=_SUM.parameters)
_DOT = _Kind(sums.dot, "a b", "split_every", _SPREAD.returns)
_EXTREME = _Kind(
    *(sums.extreme, "x axis keepdims", "where split_every"),
    "Raises ValueError when computed if there are no elements. If all are NaN, nanmin and nanmax "
    "are NaN, with a RuntimeWarning.",
)
_TRUTH = _Kind(sums.truth, "x axis keepdims", "where split_every", "As for the whole array.")
_QUANTILE = _Kind(
    *(quantiles.quantile, "x q axis", "method keepdims split_every"),
    """The result of gred's own function for the whole array, with the dimensions of q first. For
    all elements it is computed in one pass for types of up to 16 bits, two for 32 bits, and four
    for 64 bits, or more if q has more than 8 values. Each pass recomputes x and merges at most 8
    MiB of counts, so that x need not fit into memory; use `x.persist()` if it fits and is slow to
    compute. Along axes x is rechunked, so that a block has all elements of a result. Raises
    ValueError when computed if there are no elements.""",
)
_MEDIAN = _QUANTILE._replace(parameters="x axis", keywords="keepdims split_every")
_SUMMARY = _Kind(
    *(sums.describe, "x ddof", "axis keepdims dtype where split_every"),
    "The result of `gred.describe` with ``method='exact'`` for the whole array.",
    "dask.delayed.Delayed\n    A delayed `gred.Summary`; its attributes are lazy, too.",
)
_BY_KEY = _Kind(
    *(sums.by_key, "op keys values num_keys", "outside dtype ddof split_every"),
    """Sums, means, variances and norms of floats are exact, and rounded once. A key without
    values gives the same result as in `gred.by_key`; 'describe' a Delayed `gred.Summary`.""",
    "dask.array.Array of shape (num_keys, ...)\n    Lazy.",
)

_PLAIN, _NANS = "[[4.0, 1.0], [3.0, 2.0]]", "[5.0, float('nan'), 1.0]"
# Function name -> its kind, and the arguments and the result of an example.
_FUNCTIONS = {
    "sum": (_SUM, "x, axis=0", "array([7., 3.])"),
    "nansum": (_SUM, "x", "np.float64(6.0)"),
    "mean": (_SUM, "x", "np.float64(2.5)"),
    "nanmean": (_SUM, "x", "np.float64(3.0)"),
    "norm": (_NORM, "x[0, :1]", "np.float64(4.0)"),
    "dot": (_DOT, "x[0], x[1]", "np.float64(14.0)"),
    "var": (_SPREAD, "x", "np.float64(1.25)"),
    "std": (_SPREAD, "x, axis=1", "array([1.5, 0.5])"),
    "nanvar": (_SPREAD, "x", "np.float64(4.0)"),
    "nanstd": (_SPREAD, "x", "np.float64(2.0)"),
    "min": (_EXTREME, "x, axis=0", "array([3., 1.])"),
    "max": (_EXTREME, "x, where=x < 4", "np.float64(3.0)"),
    "nanmin": (_EXTREME, "x", "np.float64(1.0)"),
    "nanmax": (_EXTREME, "x", "np.float64(5.0)"),
    "any": (_TRUTH, "x", "np.True_"),
    "all": (_TRUTH, "x > 1, axis=1", "array([False,  True])"),
    "count_nonzero": (_TRUTH, "x", "np.int64(4)"),
    "quantile": (_QUANTILE, "x, [0, 1]", "array([1., 4.])"),
    "nanquantile": (_QUANTILE, "x, 0.5", "array(3.)"),
    "median": (_MEDIAN, "x", "array(2.5)"),
    "nanmedian": (_MEDIAN, "x", "array(3.)"),
    "by_key": (_BY_KEY, '"sum", [0, 0], x, 2', "array([[7., 3.],\n       [0., 0.]])"),
    "describe": (
        *(_SUMMARY, "x > 1"),
        "count  4\nnans   0\nmin    False\nmax    True\n"
        "mean   0.75\nvar    0.1875\nstd    0.4330127018922193\nsum    3",
    ),
}


def _function(name: str) -> Callable[..., Any]:
    kind, arguments, result = _FUNCTIONS[name]
    parameters, keywords = (
        {one: _PARAMETERS[one] for one in names.split()}
        for names in (kind.parameters, kind.keywords)
    )
    elements = _NANS if name.startswith("nan") else _PLAIN
    shown = {"elements": elements, "arguments": arguments, "result": result}
    return make_function(
        *("gred.dask", name, parameters, keywords, partial(kind.call, name)),
        Returns=f"{kind.kind}\n    {kind.returns}\n",
        Raises=_RAISES,
        References=_REFERENCES,
        Examples=_EXAMPLE.format(name=name, **shown),
    )


sum, nansum, mean, nanmean = map(_function, ("sum", "nansum", "mean", "nanmean"))
var, std, nanvar, nanstd = map(_function, ("var", "std", "nanvar", "nanstd"))
norm, min, max, nanmin, nanmax = map(_function, ("norm", "min", "max", "nanmin", "nanmax"))
any, all, count_nonzero = map(_function, ("any", "all", "count_nonzero"))
quantile, nanquantile = map(_function, ("quantile", "nanquantile"))
median, nanmedian = map(_function, ("median", "nanmedian"))
dot, by_key, describe = map(_function, ("dot", "by_key", "describe"))


def __dir__() -> list[str]:
    return __all__
