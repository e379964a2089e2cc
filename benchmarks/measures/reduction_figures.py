"""What the reductions beside the ladder's cost."""

from collections.abc import Iterator

import numpy as np
from measures.call_figures import peers
from measures.figure import Figure, figure

import gred
from gred.cli.data import random_array

GIB = 1 << 30
OPS = ("var", "std", "argmin", "argmax", "norm", "count_nonzero", "any", "all")
OPS += ("nansum", "nanmean", "nanmax", "ptp", "minmax", "describe")
# Of the time that the sum of the same array takes.
OVER_SUM = dict.fromkeys(("var", "argmax", "norm", "count_nonzero", "nansum"), 1.1)
DESCRIBE = {"float32": 1.15}


def measure_reductions() -> Iterator[Figure]:
    """Measure 1 GiB of the types of 4 and 8 bytes: all reductions of an array beside its sum."""
    cupy, _ = peers()
    for dtype in ("float32", "float64", "int32", "int64"):
        array = cupy.asarray(random_array(GIB // np.dtype(dtype).itemsize, dtype))
        beside = gred.kernel_time(array, "sum").seconds
        yield figure(f"sum, 1 GiB {dtype}", 1e6 * beside, "us")
        for op in OPS:
            seconds = gred.kernel_time(array, op).seconds / np.median(beside)
            bound = DESCRIBE.get(dtype) if op == "describe" else OVER_SUM.get(op)
            what = f"{op}, 1 GiB {dtype}: time over that of sum"
            yield figure(what, seconds, "x", at_most=bound)
