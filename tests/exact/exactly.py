"""Exact reductions as their tests call them, and numbers that they are made of."""

import numpy as np
import pytest
from exact_truths import exact_square, nearest_root, of_exponents
from reference import COMPLEX, REALS
from samples import element_there, fetched, quietly, there

import gred

NAMES = ("sum", "mean", "nansum", "nanmean")
WIDE, NARROW = np.dtype(np.float64), np.dtype(np.float32)
INTEGERS = [np.dtype(kind + str(size)) for kind in "iu" for size in (1, 2, 4, 8)]
EVERY = [*REALS, *COMPLEX, *INTEGERS, np.dtype(bool)]
typed = pytest.mark.parametrize("dtype", REALS, ids=str)
both_methods = pytest.mark.parametrize("how", ["auto", "exact"])
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def exact(name, x, **options):
    """Reduce without a word about means of nothing."""
    return quietly(name, x, method="exact", **options)


def stored(name, x, device, dtype=None, **options):
    """Reduce on a device to one element there, and read it."""
    out = element_there(dtype or x.dtype, device)
    if dtype and np.dtype(dtype).kind in "fc" and "dtype" not in options:
        options["dtype"] = dtype
    assert exact(name, there(x, device), out=out, **options) is out
    return fetched(out, device)


def added(device, a, b):
    """Add the products of arrays on a device, without any rounding."""
    products = gred.ExactSum()
    products.add_products(there(a, device), there(b, device))
    assert products.count == np.size(a)
    return products.fraction()


def drawn(dtype, n, spread, seed=1):
    """Draw two factors whose products' exponents are spread so far, with all bits of their type."""
    random = np.random.default_rng([n, seed])
    return (
        of_exponents(random.integers(-spread // 4, spread // 4 + 1, n), dtype, seed + k)
        for k in range(2)
    )


def norm(x, **options):
    return gred.norm(x, method="exact", **options)


def root(x, dtype=np.float64):
    """Give the norm that is right."""
    return nearest_root(exact_square(x), dtype)
