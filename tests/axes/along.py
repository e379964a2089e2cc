"""Expected results along axes: all together in wider types, or each against its exact truth.

Sums of small integers may only have a final rounding error; other sums may also be off by the
rounding errors of as many additions.
"""

import math
from typing import NamedTuple

import numpy as np
import pytest
from drawn import arrays, converts, masks, values
from exact_truths import rows_of
from hypothesis import strategies as st
from numpy.lib.array_utils import normalize_axis_tuple
from reference import COMPLEX, EVERY_TYPE, HALVES, INTEGERS, MANTISSA_BITS, PARTS, REALS, home
from samples import quietly, silenced, takes, wrong_result
from truths import COUNTS, ORDERS, PLACES, RECORDS, SPREADS, WITHOUT_NAN, is_true, type_of
from truths import NAMES as OFF_LADDER

LADDER = ("sum", "prod", "min", "max", "mean")
NAMES = (*LADDER, *COUNTS, *PLACES, *SPREADS, "ptp", *WITHOUT_NAN, "norm", "logsumexp")
INITIAL = ("sum", "prod", "min", "max", "nansum", "nanprod", "nanmin", "nanmax")
NEEDS_SOME = ("min", "max", "nanmin", "nanmax", *PLACES, "ptp", "minmax")
EXTREMES = ("min", "max", *PLACES)

