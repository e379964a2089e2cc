"""Every function that takes arrays, for tests of what all of them promise.

The arrays of a call are made from a matrix of numbers, its rows and its columns.
"""

import itertools
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest
from devices import GPU_IS_HERE, laid_out, to_host
from drawn import misaligned
from exactly import of_products
from inputs import methods_on
from reference import INTEGERS, home
from samples import silenced
from truths import SPREADS

import gred

SHAPE = (20, 131)
ANYWHERE = ("host", "simulated", "cuda")
BROUGHT = (*ANYWHERE, "brought")
ROUNDED = ("prod", "nanprod", *SPREADS, "norm", "logsumexp", "describe")


class Call(NamedTuple):
    """A function, how its arrays are made from a matrix, and the devices they may be on."""

    run: Callable
    of: Callable = lambda x: (x,)
    places: tuple = ANYWHERE
    exact: bool = True  # whether sums of small integers are exact
    out: bool = False  # whether it takes `out`


HERE = ("host",)
EXACTLY = {"method": "exact"}
KEYS = np.random.default_rng(1).integers(0, 7, 4000)
OFFSETS = np.array([0, 3, 3, 10, 1, 25])


# Arrays made from a matrix.
OF = {
    "rows": lambda x: (x[0], x[-1]),
    "mask": lambda x: (x, x.real > 0),
    "mean": lambda x: (x, x.astype(np.result_type(x.dtype, "f4")).mean(0, keepdims=True)),
    "weights": lambda x: (x, x * x + x.dtype.type(1)),
    "turned": lambda x: (x, x[::-1]),
    "keyed": lambda x: (KEYS[: len(x)], x[:, 0]),
    "keyed rows": lambda x: (KEYS[: len(x)], x),
    "segments": lambda x: (x[0], OFFSETS % min(len(x[0]), 26)),
    "segments of rows": lambda x: (x, OFFSETS % min(len(x), 26)),
}


def each(*arrays, **options):
    return gred.each("sum", arrays, **options)


def shown(name, axis, **own):
    """Return a reduction that takes an array and a mask."""
    return lambda x, mask, **more: getattr(gred, name)(x, axis=axis, where=mask, **own, **more)


def of_reductions():
    """Yield each reduction of the whole and along either axis, also exactly where possible."""
    for name, *_ in gred.reductions():
        exactly = name in ("sum", "mean", "nansum", "nanmean", "norm")
        for options, axis in itertools.product(({}, EXACTLY)[: 1 + exactly], (None, 0, 1)):
            words = [name, *[f"along {axis}"] * (axis is not None), *options.values()]
            exact = name not in ROUNDED or bool(options)
            run = partial(getattr(gred, name), axis=axis, **options)
            out = name not in ("minmax", "describe")
            yield ", ".join(words), Call(run, places=BROUGHT, exact=exact, out=out)
        begun = {"initial": 1} if name in ("min", "max", "nanmin", "nanmax") else {}
        run, exact = shown(name, None, **begun), name not in ROUNDED
        yield f"{name} under a mask", Call(run, OF["mask"], BROUGHT, exact, out)


def of_rungs():
    """Yield a sum for every method of the ladder."""
    for method in gred.methods():
        places = tuple(place for place in ANYWHERE if method.name in methods_on(place))
        places += ("brought",) * ("simulated" in places)
        run = partial(gred.sum, method=method.name)
        yield f"sum by {method.name}", Call(run, places=places)


