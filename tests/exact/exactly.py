"""Exact reductions as the tests call them, and their data."""

import numpy as np
import pytest
from devices import laid_out
from exact_truths import of_exponents, same, truth
from reference import COMPLEX, INTEGERS, REALS
from samples import fetched, quietly

import gred

NAMES = ("sum", "mean", "nansum", "nanmean")
FLOATS = (np.float64, np.float32, np.float16)
WIDE, NARROW = np.dtype(np.float64), np.dtype(np.float32)
EVERY = [*REALS, *COMPLEX, *INTEGERS]
typed = pytest.mark.parametrize("dtype", REALS, ids=str)
both_methods = pytest.mark.parametrize("how", ["auto", "exact"])
quiet = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def exact(name, x, *arguments, **options):
    """Reduce exactly, without warnings about empty means."""
    return quietly(name, x, *arguments, method="exact", **options)


def stored(name, x, device, dtype=None, **options):
    """Reduce to an element on the array's device, and read it."""
    out = laid_out(np.zeros((), dtype or x.dtype), device)
    if np.dtype(dtype).kind in "fc" and not (name == "norm" and x.dtype in COMPLEX):
        options = {"dtype": dtype, **options}
    assert exact(name, laid_out(x, device), out=out, **options) is out
    return fetched(out, device)


def check(device, name, x, dtype=None, where=None):
    """Compare results on the host and on the device with the truth of unmasked elements."""
    want = truth(name, x if where is None else x[where], dtype)
    mask = {} if where is None else {"where": laid_out(where, device)}
    got = [exact(name, laid_out(x, device), dtype=dtype, **mask)]
    got += [stored(name, x, device, want.dtype, **mask)]
    assert all(same(one, want) for one in got), (name, x[:5], x.size, got, want)


def of_products(a, b, device="host"):
    """Return an ExactSum of the products of arrays on a device."""
    products = gred.ExactSum()
    products.add_products(laid_out(a, device), laid_out(b, device))
    return products


def added(device, a, b):
    """Return the exact sum of the products of arrays on a device."""
    products = of_products(a, b, device)
    assert products.count == np.size(a)
    return products.fraction()


def drawn(dtype, n, spread, seed=1):
    """Draw two factors with this spread of their products' exponents, with full significands."""
    random, ends = np.random.default_rng([n, seed]), (-spread // 4, spread // 4 + 1)
    return [of_exponents(random.integers(*ends, n), dtype, seed + k) for k in range(2)]
