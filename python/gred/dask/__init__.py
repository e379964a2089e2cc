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
from typing import Any

from gred.dask import extremes, quantiles, sums
from gred.dask.summaries import by_key, describe
from gred.dask.sums import dot
from gred.docstrings import NEEDED, made

__all__ = ["all", "any", "by_key", "count_nonzero", "describe", "dot", "max", "mean", "median"]
__all__ += ["min", "nanmax", "nanmean", "nanmedian", "nanmin", "nanquantile", "nanstd", "nansum"]
__all__ += ["nanvar", "norm", "quantile", "std", "sum", "var"]

_DOCSTRING = """{summary}

Parameters
----------
x : dask.array.Array
    Of any of gred's types. Its blocks are NumPy's, or CuPy's where gred takes those.
{{parameters}}
Returns
-------
dask.array.Array
    Lazy, and of NumPy's arrays. {returns}

Raises
------
TypeError
    If x is no Dask array, a type is not right for it, or `where` is not of bool.
ValueError
    If `where` does not fit, or has other chunks than x where their lengths are unknown.

References
----------
R. M. Neal, "Fast exact summation using small and large superaccumulators", arXiv:1505.05571, 2015;
M. Rocklin, "Dask: parallel computation with blocked algorithms and task scheduling", SciPy 2015.

Examples
--------
>>> import dask.array as da, gred.dask
{example}
"""

_AXIS = (None, "int or tuple of int, optional", "As for `numpy.sum`.")
_DTYPE = (None, "data-type, optional", "That of results, as for `gred.{name}`.")
_DDOF = (0, "float, default 0", "What is taken from the number of elements for the divisor.")
_KEPT = (False, "bool, default False", "Whether axes that are reduced stay, with length 1.")
_KEYWORDS = {
    "where": (
        *(True, "array_like of bool, of Dask's or NumPy's, optional"),
        "Which elements take part; broadcast to x.",
    ),
    "split_every": (
        *(None, "int, optional"),
        "How many partials are merged at once, as for `dask.array.sum`. It changes no bit.",
    ),
}
_Q = {"q": (NEEDED, "float or array_like of float", "From 0 to 1; its dimensions come first.")}
_METHOD = {"method": ("linear", "str, default 'linear'", "As for `gred.quantile`.")}
_LAST = {"keepdims": _KEPT, "split_every": _KEYWORDS["split_every"]}
_OF_SUMS = {"axis": _AXIS, "dtype": _DTYPE, "keepdims": _KEPT}
_OF_SPREADS = {"axis": _AXIS, "dtype": _DTYPE, "ddof": _DDOF, "keepdims": _KEPT}
_OF_EXTREMES = {"axis": _AXIS, "keepdims": _KEPT}

_SUM = "Sums of integers wrap around; others are exact, rounded to nearest, ties to even."
_MEAN = "The exact sums, divided by how many elements there are, and then rounded; of nothing NaN."
_SPREAD = "What gred's own by ``method='exact'`` is of the whole array."
_EXTREME = "Where there is no element it raises ValueError as it is computed."
_NANEXTREME = (
    "Where all are NaN it is, with a RuntimeWarning. Of no integers there is a ValueError."
)
_WHOLE = "As of the whole array."
_QUANTILE = """What gred's own is of the whole array. Of all elements it is found in passes: one for
    elements of up to 16 bits, two for those of 32, and four for those of 64, or more where q has
    more than 8. A pass reads x anew and merges counts, of at most 8 MiB, so that x need not fit
    into memory; `x.persist()` where it does and is slow to compute. Along axes x is rechunked, so
    that a block has all elements of a result. Of no elements it raises ValueError as it is
    computed."""


def _function(
    call: Callable[..., Any],
    parameters: dict[str, Any],
    keywords: dict[str, Any],
    name: str,
    summary: str,
    returns: str,
    *example: str,
) -> Callable[..., Any]:
    docstring = _DOCSTRING.format(summary=summary, returns=returns, example="\n".join(example))
    return made("gred.dask", name, docstring, parameters, keywords, partial(call, name))


_sum = partial(_function, sums.reduced_exactly, _OF_SUMS, _KEYWORDS)
_spread = partial(_function, sums.reduced_exactly, _OF_SPREADS, _KEYWORDS)
_extreme = partial(_function, extremes.extreme, _OF_EXTREMES, _KEYWORDS)
_quantile = partial(_function, quantiles.quantile, _Q | {"axis": _AXIS}, _METHOD | _LAST)
_median = partial(_function, quantiles.quantile, {"axis": _AXIS}, _LAST)
_truth = partial(_function, extremes.truth, _OF_EXTREMES, _KEYWORDS)

