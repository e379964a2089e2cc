"""Reductions of Dask's arrays, with the same bits whatever their chunks are.

>>> import dask.array as da, gred.dask
>>> x = da.from_array([1e100, 1.0, -1e100, 2.0], chunks=1)
>>> float(gred.dask.sum(x)), float(x.sum())
(3.0, 2.0)

Every block is reduced where it lies, and what goes to other workers loses nothing: exact sums of
elements and of squares, extremes, counts. Dask merges them as a tree. They are rounded once, in the
end: the bits are the same for every chunking, every scheduler, and every number of workers.
"""

from gred.dask.functions import (
    all,
    any,
    count_nonzero,
    max,
    mean,
    median,
    min,
    nanmax,
    nanmean,
    nanmedian,
    nanmin,
    nanquantile,
    nanstd,
    nansum,
    nanvar,
    norm,
    quantile,
    std,
    sum,
    var,
)
from gred.dask.summaries import by_key, describe
from gred.dask.sums import dot

__all__ = ["all", "any", "by_key", "count_nonzero", "describe", "dot", "max", "mean", "median"]
__all__ += ["min", "nanmax", "nanmean", "nanmedian", "nanmin", "nanquantile", "nanstd", "nansum"]
__all__ += ["nanvar", "norm", "quantile", "std", "sum", "var"]


def __dir__() -> list[str]:
    return __all__
