"""A pytest plugin that puts gred in the place of NumPy's reductions, for NumPy's own tests.

`np.sum(a)` and `a.sum()` and their like become gred's where gred takes the arguments: reductions
of a plain array of a supported type, as a whole or along axes. So do `np.var`, `np.any`,
`np.argmax`, `np.nansum`, `np.linalg.norm` and their like. What they cannot (objects, subclasses
with methods of their own) stays NumPy's. At the end the number of gred's calls is
written to the file that GRED_CALLS names.
"""

import functools
import os
from collections import Counter
from pathlib import Path

import numpy as np
from numpy._core import _methods, fromnumeric, multiarray
from numpy._globals import _NoValue

import gred

TAKEN = {"add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max"}
CODES = "?bhilqBHILQefdFD"
ORDERS = (None, 1, 2, np.inf, -np.inf, 0)
calls: Counter = Counter()
numpys = {
    "wrapreduction": fromnumeric._wrapreduction,
    "mean": _methods._mean,
    "sum": _methods._sum,
    "prod": _methods._prod,
    "min": _methods._amin,
    "max": _methods._amax,
    "any": _methods._any,
    "all": _methods._all,
    "var": _methods._var,
    "std": _methods._std,
    "ptp": _methods._ptp,
    "wrapreduction_any_all": fromnumeric._wrapreduction_any_all,
    "wrapfunc": fromnumeric._wrapfunc,
    "count_nonzero": multiarray.count_nonzero,
    "norm": np.linalg.norm,
}
WITHOUT_NAN = ("nansum", "nanprod", "nanmin", "nanmax", "nanmean")
numpys |= {name: getattr(np, name) for name in WITHOUT_NAN}


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
    if a is None or a.dtype.char not in CODES:
        return None
    if out is not None and (type(out) is not np.ndarray or out.dtype.char not in CODES):
        return None
    options = {} if axis is None else {"axis": axis}
    if keepdims is not _NoValue:
        options["keepdims"] = keepdims
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


# ---- those that are not on the ladder ----


def wrapreduction_any_all(obj, ufunc, method, axis, out, **kwargs):
    """Stand in for what `np.any` and `np.all` call."""
    options = None
    if {"keepdims", "where"} >= set(kwargs):
        found = array_of(obj, method)
        chosen = [kwargs.get(key, _NoValue) for key in ("keepdims", "where")]
        options = options_of(method, found, axis, None, out, chosen[0], _NoValue, chosen[1])
    if options is None or (out is not None and out.dtype != bool):
        return numpys["wrapreduction_any_all"](obj, ufunc, method, axis, out, **kwargs)
    return reduce(method, found, options)


