"""Exact reductions as their tests call them: without a word about means of nothing."""

import numpy as np
from samples import element_there, fetched, quietly, there


def exact(name, x, **options):
    return quietly(name, x, method="exact", **options)


def stored(name, x, device, dtype=None, **options):
    """Reduce on a device to one element there, and read it."""
    out = element_there(dtype or x.dtype, device)
    if dtype and np.dtype(dtype).kind in "fc" and "dtype" not in options:
        options["dtype"] = dtype
    assert exact(name, there(x, device), out=out, **options) is out
    return fetched(out, device)
