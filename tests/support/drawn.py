"""Hypothesis strategies for arrays of every element type, layout and value, and masks for them."""

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from reference import BFLOAT16, COMPLEX, EVERY_TYPE, INTEGERS, PARTS

SPECIAL = (0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 2.0**-30, 6.1e-5, 1e30, -1e30)
FLAVOURS = ("small", "any bits", "special", "moderate")
BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def examples(count: int) -> int:
    """Scale `count`, which is for Hypothesis's default of 100 examples, to the current profile."""
    return max(1, count * settings().max_examples // 100)


def often(count: int, *more: HealthCheck) -> settings:
    """Return settings for `count` examples of arrays that may be large, without a deadline."""
    return settings(
        max_examples=examples(count),
        deadline=None,
        phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, *more],
    )


def values(dtype: np.dtype, flavour: str, n: int, random) -> np.ndarray:
    """Draw n small integers, random bits, special values, or values that rarely overflow."""
    if dtype in COMPLEX:
        parts = [values(PARTS[dtype], flavour, n, random) for _ in range(2)]
        pairs = np.stack(parts, axis=-1)
        return np.ascontiguousarray(pairs).view(dtype).reshape(n)
    if dtype == np.bool_:
        return random.integers(0, 2, n).astype(bool)
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        if flavour == "special":
            return random.choice(np.array([info.min, info.max, 0, 1], dtype), n)
        if flavour == "any bits":
            return random.integers(info.min, info.max, n, dtype, endpoint=True)
        return random.integers(max(info.min, -9), 10, n).astype(dtype)
    if flavour == "any bits":
        bits = BITS[dtype.itemsize]
        return random.integers(0, np.iinfo(bits).max, n, bits, endpoint=True).view(dtype)
    if flavour == "special":
        info = np.finfo(np.float32 if dtype == BFLOAT16 else dtype)
        extremes = (float(info.max), -float(info.max), float(info.smallest_subnormal))
        with np.errstate(over="ignore"):
            return random.choice([*SPECIAL, *extremes], n).astype(dtype)
    if flavour == "small":
        return random.integers(-9, 10, n).astype(dtype)
    return random.normal(size=n).astype(dtype)


def misaligned(x: np.ndarray) -> np.ndarray:
    """Copy an array so that no element is aligned."""
    memory = np.zeros(x.nbytes + 1, np.uint8)
    view = memory[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


@st.composite
def slices(draw, length: int):
    bounds = st.integers(-length - 1, length + 1) | st.none()
    return slice(draw(bounds), draw(bounds), draw(st.sampled_from([None, 1, 2, 3, -1, -2])))


@st.composite
def laid_out(draw, x: np.ndarray, *, swap: bool = True, shift: bool = True):
    """Draw a view of an array: sliced, transposed, broadcast; misaligned or byte-swapped first."""
    if shift and draw(st.integers(0, 4)) == 0:
        x = misaligned(x)
    if swap and x.dtype != BFLOAT16 and draw(st.integers(0, 4)) == 0:
        x = x.astype(x.dtype.newbyteorder())
    if draw(st.booleans()):
        x = x[tuple(draw(slices(length)) for length in x.shape)]
    if x.ndim and draw(st.integers(0, 3)) == 0:
        axis = draw(st.integers(0, x.ndim - 1))
        x = np.expand_dims(x.take(0, axis), axis) if x.shape[axis] else x
        times = draw(st.integers(1, 5))
        x = np.broadcast_to(x, [*x.shape[:axis], times * x.shape[axis], *x.shape[axis + 1 :]])
    return np.asarray(x).transpose(draw(st.permutations(range(x.ndim))))


shapes = st.one_of(
    st.lists(st.integers(0, 6), max_size=5).map(tuple),
    st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple),
    st.sampled_from([(1500,), (3, 700), (40, 1, 33), (1, 1, 1, 1), (2049,)]),
)
every_type = st.sampled_from(EVERY_TYPE)


@st.composite
def arrays(draw, types=every_type, **options):
    dtype, flavour = draw(types), draw(st.sampled_from(FLAVOURS))
    shape = draw(shapes)
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    x = values(dtype, flavour, int(np.prod(shape)), random).reshape(shape)
    return draw(laid_out(x, **options))


@st.composite
def masks(draw, shape: tuple):
    if draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from([False, np.True_, [True], np.zeros((), bool)]))
    own = [draw(st.sampled_from([1, length])) for length in shape]
    own = own[draw(st.integers(0, len(own))) if draw(st.booleans()) else 0 :]
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    mask = np.asarray(random.random(tuple(own))) < draw(st.sampled_from([0.5, 0.05, 0.95]))
    axes = draw(st.permutations(range(len(own))))
    mask = np.array(mask.transpose(axes), order="C").transpose(np.argsort(axes))
    if draw(st.booleans()):
        flips = tuple(slice(None, None, draw(st.sampled_from([1, -1]))) for _ in own)
        mask = mask[flips] if own else mask
    return mask


def converts(x: np.ndarray, dtype: np.dtype) -> bool:
    """Return whether C defines every conversion: floats must be in the integers' range."""
    if dtype not in INTEGERS or dtype == np.bool_ or x.dtype.newbyteorder("=") in INTEGERS:
        return True
    real = x.real if x.dtype.kind == "c" else x
    real = np.asarray(real, np.float64)
    info = np.iinfo(dtype)
    return bool((np.isfinite(real) & (real > info.min - 1.0) & (real < info.max + 1.0)).all())