def truth(name):
    """Stand in for what `a.any()` or `a.all()` calls."""

    def of_array(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
        found = a if type(a) is np.ndarray and dtype is None else None
        options = options_of(name, found, axis, None, out, keepdims, _NoValue, where)
        if options is None or (out is not None and out.dtype != bool):
            return numpys[name](a, axis, dtype, out, keepdims, where=where)
        return reduce(name, found, options)

    return of_array


def wrapfunc(obj, method, *arguments, **named):
    """Stand in for what `np.argmin` and `np.argmax` call, among others that are left alone."""
    if (
        method in ("argmin", "argmax")
        and {"axis", "out", "keepdims"} >= set(named)
        and not arguments
    ):
        out = named.get("out")
        found = array_of(obj, method)
        chosen = (named.get("axis"), None, out, named.get("keepdims", _NoValue), _NoValue, True)
        options = options_of(method, found, *chosen)
        if options is not None and (out is None or out.dtype == np.int64):
            return reduce(method, found, options)
    return numpys["wrapfunc"](obj, method, *arguments, **named)


def count_nonzero(a):
    """Stand in for what `np.count_nonzero` calls."""
    found = array_of(a, "all")
    if options_of("count_nonzero", found, None, None, None, False, _NoValue, True) is None:
        return numpys["count_nonzero"](a)
    return reduce("count_nonzero", found, {})


def spread(name):
    """Stand in for what both `var`s or both `std`s call."""

    def of_array(
        a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None
    ):
        found = array_of(a, name)
        options = options_of(name, found, axis, dtype, out, keepdims, _NoValue, where)
        kinds = [np.dtype(dtype).kind for _ in [0] if dtype is not None]
        kinds += [out.dtype.kind for _ in [0] if out is not None]
        if options is None or set(kinds) - {"f"}:
            return numpys[name](a, axis, dtype, out, ddof, keepdims, where=where, mean=mean)
        given = {} if mean is None or mean is _NoValue else {"mean": mean}
        return reduce(name, found, options | {"ddof": ddof} | given)

    return of_array


def ptp(a, axis=None, out=None, keepdims=False):
    """Stand in for what `np.ptp` calls."""
    found = array_of(a, "ptp")
    options = options_of("ptp", found, axis, None, out, keepdims, _NoValue, True)
    if options is None or (out is not None and out.dtype != found.dtype):
        return numpys["ptp"](a, axis, out, keepdims)
    return reduce("ptp", found, options)


def without_nan(name):
    """Stand in for a function that leaves NaN out."""

    @functools.wraps(numpys[name])
    def of_array(a, axis=None, *rest, **named):
        names = {"dtype", "out", "keepdims", "initial", "where"}
        if not rest and names >= set(named):
            found = array_of(a, "all")
            options = options_of(
                name,
                found,
                axis,
                named.get("dtype"),
                named.get("out"),
                named.get("keepdims", _NoValue),
                named.get("initial", _NoValue),
                named.get("where", _NoValue),
            )
            out = named.get("out")
            if options is not None and (name != "nanmean" or out is None or out.dtype.kind in "fc"):
                return reduce(name, found, options)
        return numpys[name](a, axis, *rest, **named)

    return of_array


@functools.wraps(numpys["norm"])
def norm(x, ord=None, axis=None, keepdims=False):
    """Stand in for `np.linalg.norm` of vectors, and of all that has no order."""
    found = array_of(x, "all")
    options = options_of("norm", found, axis, None, None, keepdims, _NoValue, True)
    one = axis is not None and not isinstance(axis, tuple)
    vector = found is not None and (found.ndim == 1 or one or (axis is None and ord is None))
    if options is None or not vector or not any(ord is o or ord == o for o in ORDERS):
        return numpys["norm"](x, ord, axis, keepdims)
    return reduce("norm", found, options | {"ord": ord})


def replace_those_off_the_ladder():
    fromnumeric._wrapreduction_any_all = wrapreduction_any_all
    fromnumeric._wrapfunc = wrapfunc
    multiarray.count_nonzero = count_nonzero
    _methods._any, _methods._all = truth("any"), truth("all")
    _methods._var, _methods._std = spread("var"), spread("std")
    _methods._ptp = ptp
    np.linalg.norm = norm
    for name in WITHOUT_NAN:
        setattr(np, name, without_nan(name))


def pytest_configure():
    """Replace the functions before anybody has called one: NumPy's C code remembers the first."""
    fromnumeric._wrapreduction = wrapreduction
    _methods._mean = mean
    for op, name in (("sum", "_sum"), ("prod", "_prod"), ("min", "_amin"), ("max", "_amax")):
        setattr(_methods, name, method(op, name))
    replace_those_off_the_ladder()
    before = calls.total()
    a = np.arange(3)
    assert (a.sum(), a.min(), np.sum(a), np.mean(a), a.mean(), np.amax(a)) == (3, 0, 3, 1, 1, 2)
    assert calls.total() == before + 6, "NumPy does not come by"
    assert (np.any(a), a.all(), np.argmax(a), np.count_nonzero(a), np.ptp(a)) == (1, 0, 2, 2, 2)
    assert (np.var([1, 3]), a.std() > 0, np.linalg.norm([3, 4]), np.nanmax(a)) == (1, True, 5, 2)
    assert calls.total() == before + 15, "NumPy does not come by"


def pytest_runtest_setup():
    """Draw the same numbers in every run, of those tests that leave it to chance."""
    np.random.seed(1)


def pytest_unconfigure():
    """Tell how often gred was asked."""
    if "GRED_CALLS" in os.environ:
        text = "\n".join(f"{op} {count}" for op, count in sorted(calls.items()))
        Path(os.environ["GRED_CALLS"]).write_text(text, encoding="ascii")
