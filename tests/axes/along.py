"""What results along axes are, many at a time: exactly, or with the error that orders may leave.

Where all elements are integers so small that no sum of them is rounded, results have no error but
their own last rounding; otherwise sums are off by what as many additions may be.
"""

import warnings

import numpy as np
import pytest
from drawn import arrays, converts, masks
from hypothesis import strategies as st
from reference import (
    BFLOAT16,
    COMPLEX,
    EVERY_TYPE,
    INTEGERS,
    PARTS,
    REALS,
    agrees,
    result_type,
    truth,
)
from samples import quietly, shown, takes
from truths import COUNTS, ORDERS, PLACES, SPREADS, WITHOUT_NAN, answer, is_nan, is_true, type_of
from truths import NAMES as OFF_LADDER

LADDER = ("sum", "prod", "min", "max", "mean")
NAMES = (*LADDER, *COUNTS, *PLACES, *SPREADS, "ptp", *WITHOUT_NAN, "norm", "logsumexp")
INITIAL = ("sum", "prod", "min", "max", "nansum", "nanprod", "nanmin", "nanmax")
NEEDS_SOME = ("min", "max", "nanmin", "nanmax", *PLACES, "ptp", "minmax")
EXTREMES = ("min", "max", *PLACES)
KNOWN_TYPES = [np.dtype(code) for code in ("f2", "f4", "f8", "i1")] + [BFLOAT16]
KNOWN_FLOATS = [dtype for dtype in KNOWN_TYPES if dtype not in INTEGERS]
BITS = {np.dtype("f2"): 11, BFLOAT16: 8, np.dtype("f4"): 24, np.dtype("f8"): 53}
LEAST = {np.dtype("f2"): 2.0**-24, BFLOAT16: 2.0**-133, np.dtype("f4"): 2.0**-149}


def integers(dtype, shape, seed=0) -> np.ndarray:
    """Draw numbers whose sums are exact in float32, and in float16 unless it rounds them."""
    return np.random.default_rng([seed, *shape]).integers(-9, 10, shape).astype(dtype)


def drawn(dtype, shape, seed=0) -> np.ndarray:
    """Draw numbers whose sums are rounded, or bytes of any value."""
    random = np.random.default_rng([seed, *shape])
    if dtype == np.int8:
        return random.integers(-128, 128, shape).astype(dtype)
    return (random.normal(size=shape) * 30 + 7).astype(dtype)


def unit(dtype) -> float:
    """Give the greatest relative error of rounding to a type; whole numbers are not rounded."""
    dtype = PARTS.get(np.dtype(dtype), np.dtype(dtype))
    return 2.0 ** -BITS[dtype] if dtype in BITS else 0.0


def result_of(name: str, dtype, asked=None) -> np.dtype:
    return (result_type if name in LADDER else type_of)(name, dtype, asked)


def home(x: np.ndarray) -> np.ndarray:
    """Give halves as floats that NumPy is at home with."""
    return x.astype(np.float64) if x.dtype in (np.float16, BFLOAT16) else x


