"""Segments of every reduction, exact ones, and along an axis, against NumPy and fractions.

On devices by a list's kernels, in shuffled order, or by those of segments.
"""

import itertools
import warnings

import numpy as np
import pytest
from devices import everywhere, flat_there, on, to_host
from exact_truths import bits_of, exact_square, nearest_root, truth
from reference import REALS
from thin import chosen

import gred
from gred.testing import SimulatedArray

N = 3000
OFFSETS = {
    "rising": [0, 3, 10, 11, 700, 2999],
    "from the middle": [5, 400, 401, 2900],
    "back and forth": [2000, 10, 2500, 0, 2999, 17],
    "each element": list(range(2900, N)),
    "one": [0],
}
EPSILON = np.finfo(np.float64).eps


def bounds(offsets, n, empty="element"):
    """List where segments begin and end, as NumPy's reduceat has them."""
    ends = [*offsets[1:], n]
    least = 1 if empty == "element" else 0
    return [(start, max(end, start + least)) for start, end in zip(offsets, ends, strict=True)]


def norm(x, ord=None):
    return np.linalg.norm(x.ravel(), ord)


NUMPYS = {
    **{name: getattr(np, name) for name in ("sum", "prod", "min", "max", "any", "all", "mean")},
    **{name: getattr(np, name) for name in ("var", "std", "argmin", "argmax", "count_nonzero")},
    **{name: getattr(np, name) for name in ("nansum", "nanprod", "nanmin", "nanmax", "nanmean")},
    "norm": norm,
    "logsumexp": lambda x: np.logaddexp.reduce(x.astype("f8")),
}
every_op = pytest.mark.parametrize("op", NUMPYS)


def whole(n, dtype, seed=1):
    """Draw small integers, whose sums are exact, of which some are as great as others."""
    x = np.random.default_rng(seed).integers(-9, 10, n)
    return (abs(x) if np.dtype(dtype).kind == "u" else x).astype(dtype)


def same(got, want, n):
    got, want = to_host(got), np.asarray(want)
    assert got.shape == want.shape
    if want.dtype.kind in "iub":
        assert got.dtype == want.dtype
        assert np.array_equal(got, want)
    else:
        # Sums are exact; of squares of deviations each is rounded, and then their sum.
        assert np.allclose(got, want, (n + 4) * EPSILON, 0, equal_nan=True)


