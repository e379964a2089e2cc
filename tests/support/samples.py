"""Reductions of arrays compared with the truth, and their options."""

import contextlib
import warnings

import numpy as np
from devices import to_host
from gpu_arrays import call
from inputs import OPS as LADDER
from reference import agrees, truth
from truths import FIELDS, ORDERS, RECORDS, SPREADS, answer, record

import gred


def takes(name: str, dtype) -> bool:
    """Return whether a reduction takes this type: as in NumPy, ptp takes no bools."""
    return not (name == "ptp" and np.dtype(dtype) == np.bool_)


def fetched(out, device: str):
    """Read one element after all writes to it are done."""
    if device == "cuda":
        call("cuCtxSynchronize")
    return to_host(out).reshape(-1)[0]


@contextlib.contextmanager
def silenced():
    """Suppress the warnings of Python and of NumPy's floats."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def quietly(name: str, a, *arguments, **options):
    with silenced():
        return getattr(gred, name)(a, *arguments, **options)


def wrong(name: str, a, x: np.ndarray, *, device=None, **options) -> str:
    """Reduce `a`, which holds the elements of `x`, and describe an error, if any.

    `where` in the options is NumPy's mask; `mask` is the same one on the device, if it is there.
    """
    mask = options.pop("mask", options.get("where", True))
    given = {**options, "device": device, **({"where": mask} if "where" in options else {})}
    return wrong_result(name, quietly(name, a, **given), x, **options)


def wrong_result(name: str, got, x: np.ndarray, **options) -> str:
    """Describe what is wrong with a result; return an empty string if it is right."""
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
        fields |= {field: np.int64(fields[field]) for field in ("count", "nans")}
    about = f"{name} of {x.size} {x.dtype}, {options}"
    return "; ".join(
        f"{about}.{field}: {fields[field]!r}, not {shown(right)}"
        for field, right in expected.items()
        if not agrees(fields[field], right)
    )[:600]


def shown(right) -> str:
    """Format a truth and its allowed error."""

    def brief(value):
        if isinstance(value, tuple):
            return tuple(map(brief, value))
        return value if isinstance(value, str | bool | int) else float(value)

    return f"{brief(right.value)} +- {brief(right.error)} ({right.dtype})"


def options_of(name: str) -> tuple[dict, ...]:
    """List the options of a reduction that change its result."""
    if name == "norm":
        return tuple({"ord": order} for order in ORDERS if order is not None)
    return ({}, {"ddof": 1}) if name in SPREADS else ({},)


def all_right(findings):
    """Fail with the first few errors found."""
    found = [finding for finding in findings if finding]
    assert not found, f"{len(found)} wrong:\n" + "\n".join(found[:10])