def right_along(name, x, axis, *, additions=None, where=True, initial=None, order=2):
    """Find every result in wider types, and by how much it may be missed before it is rounded.

    An element goes through so many additions, or through as many as there are elements.
    """
    base, options = WITHOUT_NAN.get(name, name), {"axis": axis}
    if base in (*COUNTS, *PLACES, "min", "max", "ptp"):
        options |= {} if where is True else {"where": where}
        if name == "count_nonzero":
            return np.sum(is_true(x), **options), 0
        options |= {} if initial is None else {"initial": initial}
        return getattr(np, name)(is_true(x) if base in COUNTS else home(x), **options), 0
    shown = np.broadcast_to(where, x.shape)
    shown = shown & ~is_nan(x) if name in WITHOUT_NAN else shown
    if x.dtype in INTEGERS and base in ("sum", "prod"):
        return getattr(np, base)(x, where=shown, **options), 0
    wide = np.clongdouble if x.dtype in COMPLEX else np.longdouble
    values = np.where(shown, x, x.dtype.type(base == "prod")).astype(wide)
    count = shown.sum(axis)
    most_of_one = int(count.max(initial=1))
    n = additions or most_of_one
    accumulated = 2.0**-53 if x.dtype in (*INTEGERS, np.float64, np.complex128) else 2.0**-24
    if base == "prod":
        right = values.prod(axis)
        return right, (most_of_one + 2) * max(accumulated, unit(x.dtype)) * abs(right) + 2.0**-149
    if base == "logsumexp":
        values = np.where(shown, x.astype(wide), -np.inf)
        right = np.logaddexp.reduce(values, axis)
        return right, 64 * accumulated * (abs(right) + np.log(most_of_one + 1) + 1)
    if base == "norm":
        sizes = abs(values)
        of = {1: np.sum, np.inf: np.max, -np.inf: np.min}.get(order)
        right = of(sizes, axis) if of else np.sqrt((sizes**2).sum(axis))
        return right, 2.0**-48 * right
    exactly, most = _whole(values), float(abs(values).max(initial=0, where=np.isfinite(values)))
    total = values.sum(axis)
    if base in ("sum", "mean"):
        exactly &= most_of_one * most <= 2.0 ** max(BITS.get(x.dtype, 53), 24)
        error = 0 if exactly else n * accumulated * abs(values).sum(axis)
        if base == "sum":  # which no division by 1 may spoil
            return total, error
        return (total.astype("f8") if x.dtype not in COMPLEX else total) / count, error / count
    mean = values.mean(axis, keepdims=True)
    if exactly and (most_of_one * most) ** 2 < 2**62 and x.dtype not in COMPLEX:
        right = (count * (values * values).sum(axis) - total * total) / np.longdouble(count) ** 2
        error = abs(right) * (2.0**-49 + unit(result_of(name, x.dtype)))
    else:
        right = (abs(values - mean) ** 2).mean(axis)
        error = abs(right) * (2.0**-51 * n + 2.0**-47) + 2.0**-46 * abs(mean.squeeze(axis)) ** 2
    return (right, error) if name == "var" else (np.sqrt(right), np.sqrt(error) + 2.0**-50)


def _whole(values) -> bool:
    finite = np.where(np.isfinite(values), values, 0)
    return bool((finite.real == np.rint(finite.real)).all() and (finite.imag == 0).all())


def wrong_along(name: str, got, x: np.ndarray, axis, *, dtype=None, **options) -> str:
    """Say what is wrong with results; nothing if they are of their type and as near as can be."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        right, error = right_along(name, x if dtype is None else x.astype(dtype), axis, **options)
        right, result = np.asarray(right), result_of(name, x.dtype, dtype)
        if (got.dtype, got.shape) != (result, right.shape):
            return f"{name} of {x.dtype}: {got.shape} {got.dtype}, not {right.shape} {result}"
        found = got.astype(np.clongdouble if result in COMPLEX else np.longdouble)
        if result in INTEGERS:
            found = got
        elif not np.any(error):
            right = right.astype("c16" if result in COMPLEX else "f8").astype(result)
            right = right.astype(found.dtype)
        else:
            error = (1 + 2.0**-20) * (error + (abs(right) + error) * unit(result))
            error += float(LEAST.get(result, 0))
        away = 0 if result in INTEGERS else abs(found - right)
        same = (found == right) | ((away <= error) & (result not in INTEGERS))
        same |= (found != found) & (right != right)
    if same.all():
        return ""
    place = tuple(np.argwhere(~np.atleast_1d(same))[0])
    about = f"{name} of {x.dtype} {x.shape} {x.strides} along {axis}, {options}, at {place}"
    return f"{about}: {np.atleast_1d(got)[place]}, not {np.atleast_1d(right)[place]}"


# ---- drawn calls, and each result held against the truth about its own elements ----


def check_call(call, **where):
    """Hold answers against the truth, or a refusal against NumPy's; the array stays as it was."""
    name, x, options = call
    axes, before = normal(options["axis"], x.ndim), x.tobytes()
    with np.errstate(all="ignore"):
        if is_refused(name, x, axes, options):
            with pytest.raises(ValueError, match=f"{name}|where"):
                quietly(name, x, **where, **options)
        else:
            got = quietly(name, x, **where, **options)
            assert not is_decided(x, options) or not wrong_results(name, got, x, axes, options)
    assert x.tobytes() == before


@st.composite
def calls(draw, flat=False):
    """Draw a reduction, an array, axes and arguments; or one off the ladder, of a whole array."""
    name = draw(st.sampled_from(OFF_LADDER if flat else NAMES))
    array = draw(arrays().filter(lambda x: takes(name, x.dtype)))
    options = {}
    if not flat:
        options |= {"axis": draw(axes_of(array.ndim, name)), "keepdims": draw(st.booleans())}
    if name == "norm" and not isinstance(options.get("axis"), tuple):
        options["ord"] = draw(st.sampled_from(ORDERS))
    if name in (*SPREADS, "describe") and draw(st.booleans()):
        options["ddof"] = draw(st.sampled_from([0, 1, 2, 5, -1, 0.5, 1.5]))
    if draw(st.integers(0, 2)) == 0:
        options["where"] = draw(masks(array.shape))
    if name in INITIAL and draw(st.booleans()):
        kind = result_type(WITHOUT_NAN.get(name, name), array.dtype)
        options["initial"] = kind.type(draw(st.sampled_from([0, 1, 1 if kind == np.bool_ else 2])))
    if name in (*LADDER, "nansum", "nanprod", "nanmean", *SPREADS) and draw(st.integers(0, 4)) == 0:
        options["dtype"] = draw(st.sampled_from(types_for(name, array.dtype.newbyteorder("="))))
        options.pop("initial", None)
    return name, array, options