REDUCTIONS, RUNGS = dict(of_reductions()), dict(of_rungs())
OTHERS = {
    "means under a mask": Call(shown("mean", 0), OF["mask"], out=True),
    "exact sums under a mask": Call(shown("sum", 1, **EXACTLY), OF["mask"], out=True),
    "var about a mean": Call(
        lambda x, mean, **more: gred.var(x, 0, mean=mean, **more), OF["mean"], BROUGHT, False, True
    ),
    "batch invariant": Call(partial(gred.sum, axis=1, method="batch_invariant"), out=True),
    "dot": Call(gred.dot, OF["rows"]),
    "dot, exact": Call(partial(gred.dot, **EXACTLY), OF["rows"]),
    "sum of a list": Call(lambda *arrays, **more: gred.sum(arrays, **more), OF["rows"], out=True),
    "sum of a list, exact": Call(
        lambda *arrays, **more: gred.sum(arrays, **EXACTLY, **more), OF["rows"], out=True
    ),
    "each": Call(each, OF["rows"], out=True),
    "each, exact": Call(partial(each, **EXACTLY), OF["rows"], out=True),
    "reduceat": Call(partial(gred.reduceat, "sum"), OF["segments"], out=True),
    "reduceat of extremes": Call(partial(gred.reduceat, "max"), OF["segments"], out=True),
    "reduceat, spreads": Call(partial(gred.reduceat, "var"), OF["segments"], exact=False, out=True),
    "reduceat, exact": Call(partial(gred.reduceat, "sum", **EXACTLY), OF["segments"], out=True),
    "by_key": Call(partial(gred.by_key, "sum", num_keys=7), OF["keyed"]),
    "by_key of extremes": Call(partial(gred.by_key, "min", num_keys=7), OF["keyed"]),
    "by_key, exact": Call(partial(gred.by_key, "sum", num_keys=7, **EXACTLY), OF["keyed"]),
    "ExactSum": Call(lambda x: gred.ExactSum(x).words),
    "ExactSum of products": Call(lambda a, b: of_products(a, b).words, OF["rows"]),
    "var, exact": Call(partial(gred.var, **EXACTLY), places=HERE),
    "describe, exact": Call(partial(gred.describe, **EXACTLY), places=HERE),
    # Computed on the host, or by the library that the arrays come from.
    "vecdot": Call(gred.vecdot, OF["turned"], HERE, out=True),
    "vecdot, exact": Call(partial(gred.vecdot, axis=0, **EXACTLY), OF["turned"], HERE, out=True),
    "reduceat of rows": Call(partial(gred.reduceat, "sum"), OF["segments of rows"], HERE),
    "by_key of rows": Call(partial(gred.by_key, "mean", num_keys=7), OF["keyed rows"], HERE),
    "by_key of places": Call(partial(gred.by_key, "argmax", num_keys=7), OF["keyed"], HERE),
    "by_key, records": Call(partial(gred.by_key, "describe", num_keys=7), OF["keyed"], HERE, False),
    "quantile": Call(partial(gred.quantile, q=[0.1, 0.5], axis=1), places=HERE),
    "median": Call(gred.median, places=HERE),
    "nanmedian": Call(partial(gred.nanmedian, axis=0), places=HERE),
    "nanvar": Call(partial(gred.nanvar, axis=0), places=HERE, exact=False),
    "nanargmax": Call(partial(gred.nanargmax, axis=1), places=HERE),
    "mean of weights": Call(
        lambda x, w, **more: gred.mean(x, 0, weights=w, **more), OF["weights"], HERE, exact=False
    ),
    "ExactSums": Call(lambda x: gred.ExactSums(x, 0).value(), places=HERE),
    "ExactMoments": Call(lambda *each: gred.ExactMoments(*each).cov(), OF["rows"], HERE),
    "cov": Call(gred.cov, lambda x: (x[:2],), HERE),
}
CALLS = REDUCTIONS | RUNGS | OTHERS


every_call = pytest.mark.parametrize("name", CALLS)


def places_of(name):
    """List the places on this machine where a call's arrays may be, or be copied to."""
    return [place for place in CALLS[name].places if place != "cuda" or GPU_IS_HERE]


def drawn(name, dtype, shape=SHAPE):
    """Draw small integers, whose sums are exact, or 1 and -1 for products."""
    x = np.random.default_rng(1).integers(-4, 5, shape)
    x = np.where(x < 0, -1, 1) if "prod" in name else x
    return (abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)


def told(result):
    """Return the arrays of a result, on the host."""
    result = to_host(result)
    return [np.asarray(one) for one in (result if isinstance(result, tuple) else (result,))]


def lie(arrays, place):
    """Copy arrays to a device, or leave them on the host if the call is to copy them."""
    place = "host" if place == "brought" else place
    return [laid_out(np.asarray(one), place) for one in arrays]


def results(name, arrays, place="host", **options):
    """Make a call without warnings, and return its results on the host."""
    options |= {"device": "simulated"} if place == "brought" else {}
    with silenced():
        return told(CALLS[name].run(*arrays, **options))


def check(name, got, want):
    """Compare two calls' results for equal elements: exactly, or to within roundings."""
    for one, other in zip(got, want, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        eps = 0 if one.dtype in INTEGERS else float(ml_dtypes.finfo(one.dtype).eps)
        near = 0 if CALLS[name].exact else 64 * eps
        one, other = home(one), home(other)
        np.testing.assert_allclose(one, other, near, near)


def swapped(x):
    return x.astype(x.dtype.newbyteorder())


def field_of_records(x):
    records = np.zeros(x.shape, [("other", np.int8), ("wanted", x.dtype)])
    records["wanted"] = x
    return records["wanted"]


# Layouts of a matrix, and those that only host memory can have.
LAYOUTS = {
    "as it is": lambda x: x,
    "Fortran order": np.asfortranarray,
    "transposed": lambda x: x.T,
    "every second column": lambda x: x[:, ::2],
    "every third row": lambda x: x[::3],
    "every second row and third column, backwards": lambda x: x[::-2, ::-3],
    "an inner part": lambda x: x[1:-1, 3:-2],
    "short rows": lambda x: x[:, 3:12],
    "columns backwards": lambda x: x[:, ::-1],
    "a row again and again": lambda x: np.broadcast_to(x[3], x.shape),
    "a column again and again": lambda x: np.broadcast_to(x[:, 3:4], x.shape),
    "one element": lambda x: x[2:3, 1:2],
    "overlapping windows": lambda x: np.lib.stride_tricks.sliding_window_view(x[0], 30),
}
OF_THE_HOST = {
    "misaligned": misaligned,
    "misaligned, strided": lambda x: misaligned(x)[:, ::2],
    "in the other byte order": swapped,
    "in the other byte order, strided": lambda x: swapped(x)[::-2],
    "a field of records": field_of_records,
    "a record array": lambda x: x.view(np.recarray),
}