@everywhere
@every_op
@pytest.mark.parametrize("kind", OFFSETS)
def test_every_reduction_of_one_value_is_numpys(place, op, kind):
    offsets = OFFSETS[kind]
    for dtype in ("f8", "i4", "u1", "?"):
        x = whole(N, dtype)
        if dtype == "f8" and op.startswith("nan"):
            x[::7] = np.nan
        if op in ("prod", "nanprod"):
            x = np.where(np.arange(N) % 97, x.dtype.type(1), x)
        for values in (x, x[::-1]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # of nothing but NaN
                want = [NUMPYS[op](values[begin:end]) for begin, end in bounds(offsets, N)]
            same(gred.reduceat(op, values, offsets, **on(place)), want, N)


@everywhere
def test_offsets_that_lie_on_a_device_are_fetched(place):
    x, offsets = whole(N, "f8"), OFFSETS["back and forth"]
    for op, kind in itertools.product(("var", "argmax", "mean", "min"), ("i8", "i4", "u2")):
        there = flat_there(np.array(offsets, kind), place)
        want = [NUMPYS[op](x[begin:end]) for begin, end in bounds(offsets, N)]
        same(gred.reduceat(op, flat_there(x, place), there), want, N)


@everywhere
def test_segments_of_nothing_have_what_is_neutral(place):
    x, offsets = whole(40, "f8") + 0.5, [0, 7, 7, 20, 40, 40]
    nothing = {
        "mean": np.nan,
        "var": np.nan,
        "argmin": -1,
        "norm": 0.0,
        "nansum": 0.0,
        "max": -np.inf,
        "logsumexp": -np.inf,
    }
    for op, value in nothing.items():
        want = [
            NUMPYS[op](x[begin:end]) if end > begin else value
            for begin, end in bounds(offsets, 40, "identity")
        ]
        same(gred.reduceat(op, x, offsets, empty="identity", **on(place)), want, 40)


@pytest.mark.parametrize("n", [(1 << 18) - 1, (1 << 18) + 5])
def test_long_segments_have_positions_of_their_own(n):
    x = whole(n + 20, "f4")
    x[[5, 30, n + 15]] = 77
    assert gred.reduceat("argmax", x, [0, 10, n + 10]).tolist() == [5, 20, 5]
    assert gred.reduceat("argmin", -x, [3, n + 3]).tolist() == [2, 12]


@everywhere
@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_exact_results_are_each_rounded_once(place, dtype):
    random = np.random.default_rng(4)
    n = 6000 if place == "host" else 300
    x = np.ldexp(random.normal(size=n), random.integers(-12, 9, n)).astype(dtype)
    x[n // 2 :] = -x[: n - n // 2]
    several = {"few": [0, 1, 9, 40, n // 2], "back": [90, 3, n - 1, 0], "each": range(n - 60, n)}
    for name, (kind, offsets) in chosen(
        itertools.product(("sum", "mean", "norm"), several.items())
    ):
        got = to_host(gred.reduceat(name, x, list(offsets), method="exact", **on(place)))
        for value, (begin, end) in zip(got, bounds(list(offsets), n), strict=True):
            part = x[begin:end]
            if name == "norm":
                right = nearest_root(exact_square(part), dtype)
            else:
                right = truth(name, part, dtype)
            assert bits_of(value) == bits_of(right), (kind, begin, end)


def test_exact_results_do_not_depend_on_threads_or_layout(threads_as_before):
    x = np.random.default_rng(7).lognormal(0, 40, 400_000)
    offsets = np.sort(np.random.default_rng(8).integers(0, x.size, 3000))
    made = set()
    for threads in (1, 2, 5):
        gred.threads(threads)
        for layout in (x, x[::-1].copy()[::-1], np.repeat(x, 2)[::2]):
            made.add(gred.reduceat("sum", layout, offsets, method="exact").tobytes())
    assert len(made) == 1
    assert gred.reduceat("sum", x, [0], method="exact")[0] == gred.sum(x, method="exact")


@pytest.mark.parametrize("op", ["sum", "var", "argmax", "max"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_segments_lie_along_any_axis(op, axis):
    x = whole(7 * 9 * 8, "f8").reshape(7, 9, 8)
    for offsets in ([0, 3, 5], [2, 6], [4, 1, 5], [0]):
        cut = bounds(offsets, x.shape[axis])
        want = [NUMPYS[op](np.take(x, range(begin, end), axis), axis=axis) for begin, end in cut]
        same(gred.reduceat(op, x, offsets, axis=axis), np.stack(want, axis), 9)
    if op in ("sum", "max"):
        ufunc = {"sum": np.add, "max": np.maximum}[op]
        got = gred.reduceat(ufunc, x, [0, 3, 3, 1], axis=axis)
        same(got, ufunc.reduceat(x, [0, 3, 3, 1], axis=axis), 9)


def test_no_offsets_along_an_axis_give_no_results():
    for shape in ((2, 0), (2, 5)):
        got = gred.reduceat("sum", np.zeros(shape), np.zeros(0, int), axis=1)
        assert got.shape == (2, 0)
    assert gred.reduceat("sum", np.zeros((4, 3)), np.zeros(0, int)).shape == (0, 3)


def test_a_copy_of_segments_is_within_the_limit():
    x = SimulatedArray(np.ones(1000))[::2]
    with gred.workspace_limit(1000), pytest.raises(MemoryError, match="limited to 1000"):
        gred.reduceat("var", x, [0, 10])
    assert to_host(gred.reduceat("var", x, [0, 10])).tolist() == [0, 0]


def test_offsets_may_be_any_integers():
    x = np.arange(10.0)
    for kind in ("u1", "i2", "u4", "u8"):
        assert gred.reduceat("mean", x, np.array([0, 4], kind)).tolist() == [1.5, 6.5]
    for value in (2**63, 2**64 - 1):
        with pytest.raises(IndexError):
            gred.reduceat("sum", x, np.array([value], np.uint64))


def test_arguments_have_their_meaning():
    x = np.array([3.0, 4.0, 1.0, 2.0, 6.0])
    assert gred.reduceat("var", x, [0, 2], ddof=1).tolist() == [0.5, 7.0]
    assert gred.reduceat("norm", x, [0, 2]).tolist() == [5.0, 41**0.5]
    assert gred.reduceat("norm", x, [0, 2], ord=1).tolist() == [7.0, 9.0]
    assert gred.reduceat("norm", x, [0, 2], ord=np.inf).tolist() == [4.0, 6.0]
    out = np.zeros(2, np.float32)
    assert gred.reduceat("mean", x, [0, 2], out=out) is out
    assert out.tolist() == [3.5, 3.0]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "words"),
    [
        (("minmax", [1.0], [0]), {}, ValueError, "op must be one of"),
        (("sum", [1.0], [0]), {"method": "unroll8"}, ValueError, "'auto' or 'exact'"),
        (("sum", [1.0], [0]), {"axis": 1}, IndexError, "axis 1 is out of bounds"),
        (("sum", np.ones((3, 4)), [3]), {"axis": 0}, IndexError, "out-of-bounds"),
        (("sum", np.ones((3, 4)), [-1]), {"axis": 1}, IndexError, "out-of-bounds"),
        (("sum", np.ones((3, 4)), [0]), {"axis": 2}, IndexError, "axis 2 is out of bounds"),
        (("sum", np.ones((3, 4)), [0]), {"out": np.ones((1, 4))}, TypeError, "no out"),
        (("norm", [1.0], [0]), {"ord": 3}, ValueError, "ord must be"),
        (("prod", [1.0], [0]), {"method": "exact"}, ValueError, "exact"),
    ],
)
def test_what_cannot_be_is_refused(arguments, options, error, words):
    with pytest.raises(error, match=words):
        gred.reduceat(*arguments, **options)