def axes_of(dimensions, name):
    """Draw what axis= takes: none, one, or several in any order."""
    if dimensions == 0:
        return st.none()
    one = st.integers(-dimensions, dimensions - 1)
    if name in PLACES:
        return one | st.none()
    several = st.lists(one, unique_by=lambda k: k % dimensions, max_size=dimensions)
    return one | several.map(tuple) | st.none()


def types_for(name, given):
    """List the types that elements can be converted to."""
    if given in COMPLEX:
        return COMPLEX
    if name in (*SPREADS, "nanmean", "logsumexp"):
        return REALS
    if name in WITHOUT_NAN and given not in INTEGERS:
        return [kind for kind in EVERY_TYPE if kind not in INTEGERS]
    return EVERY_TYPE


def normal(axis, dimensions):
    if axis is None:
        return list(range(dimensions))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return sorted(k % dimensions for k in axes)


def rows_of(x, axes):
    """List each result's elements, in C order of the results and of the elements."""
    kept = [k for k in range(x.ndim) if k not in axes]
    count = int(np.prod([x.shape[k] for k in kept], dtype=int))
    length = int(np.prod([x.shape[k] for k in axes], dtype=int))
    return np.asarray(x).transpose([*kept, *axes]).reshape(count, length)


def shape_of(x, axes, keepdims):
    return tuple(
        1 if k in axes else length for k, length in enumerate(x.shape) if k not in axes or keepdims
    )


def right_for(name, row, shown_there, options):
    """Find the truth about one result; None where it has no value."""
    options = {k: v for k, v in options.items() if k not in ("axis", "keepdims", "where")}
    nothing = not shown_there.any() and "initial" not in options
    if nothing and name in ("min", "max", *PLACES, "ptp"):
        return None
    if nothing and name == "norm" and options.get("ord") == -np.inf:
        return None
    if name in LADDER:
        if name == "mean" and not shown_there.any():
            return None
        return truth(name, row, options.pop("dtype", None), where=shown_there, **options)
    return answer(name, row, where=shown_there, **options)


def is_refused(name, x, axes, options):
    """Tell whether there are no elements for what needs some, or may be none."""
    mask = options.get("where", True)
    if np.ndim(mask) > x.ndim:
        return True
    if "initial" in options:
        return False
    if name in ("min", "max", "nanmin", "nanmax") and mask is not True:
        return True
    needs = name in NEEDS_SOME or (name == "norm" and options.get("ord") == -np.inf)
    if not needs:
        return False
    shown_there = rows_of(np.broadcast_to(mask, x.shape), axes)
    return shown_there.shape[1] == 0 or not shown_there.any(axis=1).all()


def is_decided(x, options):
    """Tell whether C defines what elements become in another type."""
    dtype = options.get("dtype")
    taken = x[np.broadcast_to(options.get("where", True), x.shape)]
    return dtype is None or converts(taken, dtype)


def wrong_results(name, got, x, axes, options):
    """Say what is wrong with an array of results; nothing if all are right."""
    shape = shape_of(x, axes, options["keepdims"])
    own = isinstance(got, np.ndarray) and got.flags.c_contiguous
    if got.shape != shape or own != bool(shape):
        return f"{name}: {type(got)} of {got.shape}, not {shape}"
    rows = rows_of(x, axes)
    masked = rows_of(np.broadcast_to(options.get("where", True), x.shape), axes)
    flat = np.asarray(got).reshape(-1)
    for k, (row, mask) in enumerate(zip(rows, masked, strict=True)):
        right = right_for(name, row, mask, options)
        if right is None:
            if got.dtype.kind in "fc" and not np.isnan(flat[k]):
                return f"{name} of nothing: {flat[k]!r}"
        elif not agrees(flat[k], right):
            return f"{name} of {row!r} {mask}, {options}: {flat[k]!r}, not {shown(right)}"
    return ""
