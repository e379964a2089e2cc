"""What the reductions that are not on the ladder are run on, and where it lies.

Each sample is made for its reduction: where one element decides, it is the last; where all count,
each leaves its mark on the result.
"""

import contextlib
import functools
import warnings

import numpy as np
from devices import laid_out, to_host
from drawn import values
from gpu_arrays import call
from inputs import OPS as LADDER
from inputs import Kind, exact
from reference import COMPLEX, INTEGERS, agrees, truth
from truths import FIELDS, ORDERS, PLACES, RECORDS, SPREADS, WITHOUT_NAN, answer, record

import gred


def takes(name: str, dtype) -> bool:
    """Tell whether a reduction is one of this type: the range of bools is not, as in NumPy."""
    return not (name == "ptp" and np.dtype(dtype) == np.bool_)


@functools.cache
def sample(name: str, dtype: np.dtype, n: int) -> np.ndarray:
    """Make an array that shows whether each of its elements was looked at."""
    random = np.random.default_rng([n, dtype.itemsize])
    if name in ("any", "all"):
        x = np.full(n, name == "all", dtype)
        x[-1:] = name == "any"
    elif name == "count_nonzero":
        x = random.integers(0, 2, n).astype(dtype)
    elif name in PLACES:
        x = exact(name[3:], Kind(dtype.name, dtype), n).array
    elif name in WITHOUT_NAN:
        base = WITHOUT_NAN[name]
        x = _with_nan(exact(base, Kind(dtype.name, dtype), n).array)
    else:
        x = _spread(dtype, n, random)
    if name == "describe":
        x = _with_nan(x)
    x.setflags(write=False)
    return x


def _with_nan(x: np.ndarray) -> np.ndarray:
    """Hide every third element behind NaN, and never the last."""
    x = x.copy()
    if x.dtype not in INTEGERS:
        x[:-1][::3] = complex(0, np.nan) if x.dtype in COMPLEX else np.nan
    return x


def _spread(dtype: np.dtype, n: int, random) -> np.ndarray:
    if dtype in INTEGERS:
        return values(dtype, "any bits", n, random)
    parts = [random.normal(3, 1, n) for _ in range(1 + (dtype in COMPLEX))]
    x = (parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]).astype(dtype)
    x[-1:] = -20
    return x


def there(x: np.ndarray, device: str, layout=lambda x: x):
    """Put an array where a device reads it, laid out there as it is here."""
    return laid_out(layout(x), device)


def element_there(dtype, device: str):
    return laid_out(np.zeros((), dtype), device)


def fetched(out, device: str):
    """Read an element when all that writes to it is done."""
    if device == "cuda":
        call("cuCtxSynchronize")
    return to_host(out).reshape(-1)[0]


# ---- held against the truth ----


@contextlib.contextmanager
def silenced():
    """Hear warnings neither of Python nor of NumPy's floats."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def quietly(name: str, a, *arguments, **options):
    with silenced():
        return getattr(gred, name)(a, *arguments, **options)


def wrong(name: str, a, x: np.ndarray, *, device=None, method=None, **options) -> str:
    """Reduce a, which holds x, and say what is wrong with the result; nothing if it is right.

    The mask of the options is NumPy's; `mask` is where that lies for the device, if elsewhere.
    """
    mask = options.pop("mask", options.get("where", True))
    given = {**options, "device": device, **({"where": mask} if "where" in options else {})}
    given |= {"method": method} if method else {}
    return wrong_result(name, quietly(name, a, **given), x, **options)


def wrong_result(name: str, got, x: np.ndarray, **options) -> str:
    """Say what is wrong with a result, on the ladder or not; nothing if it is right."""
    if name in RECORDS:
        return wrong_record(name, got, x, **options)
    right = (truth if name in LADDER else answer)(name, x, **options)
    if agrees(got, right):
        return ""
    return f"{name} of {x.size} {x.dtype}, {options}: {got!r}, not {shown(right)}"[:400]


def wrong_record(name: str, got, x: np.ndarray, **options) -> str:
    if name == "minmax":
        if not isinstance(got, tuple) or len(got) != 2:
            return f"{got!r} is no pair"
        fields = {"min": got[0], "max": got[1]}
        expected = {op: truth(op, x, **options) for op in fields}
    else:
        fields = {field: getattr(got, field) for field in (*FIELDS, "std")}
        expected = record(x, **options)
        for field in ("count", "nans"):
            fields[field] = np.int64(fields[field])
    about = f"{name} of {x.size} {x.dtype}, {options}"
    return "; ".join(
        f"{about}.{field}: {fields[field]!r}, not {shown(right)}"
        for field, right in expected.items()
        if not agrees(fields[field], right)
    )[:600]


def shown(right) -> str:
    """Write a truth in floats, and the error that it allows."""

    def brief(value):
        if isinstance(value, tuple):
            return tuple(map(brief, value))
        return value if isinstance(value, str | bool | int) else float(value)

    return f"{brief(right.value)} +- {brief(right.error)} ({right.dtype})"


def options_of(name: str) -> tuple[dict, ...]:
    """List the ways to call a reduction that change its answer."""
    if name == "norm":
        return tuple({"ord": order} for order in ORDERS if order is not None)
    return ({}, {"ddof": 1}) if name in SPREADS else ({},)


def all_right(findings):
    """Fail with what was found wrong, the first few of it."""
    found = [finding for finding in findings if finding]
    assert not found, f"{len(found)} wrong:\n" + "\n".join(found[:10])
