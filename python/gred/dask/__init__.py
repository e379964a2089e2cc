"""Reductions of Dask's arrays, with the same bits whatever their chunks are.

>>> import dask.array as da, gred.dask
>>> x = da.from_array([1e100, 1.0, -1e100, 2.0], chunks=1)
>>> float(gred.dask.sum(x)), float(x.sum())
(3.0, 2.0)

Every block is reduced where it lies, and what goes to other workers loses nothing: exact sums of
elements and of squares, extremes, counts. Dask merges them as a tree. They are rounded once, in the
end: the bits are the same for every chunking, every scheduler, and every number of workers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from gred.dask import quantiles, summaries, sums
from gred.docstrings import NEEDED, OPTIONS, made

__all__ = ["all", "any", "by_key", "count_nonzero", "describe", "dot", "max", "mean", "median"]
__all__ += ["min", "nanmax", "nanmean", "nanmedian", "nanmin", "nanquantile", "nanstd", "nansum"]
__all__ += ["nanvar", "norm", "quantile", "std", "sum", "var"]

_DOCSTRING = """{summary}

Parameters
----------
{parameters}
Returns
-------
{kind}
    {returns}

Raises
------
TypeError
    If an array is none of Dask's, or a type is not right for it, such as of `where` and keys.
ValueError
    If arrays do not fit, or have other chunks where their lengths are unknown; or if there is no
    such option.

References
----------
R. M. Neal, "Fast exact summation using small and large superaccumulators", arXiv:1505.05571, 2015;
M. Rocklin, "Dask: parallel computation with blocked algorithms and task scheduling", SciPy 2015.

Examples
--------
>>> import dask.array as da, gred.dask
>>> x = da.from_array({elements}, chunks=1)
>>> gred.dask.{name}({arguments}).compute()
{result}
"""

_ARRAY = "Of any of gred's types. Its blocks are NumPy's, or CuPy's where gred takes those."
# By name: the default, the type, and what it is.
_PARAMETERS = {
    **OPTIONS,
    "x": (NEEDED, "dask.array.Array", _ARRAY),
    "a": (NEEDED, "dask.array.Array of shape (n,)", _ARRAY),
    "b": (NEEDED, "dask.array.Array of shape (n,)", "Its chunks need not be those of a."),
    "op": (
        *(NEEDED, "str or numpy.ufunc"),
        "'sum', 'mean', 'var', 'std', 'norm', 'min', 'max', 'any', 'all', 'count', "
        "'count_nonzero', 'describe', or a ufunc of NumPy's for one.",
    ),
    "keys": (NEEDED, "array_like of int, shape (n,)", "From 0 to num_keys - 1, in any order."),
    "values": (NEEDED, "dask.array.Array of shape (n, ...)", "Of gred's types, in NumPy's blocks."),
    "num_keys": (NEEDED, "int", "How many results there are."),
    "outside": (
        *("error", "{'error', 'drop'}, default 'error'"),
        "What becomes of values of other keys: an IndexError as they are computed, or nothing.",
    ),
    "q": (NEEDED, "float or array_like of float", "From 0 to 1; its dimensions come first."),
    "method": ("linear", "str, default 'linear'", "As for `gred.quantile`."),
    "where": (True, "array_like of bool, optional", "What takes part: of Dask's or NumPy's."),
    "split_every": (None, "int, optional", "As for `dask.array.sum`; it changes no bit."),
}


class _Kind(NamedTuple):
    """What functions have in common; parameters and keywords are named in one string each."""

    call: Callable[..., Any]
    parameters: str
    keywords: str
    returns: str
    kind: str = "dask.array.Array\n    Lazy, and of NumPy's arrays."


_SUM = _Kind(
    *(sums.reduced_exactly, "x axis dtype keepdims", "where split_every"),
    "Sums of integers wrap around; others are exact, and rounded once, to nearest, ties to even; "
    "and so are means, quotients of exact sums: of nothing NaN.",
)
_SPREAD = _Kind(
    *(sums.reduced_exactly, "x axis dtype ddof keepdims", "where split_every"),
    "What gred's own by ``method='exact'`` is of the whole array.",
)
_NORM = _SPREAD._replace(parameters=_SUM.parameters)
_DOT = _Kind(sums.dot, "a b", "split_every", _SPREAD.returns)
_EXTREME = _Kind(
    *(sums.extreme, "x axis keepdims", "where split_every"),
    "Where there is no element it raises ValueError as it is computed; of floats that are all NaN "
    "nanmin and nanmax are NaN, with a RuntimeWarning.",
)
_TRUTH = _Kind(sums.truth, "x axis keepdims", "where split_every", "As of the whole array.")
_QUANTILE = _Kind(
    *(quantiles.quantile, "x q axis", "method keepdims split_every"),
    """What gred's own is of the whole array. Of all elements it is found in passes: one for
    elements of up to 16 bits, two for those of 32, and four for those of 64, or more where q has
    more than 8. A pass reads x anew and merges counts, of at most 8 MiB, so that x need not fit
    into memory; `x.persist()` where it does and is slow to compute. Along axes x is rechunked, so
    that a block has all elements of a result. Of no elements it raises ValueError as it is
    computed.""",
)
_MEDIAN = _QUANTILE._replace(parameters="x axis", keywords="keepdims split_every")
_SUMMARY = _Kind(
    *(summaries.describe, "x ddof", "axis keepdims dtype where split_every"),
    "What `gred.describe` by ``method='exact'`` makes of the whole array.",
    "dask.delayed.Delayed\n    Of a `gred.Summary`, whose attributes are lazy, too.",
)
_BY_KEY = _Kind(
    *(summaries.by_key, "op keys values num_keys", "outside dtype ddof split_every"),
    """Sums, means, variances and norms of floats are exact, and rounded once. A key without
    values has what it has in `gred.by_key`. Of 'describe' a Delayed `gred.Summary`.""",
    "dask.array.Array of shape (num_keys, ...)\n    Lazy.",
)

_PLAIN, _NANS = "[[4.0, 1.0], [3.0, 2.0]]", "[5.0, float('nan'), 1.0]"
# Of each function its kind, and an example: the arguments and the result.
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
    return made(
        *("gred.dask", name, _DOCSTRING, parameters, keywords, partial(kind.call, name)),
        kind=kind.kind,
        returns=kind.returns,
        elements=_NANS if name.startswith("nan") else _PLAIN,
        arguments=arguments,
        result=result,
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
