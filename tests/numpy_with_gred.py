"""A pytest plugin that puts gred in the place of NumPy's reductions, for NumPy's own tests.

`np.sum(a)` and `a.sum()` and their like become gred's where gred takes the arguments: reductions
over the whole of a plain array of a supported type. What they cannot (an axis, keepdims, objects,
subclasses with methods of their own) stays NumPy's. At the end the number of gred's calls is
written to the file that GRED_CALLS names.
"""

import os
from collections import Counter
from pathlib import Path

import numpy as np
from numpy._core import _methods, fromnumeric
from numpy._globals import _NoValue

import gred

TAKEN = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
CODES = "?bhilqBHILQefdFD"
calls: Counter = Counter()
numpys = {
    "wrapreduction": fromnumeric._wrapreduction,
    "mean": _methods._mean,
    "sum": _methods._sum,
    "prod": _methods._prod,
    "min": _methods._amin,
    "max": _methods._amax,
}


def is_whole(a: np.ndarray, axis) -> bool:
    """Tell whether a reduction over these axes leaves one number."""
    if axis is None:
        return True
    try:
        axes = [axis.__index__()] if not isinstance(axis, tuple) else [k.__index__() for k in axis]
    except (AttributeError, TypeError):
        return False
    return sorted(k + a.ndim if k < 0 else k for k in axes) == list(range(a.ndim)) and a.ndim > 0


def array_of(a, method: str):
    """Give the plain array that an object stands for, if it has no such method of its own."""
    if type(a) is np.ndarray:
        return a
    if (
        isinstance(a, np.ndarray)
        or hasattr(a, method)
        or not isinstance(a, list | tuple | int | float)
    ):
        return None
    try:
        return np.asarray(a)
    except (TypeError, ValueError):
        return None


def options_of(op, a, axis, dtype, out, keepdims, initial, where):
    """Translate NumPy's arguments to gred's; None if gred has no such thing."""
    if a is None or a.dtype.char not in CODES or not is_whole(a, axis):
        return None
    if keepdims is not _NoValue and keepdims is not False:
        return None
    if out is not None and (
        type(out) is not np.ndarray or out.shape or out.dtype.char not in CODES
    ):
        return None
    options = {}
    if dtype is not None:
        try:
            wanted = np.dtype(dtype)
        except TypeError:
            return None
        if wanted.char not in CODES or not wanted.isnative:
            return None
        options["dtype"] = wanted
    if out is not None:
        options["out"] = out
    if initial is not _NoValue:
        options["initial"] = initial
    if where is not _NoValue and where is not True:
        options["where"] = where
    return options


def reduce(op, a, options):
    """Let gred do it."""
    calls[op] += 1
    return getattr(gred, op)(a, **options)


def wrapreduction(obj, ufunc, method, axis, dtype, out, **kwargs):
    """Stand in for what `np.sum` and its like call."""
    op = TAKEN.get(ufunc.__name__)
    known = {"keepdims", "initial", "where"}
    if op and known >= set(kwargs):
        found = array_of(obj, method)
        chosen = [kwargs.get(key, _NoValue) for key in ("keepdims", "initial", "where")]
        options = options_of(op, found, axis, dtype, out, *chosen)
        if options is not None:
            return reduce(op, found, options)
    return numpys["wrapreduction"](obj, ufunc, method, axis, dtype, out, **kwargs)


def method(op, name):
    """Stand in for what `a.sum()` and its like call: their parameters, in their order."""
    with_dtype = op in ("sum", "prod")

    def of_array(a, axis=None, *rest, **named):
        names = (["dtype"] if with_dtype else []) + ["out", "keepdims", "initial", "where"]
        given = dict(zip(names, rest, strict=False)) | named
        found = a if type(a) is np.ndarray else None
        if set(given) <= set(names):
            options = options_of(
                op,
                found,
                axis,
                given.get("dtype"),
                given.get("out"),
                given.get("keepdims", False),
                given.get("initial", _NoValue),
                given.get("where", True),
            )
            if options is not None:
                return reduce(op, a, options)
        return numpys[op](a, axis, *rest, **named)

    of_array.__name__ = name
    return of_array


def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    """Stand in for what both means call."""
    found = array_of(a, "mean")
    options = options_of("mean", found, axis, dtype, out, keepdims, _NoValue, where)
    if options is None or (out is not None and out.dtype.kind not in "fc"):
        return numpys["mean"](a, axis, dtype, out, keepdims, where=where)
    return reduce("mean", found, options)


def pytest_configure():
    """Replace the functions before anybody has called one: NumPy's C code remembers the first."""
    fromnumeric._wrapreduction = wrapreduction
    _methods._mean = mean
    for op, name in (("sum", "_sum"), ("prod", "_prod"), ("min", "_amin"), ("max", "_amax")):
        setattr(_methods, name, method(op, name))
    before = calls.total()
    a = np.arange(3)
    assert (a.sum(), a.min(), np.sum(a), np.mean(a), a.mean(), np.amax(a)) == (3, 0, 3, 1, 1, 2)
    assert calls.total() == before + 6, "NumPy does not come by"


def pytest_unconfigure():
    """Tell how often gred was asked."""
    if "GRED_CALLS" in os.environ:
        text = "\n".join(f"{op} {count}" for op, count in sorted(calls.items()))
        Path(os.environ["GRED_CALLS"]).write_text(text, encoding="ascii")