# Close together, far apart, in steps, with outliers, of many magnitudes; the first are for halves.
SPREAD = {
    "about 0": lambda n, r: r.normal(size=n),
    "about 1000": lambda n, r: 1e3 + r.normal(size=n),
    "about 60000": lambda n, r: 6e4 + 240.0 * r.integers(-1, 2, n),
    "small steps": lambda n, r: 1e3 + np.arange(n) // 64 % 99 * 4 + r.integers(-1, 2, n) / 2,
    "tiny at last": lambda n, r: np.r_[1e3 + r.normal(size=n - n // 2), [1e-4] * (n // 2)],
    "one value": lambda n, r: np.full(n, 0.1),
    "about 1e9": lambda n, r: 1e9 + r.normal(size=n),
    "an outlier first": lambda n, r: np.r_[1e9, 1 + r.normal(size=n - 1) / 8],
    "an outlier last": lambda n, r: np.r_[1 + r.normal(size=n - 1) / 8, -1e9],
    "outliers in every batch": lambda n, r: 1 + r.normal(size=n) + 1e7 * (np.arange(n) % 32 == 0),
    "a trend": lambda n, r: np.arange(n) * 1e3,
    "many magnitudes": lambda n, r: r.normal(size=n) * 10 ** r.uniform(-6, 6, n),
    "alternating": lambda n, r: np.where(np.arange(n) % 2, 1e8, -1e8) + r.normal(size=n),
}
OF_HALVES = tuple(SPREAD)[:6]


def right_along(name, x, axis, *, additions=None, where=True, ord=2, ddof=0, mean=None, **begun):
    """Compute every result in wider types, and its largest error before the final rounding.

    `additions` bounds the additions per element; the default is the number of elements.
    """
    base = WITHOUT_NAN.get(name, name)
    if name.startswith("nanarg") and x.dtype not in INTEGERS:
        return _place_of_number(name, home(x), axis), 0
    if base in (*COUNTS, *PLACES, "min", "max", "ptp"):
        function = np.sum if base == "count_nonzero" else getattr(np, name)
        masked = {} if where is True else {"where": where}
        return function(is_true(x) if base in COUNTS else home(x), axis=axis, **masked, **begun), 0
    shown = np.broadcast_to(where, x.shape)
    shown = shown & (x == x) if name.startswith("nan") else shown
    if x.dtype in INTEGERS and base in ("sum", "prod"):
        return getattr(np, base)(x, axis=axis, where=shown, **begun), 0
    wide = np.clongdouble if x.dtype in COMPLEX else np.longdouble
    values = np.where(shown, x, x.dtype.type(base == "prod")).astype(wide)
    count = shown.sum(axis)
    n = additions or int(count.max(initial=1))
    unit = 2.0**-53 if x.dtype in (*INTEGERS, np.float64, np.complex128) else 2.0**-24
    if base == "prod":
        right = values.prod(axis, **begun)
        unit = max(unit, 2.0 ** -MANTISSA_BITS.get(PARTS.get(x.dtype, x.dtype), 53))
        return right, (count.max(initial=1) + 2) * unit * abs(right) + 2.0**-149
    if base == "logsumexp":
        right = np.logaddexp.reduce(np.where(shown, x.astype(wide), -np.inf), axis)
        return right, 64 * unit * (abs(right) + np.log(n + 1) + 1)
    if base == "norm":
        sizes = abs(values)
        of = {1: np.sum, np.inf: np.max, -np.inf: np.min, 0: np.count_nonzero}.get(ord)
        right = of(sizes, axis) if of else np.sqrt((sizes**2).sum(axis))
        return right, (n + 4) * 2.0**-53 * right
    if base in SPREADS:
        return _spread(name, x, values, shown, axis, ddof, mean)
    right, error = values.sum(axis, **begun), n * unit * abs(values).sum(axis)
    finite = np.where(np.isfinite(values), values, 0)
    whole = (finite.real == np.rint(finite.real)).all() and (finite.imag == 0).all()
    most = int(count.max(initial=1)) * float(abs(finite).max(initial=0))
    if whole and most <= 2.0 ** max(MANTISSA_BITS.get(x.dtype, 53), 24):
        error = np.zeros(())
    if base == "sum":  # not converted to float64
        return right, error
    if x.dtype not in COMPLEX:
        return right.astype("f8") / count, error / count
    parts = np.stack([right.real, right.imag], -1).astype("f8") / np.expand_dims(count, -1)
    return parts.view("c16")[..., 0], error / count  # divided in parts, without a reciprocal


def _place_of_number(name, x, axis):
    """Find positions, or -1 where all elements are NaN."""
    extreme, worst = (np.min, np.inf) if name == "nanargmin" else (np.max, -np.inf)
    found = (x == x) & (x == extreme(x, axis, where=x == x, initial=worst, keepdims=True))
    return np.where(found.any(axis), found.argmax(axis), -1)


def _spread(name, x, values, shown, axis, ddof, mean):
    count, freedom = shown.sum(axis), np.maximum(shown.sum(axis) - ddof, 0)
    about = values.sum(axis, keepdims=True) / np.expand_dims(count, axis) if mean is None else mean
    var = np.where(shown, abs(values - about) ** 2, 0).sum(axis) / freedom
    # Halves are squared and added in float32 a few at a time, with up to 8 roundings.
    relative = 2.0**-51 * count + 2.0**-47 + (2.0**-21 if x.dtype in HALVES else 0)
    scale = np.where(shown, abs(values), 0).max(axis) ** 2
    error = relative * var + 2.0**-46 * scale * count / freedom
    if name.endswith("var"):
        return var, error
    least, most = np.sqrt(np.maximum(var - error, 0)), np.sqrt(var + error)
    return np.sqrt(var), np.maximum(most - np.sqrt(var), np.sqrt(var) - least)


def _within(got, right, error, dtype) -> np.ndarray:
    """Return which results are between the rounded ends of the error interval."""
    error = error * (1 + 2.0**-20) + np.zeros(np.shape(right))
    low, high = ((right + end).astype("f8").astype(dtype) for end in (-error, error))
    return (low <= got) & (got <= high)


def wrong_along(name: str, got, x: np.ndarray, axis, *, dtype=None, **options) -> str:
    """Describe a wrong type, shape or result; empty if all are right."""
    with silenced():
        right, error = right_along(name, x if dtype is None else x.astype(dtype), axis, **options)
        right, result = np.asarray(right), type_of(name, x.dtype, dtype)
        if (got.dtype, got.shape) != (result, right.shape):
            return f"{name} of {x.dtype}: {got.shape} {got.dtype}, not {right.shape} {result}"
        right = right.astype(result) if result in INTEGERS else right
        same = (got == right) | ((got != got) & (right != right))
        if result in COMPLEX:
            parts = [_within(f(got), f(right), error, PARTS[result]) for f in (np.real, np.imag)]
            same |= parts[0] & parts[1]
        elif result not in INTEGERS:
            same |= _within(got, right, error, result)
    if same.all():
        return ""
    place = tuple(np.argwhere(~np.atleast_1d(same))[0])
    about = f"{name} of {x.dtype} {x.shape} {x.strides} along {axis}, {options}, at {place}"
    return f"{about}: {np.atleast_1d(got)[place]}, not {np.atleast_1d(right)[place]}"


# ---- arrays, their layouts and values, and the options drawn for a reduction ----

VIEWS = {
    "as it is": lambda x: x,
    "off a boundary": lambda x: x[..., 1:],
    "without its end": lambda x: x[..., :-1],
    "backwards": lambda x: x[::-1],
    "every third row": lambda x: x[::3],
    "every second column": lambda x: x[..., ::2],
    "every second column from the second on": lambda x: x[..., 1::2],
    "every second column of rows off boundaries": lambda x: np.pad(x, 1)[..., ::2],
    "every second column, backwards": lambda x: x[::-1, ..., ::-2],
    "every third column": lambda x: x[..., ::3],
    "again and again": lambda x: np.broadcast_to(x[:1], x.shape),
    "Fortran's order": lambda x: np.ascontiguousarray(x.T).T,
    "another order of rows": lambda x: np.ascontiguousarray(x.swapaxes(0, -2)).swapaxes(0, -2),
}
MASKS = ("as it is", "as it is", "backwards", "again and again", "Fortran's order")
SPECIAL = (np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 2.0)
ENDS = {dtype: (np.iinfo(dtype).min, np.iinfo(dtype).max) for dtype in INTEGERS[1:]}
ENDS |= {dtype: (-65504, 65504) for dtype in HALVES}
DATA = ("small", "moderate", "any bits", "special", "ends", "equals", "spread")


class Drawn(NamedTuple):
    """An array, the axes and options of a reduction, and a description."""

    x: np.ndarray
    axis: int | tuple
    options: dict
    about: str
    exactly: bool  # whether each result is compared with the truth of its own elements

    def wrong(self, name, got, **more) -> str:
        """Describe a wrong result; empty if all are right."""
        x = self.x.astype(self.x.dtype.newbyteorder("="), copy=False)
        if self.exactly:
            axes, options = normal(self.axis, x.ndim), {"keepdims": False, **self.options}
            with np.errstate(all="ignore"):
                found = wrong_results(name, got, x, axes, options)
        else:
            found = wrong_along(name, got, x, self.axis, **self.options, **more)
        return found and f"{found}: {self.about}"


def drawn_for(name, dtype, shapes, seed: int, lay=lambda x: x) -> Drawn | None:
    """Draw a shape, a layout, values and options, or None if nothing fits this type."""
    random = np.random.default_rng([seed, *map(ord, name)])
    views = [view for view in VIEWS if not ("prod" in name and view == "again and again")]
    view, data = random.choice(views), DATA[seed % len(DATA)]
    exactly = dtype in COMPLEX and (name == "logsumexp" or data == "special")
    exactly |= name in RECORDS or (name in SPREADS and data == "spread" and dtype in REALS)
    fitting = [
        (shape, axis)
        for shape, axis in shapes
        if not (exactly and math.prod(shape_of(shape, normal(axis, len(shape)))) > 40)
        and not (name in PLACES and isinstance(axis, tuple))
    ]
    if not fitting or not takes(name, dtype):
        return None
    shape, axis = fitting[random.integers(len(fitting))]
    axes = normal(axis, len(shape))
    kept = [k for k in range(len(shape)) if k not in axes]
    if data == "spread":  # each result's elements are drawn together
        x = filled(name, data, dtype, [shape[k] for k in kept + axes], random)
        x = np.ascontiguousarray(x.transpose(np.argsort(kept + axes)))
    else:
        x = filled(name, data, dtype, shape, random)
    x = VIEWS[view](lay(x))
    options = some_options(name, x, axis, data, random) if x.size else {}
    return Drawn(x, axis, options, f"{shape}, {view}, {data}", exactly) if x.size else None


def filled(name, data, dtype, shape, random):
    """Draw elements, some of them NaN for reductions that skip NaN."""
    x = _filled(name, data, dtype, shape, random)
    if name in WITHOUT_NAN and dtype not in INTEGERS:
        x[random.random(shape) < random.choice([0, 0.3])] = np.nan
    return x


def _filled(name, data, dtype, shape, random):
    """For "ends" nearly all elements are one end of their type; for "equals" few decide."""
    if "prod" in name:  # products are seldom rounded
        twos = random.random(shape) < min(0.01, 20 / max(shape))
        return np.where(twos, 2, random.choice([-1, 1], shape)).astype(dtype)
    if data == "ends" and name == "norm" and dtype in (np.float64, np.complex128):
        # The squares overflow or underflow.
        return random.normal(size=shape).astype(dtype) * 10.0 ** random.choice([-300, -160, 160])
    if data == "ends" and dtype in ENDS:
        x = np.full(shape, ENDS[dtype][random.integers(2)], dtype)
        x[..., 3::7], x[-1] = 0, 1
        return x
    if data == "spread" and name in (*SPREADS, "describe") and dtype in REALS:
        kind = random.choice(list(OF_HALVES if dtype in HALVES else SPREAD))
        many = [SPREAD[kind](shape[-1], random) for _ in range(math.prod(shape[:-1]))]
        return np.reshape(many, shape).astype(dtype)
    if data == "equals":
        few = random.random(shape) < random.choice([0.001, 0.02, 0.5])
        return np.where(few, random.integers(0, 3), name != "any").astype(dtype)
    if data == "special" and dtype in REALS:
        some = random.choice(SPECIAL[random.integers(6) :], shape)
        return np.where(random.random(shape) < random.choice([0.02, 1]), some, 1).astype(dtype)
    data = {"ends": "any bits", "spread": "moderate"}.get(data, data)
    if data == "any bits" and dtype not in INTEGERS and name not in (*EXTREMES, "norm"):
        data = "moderate"  # neither overflows nor cancels
    return values(dtype, data, math.prod(shape), random).copy().reshape(shape)


def some_options(name, x, axis, data, random):
    """Draw options that change the results, if any."""
    drawn = random.integers(4)
    if name == "norm" and isinstance(axis, int):
        orders = ORDERS[1:3] if x.dtype in COMPLEX else ORDERS[1:]
        return {"ord": orders[random.integers(len(orders))]}
    begun = {"initial": x.dtype.type(1)} if name in ("min", "max") else {}
    some = name in NEEDS_SOME or (name == "describe" and x.dtype in INTEGERS)
    if drawn == 0 and not (begun and x.dtype in COMPLEX) and (begun or not some):
        shown = random.integers(0, 3, x.shape) > 0
        return {"where": VIEWS[random.choice(MASKS)](shown), **begun}
    if name in SPREADS and data == "spread":
        wider = max(x.dtype, np.dtype("f4")) if x.dtype in REALS else None
        return [{}, {"ddof": 1}, {"dtype": wider}, {"dtype": wider, "ddof": 1}][drawn]
    if drawn == 1 and name == "describe":
        return {"ddof": 1}
    if drawn < 2 and name in SPREADS and data in ("small", "moderate"):
        means = random.integers(-2, 3, shape_of(x.shape, normal(axis, x.ndim), True)).astype("f4")
        mean = (means, means[..., :1], np.float32(2))[random.integers(3)]
        where = {"where": random.integers(0, 3, x.shape) > 0} if random.integers(2) else {}
        return {"ddof": (0, 1, 1.5, 4096)[random.integers(4)], "mean": mean, **where}
    if drawn == 1 and name in ("sum", "min", "max") and x.dtype not in (bool, *COMPLEX):
        return {"initial": x.dtype.type(5)}
    if drawn == 2 and name in ("sum", "mean", "min", "max") and x.dtype not in COMPLEX:
        narrow = ("i1", "i4") if name == "sum" and x.dtype in INTEGERS else ()
        return {"dtype": np.dtype(random.choice(["f4", "f8", *narrow]))}
    return {}


# ---- drawn calls, whose results are each compared with the truth of their own elements ----


def check_call(call, **where):
    """Compare results with the truth, or errors with NumPy's; the array must not change."""
    name, x, options = call
    axes, before = normal(options["axis"], x.ndim), x.tobytes()
    with np.errstate(all="ignore"):
        if is_refused(name, x, axes, options):
            with pytest.raises(ValueError, match=f"{name}|where"):
                quietly(name, x, **where, **options)
        else:
            got = quietly(name, x, **where, **options)
            assert not is_decided(x, options) or not wrong_results(name, got, x, axes, options)
            # Results have the strides of NumPy's: np.any's, in bytes, count elements.
            numpys = np.asarray(np.any(x, tuple(axes), keepdims=options["keepdims"]))
            for field in () if "mean" in options else got if isinstance(got, tuple) else (got,):
                theirs = zip(numpys.shape, numpys.strides, strict=True)
                mine = zip(np.shape(field), np.asarray(field).strides, strict=True)
                mine = [step // field.itemsize for n, step in mine if n > 1]
                assert mine == [step for n, step in theirs if n > 1]
    assert x.tobytes() == before


@st.composite
def calls(draw, flat=False):
    """Draw a reduction, an array, axes and arguments; if `flat`, one off the ladder, no axes."""
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
        kind = type_of(name, array.dtype)
        options["initial"] = kind.type(draw(st.sampled_from([0, 1, 1 if kind == np.bool_ else 2])))
    if name in (*LADDER, "nansum", "nanprod", "nanmean", *SPREADS) and draw(st.integers(0, 4)) == 0:
        options["dtype"] = draw(st.sampled_from(types_for(name, array.dtype.newbyteorder("="))))
        options.pop("initial", None)
    return name, array, options


def axes_of(dimensions, name):
    """Draw an axis argument: None, an integer, or several in any order."""
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
    return sorted(normalize_axis_tuple(range(dimensions) if axis is None else axis, dimensions))


def shape_of(shape, axes, keepdims=False):
    return tuple(1 if k in axes else n for k, n in enumerate(shape) if k not in axes or keepdims)


def is_refused(name, x, axes, options):
    """Return whether a reduction that needs elements has none, or may have none."""
    mask = options.get("where", True)
    if np.ndim(mask) > x.ndim:
        return True
    mask = mask & (x == x) if name.startswith("nanarg") else mask
    if "initial" in options:
        return False
    if name in ("min", "max", "nanmin", "nanmax") and mask is not True:
        return True
    needs = name in NEEDS_SOME or (name == "norm" and options.get("ord") == -np.inf)
    if not needs:
        return False
    shown_there, _ = rows_of(np.broadcast_to(mask, x.shape), axes)
    return shown_there.shape[1] == 0 or not shown_there.any(axis=1).all()


def is_decided(x, options):
    """Return whether C defines the conversion of the elements to another type."""
    dtype = options.get("dtype")
    taken = x[np.broadcast_to(options.get("where", True), x.shape)]
    return dtype is None or converts(taken, dtype)


def wrong_results(name, got, x, axes, options):
    """Describe a wrong result; empty if all are right."""
    shape = shape_of(x.shape, axes, options["keepdims"])
    fields = got if name in RECORDS else (got,)
    for field in fields:
        if field.shape != shape or isinstance(field, np.ndarray) != bool(shape):
            return f"{name}: {type(field)} of {field.shape}, not {shape}"
    taken = options.get("where", True) & ((x == x) | (not name.startswith("nanarg")))
    masked, _ = rows_of(np.broadcast_to(taken, x.shape), axes)
    options = {k: v for k, v in options.items() if k not in ("axis", "keepdims", "where")}
    of_nothing = name in ("min", "max", *PLACES, "ptp", "mean") or options.get("ord") == -np.inf
    each = zip(*map(np.ravel, fields), strict=True)
    for one, row, mask in zip(each, rows_of(x, axes)[0], masked, strict=True):
        result = getattr(type(got), "_make", tuple)(one) if name in RECORDS else one[0]
        if of_nothing and "initial" not in options and not mask.any():
            if result.dtype.kind in "fc" and not np.isnan(result):
                return f"{name} of nothing: {result!r}"
        elif found := wrong_result(name, result, row, where=mask, **options):
            return found
    return ""