sum = _sum(
    *("sum", "Add up all elements, or those along axes, and round once.", _SUM),
    ">>> x = da.full((1000, 8), 0.1, chunks=(300, 3))",
    ">>> gred.dask.sum(x, axis=0).compute()[:2]",
    "array([100., 100.])",
)
nansum = _sum(
    *("nansum", "Add up what is not NaN, and round once.", _SUM),
    ">>> x = da.from_array([1e100, float('nan'), 1.0, -1e100], chunks=1)",
    ">>> float(gred.dask.nansum(x))",
    "1.0",
)
mean = _sum(
    *("mean", "Average all elements, or those along axes, and round once.", _MEAN),
    ">>> float(gred.dask.mean(da.from_array([1e308, 1e308, 1e308], chunks=1)))",
    "1e+308",
)
nanmean = _sum(
    *("nanmean", "Average what is not NaN, and round once.", _MEAN),
    ">>> float(gred.dask.nanmean(da.from_array([2.0, float('nan'), 3.0], chunks=2)))",
    "2.5",
)
norm = _sum(
    *("norm", "Make the root of the sum of squares: no square overflows.", _SPREAD),
    ">>> float(gred.dask.norm(da.from_array([3.0, 4.0], chunks=1) * 2.0**600)) / 2.0**600",
    "5.0",
)
var = _spread(
    *("var", "Make the exact variance, rounded once.", _SPREAD),
    ">>> float(gred.dask.var(da.from_array([1e8, 1e8 + 1, 1e8 + 2], chunks=1), ddof=1))",
    "1.0",
)
std = _spread(
    *("std", "Make the standard deviation, rounded once.", _SPREAD),
    ">>> float(gred.dask.std(da.from_array([1.0, 5.0], chunks=1)))",
    "2.0",
)
nanvar = _spread(
    *("nanvar", "Make the exact variance of what is not NaN, rounded once.", _SPREAD),
    ">>> float(gred.dask.nanvar(da.from_array([1.0, float('nan'), 3.0], chunks=1)))",
    "1.0",
)
nanstd = _spread(
    *("nanstd", "Make the standard deviation of what is not NaN, rounded once.", _SPREAD),
    ">>> float(gred.dask.nanstd(da.from_array([1.0, float('nan'), 5.0], chunks=1)))",
    "2.0",
)
min = _extreme(
    *("min", "Find the least element, or along axes; NaN if there is one.", _EXTREME),
    ">>> gred.dask.min(da.from_array([[3, 1], [2, 5]], chunks=1), axis=0).compute()",
    "array([2, 1])",
)
max = _extreme(
    *("max", "Find the greatest element, or along axes; NaN if there is one.", _EXTREME),
    ">>> x = da.from_array([[3, 1], [2, 5]], chunks=1)",
    ">>> int(gred.dask.max(x, where=x < 3))",
    "2",
)
nanmin = _extreme(
    *("nanmin", "Find the least element that is not NaN.", _NANEXTREME),
    ">>> float(gred.dask.nanmin(da.from_array([2.0, float('nan'), 1.0], chunks=1)))",
    "1.0",
)
nanmax = _extreme(
    *("nanmax", "Find the greatest element that is not NaN.", _NANEXTREME),
    ">>> float(gred.dask.nanmax(da.from_array([2.0, float('nan'), 1.0], chunks=1)))",
    "2.0",
)
any = _truth(
    *("any", "Tell whether any element is not zero.", _WHOLE),
    ">>> bool(gred.dask.any(da.from_array([[0, 1], [2, 3]], chunks=1)))",
    "True",
)
all = _truth(
    *("all", "Tell whether all elements are not zero.", _WHOLE),
    ">>> gred.dask.all(da.from_array([[0, 1], [2, 3]], chunks=1), axis=0).compute()",
    "array([False,  True])",
)
count_nonzero = _truth(
    *("count_nonzero", "Count elements that are not zero, as int64.", _WHOLE),
    ">>> int(gred.dask.count_nonzero(da.from_array([[0, 1], [2, 3]], chunks=1)))",
    "3",
)
quantile = _quantile(
    *("quantile", "Compute quantiles exactly; NaN where an element is NaN.", _QUANTILE),
    ">>> x = da.from_array([4.0, 1.0, 3.0, 2.0], chunks=1)",
    ">>> gred.dask.quantile(x, [0.25, 0.5]).compute()",
    "array([1.75, 2.5 ])",
)
nanquantile = _quantile(
    *("nanquantile", "Compute quantiles of what is not NaN; NaN where all are.", _QUANTILE),
    ">>> x = da.from_array([4.0, float('nan'), 3.0], chunks=1)",
    ">>> float(gred.dask.nanquantile(x, 0.5))",
    "3.5",
)
median = _median(
    *("median", "Compute the median: the quantile of q = 0.5.", _QUANTILE),
    ">>> float(gred.dask.median(da.from_array([5.0, 1.0, 3.0], chunks=1)))",
    "3.0",
)
nanmedian = _median(
    *("nanmedian", "Compute the median of what is not NaN; NaN where all are.", _QUANTILE),
    ">>> float(gred.dask.nanmedian(da.from_array([5.0, float('nan'), 3.0, 1.0], chunks=1)))",
    "3.0",
)


def __dir__() -> list[str]:
    return __all__
