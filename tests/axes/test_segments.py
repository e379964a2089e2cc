"""Segments of every reduction, exact ones and along an axis; their arguments and what is refused.

On devices by a list's kernels, in shuffled order, or by those of segments.
"""

import itertools

import numpy as np
import pytest
from devices import everywhere, flat_there, laid_out, on, to_host
from exact_truths import bits_of, exact_square, nearest_root, truth
from forcing import CONFIGURATIONS, forced
from reference import REALS
from segments import NUMPYS, nearly_same, same, small, whole
from thin import chosen

import gred
from gred import _core
from gred.testing import SimulatedArray

N = 3000
OFFSETS = {
    "rising": [0, 3, 10, 11, 700, 2999],
    "from the middle": [5, 400, 401, 2900],
    "back and forth": [2000, 10, 2500, 0, 2999, 17],
    "each element": list(range(2900, N)),
    "one": [0],
}


def bounds(offsets, n, empty="element"):
    """List where segments begin and end, as NumPy's reduceat has them."""
    ends = [*offsets[1:], n]
    least = 1 if empty == "element" else 0
    return [(start, max(end, start + least)) for start, end in zip(offsets, ends, strict=True)]


@everywhere
@pytest.mark.filterwarnings("ignore:All-NaN", "ignore:Mean of empty")
@pytest.mark.parametrize("op", NUMPYS)
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
            want = [NUMPYS[op](values[begin:end]) for begin, end in bounds(offsets, N)]
            nearly_same(gred.reduceat(op, values, offsets, **on(place)), want, N)


@everywhere
def test_offsets_that_lie_on_a_device_are_fetched(place):
    x = whole(N, "f8")
    for op, kind in itertools.product(("var", "argmax", "mean", "min"), ("i8", "i4", "u2", "u1")):
        offsets = [3, 10, 200, 0] if kind == "u1" else OFFSETS["back and forth"]
        there = flat_there(np.array(offsets, kind), place)
        want = [NUMPYS[op](x[begin:end]) for begin, end in bounds(offsets, N)]
        nearly_same(gred.reduceat(op, flat_there(x, place), there), want, N)


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
        nearly_same(gred.reduceat(op, x, offsets, empty="identity", **on(place)), want, 40)


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


@pytest.mark.parametrize("op", ["sum", "var", "argmax", "max"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_segments_lie_along_any_axis(op, axis):
    x = whole(7 * 9 * 8, "f8").reshape(7, 9, 8)
    for offsets in ([0, 3, 5], [2, 6], [4, 1, 5], [0]):
        cut = bounds(offsets, x.shape[axis])
        want = [NUMPYS[op](np.take(x, range(begin, end), axis), axis=axis) for begin, end in cut]
        nearly_same(gred.reduceat(op, x, offsets, axis=axis), np.stack(want, axis), 9)
    if op in ("sum", "max"):
        ufunc = {"sum": np.add, "max": np.maximum}[op]
        got = gred.reduceat(ufunc, x, [0, 3, 3, 1], axis=axis)
        nearly_same(got, ufunc.reduceat(x, [0, 3, 3, 1], axis=axis), 9)


def test_no_offsets_give_no_results_and_copies_are_within_the_limit():
    for shape in ((2, 0), (2, 5)):
        assert gred.reduceat("sum", np.zeros(shape), np.zeros(0, int), axis=1).shape == (2, 0)
    assert gred.reduceat("sum", np.zeros((4, 3)), np.zeros(0, int)).shape == (0, 3)
    x = SimulatedArray(np.ones(1000))[::2]
    with gred.workspace_limit(1000), pytest.raises(MemoryError, match="limited to 1000"):
        gred.reduceat("var", x, [0, 10])
    assert to_host(gred.reduceat("var", x, [0, 10])).tolist() == [0, 0]


def test_arguments_have_their_meaning():
    x = np.array([3.0, 4.0, 1.0, 2.0, 6.0])
    assert gred.reduceat("var", x, [0, 2], ddof=1).tolist() == [0.5, 7.0]
    assert gred.reduceat("norm", x, [0, 2]).tolist() == [5.0, 41**0.5]
    assert gred.reduceat("norm", x, [0, 2], ord=1).tolist() == [7.0, 9.0]
    assert gred.reduceat("norm", x, [0, 2], ord=np.inf).tolist() == [4.0, 6.0]
    out = np.zeros(2, np.float32)
    assert gred.reduceat("mean", x, [0, 2], out=out) is out
    assert out.tolist() == [3.5, 3.0]


# ---- offsets of devices ----


@pytest.fixture(params=CONFIGURATIONS["segments"])
def sharing(request):
    with forced("segments", request.param):
        yield request.param


@everywhere
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "?"])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_offsets_of_the_device_are_of_any_type_and_stride(place, sharing, dtype, step):
    offsets = np.array([0, 1, 1, 0, 1, 1] if dtype == "?" else [0, 90, 3, 90, 14, 100])
    view = offsets.astype(dtype)[::step]
    x = small(120, np.float32)
    got = gred.reduceat("sum", laid_out(x, place), laid_out(view, place))
    same(to_host(got), np.add.reduceat(x, view.astype(int)))


# ---- where results go ----


def test_results_stay_where_values_lie_also_if_there_are_none():
    x, offsets = np.arange(10.0), np.array([0, 4])
    there = SimulatedArray(offsets)
    of_device = (SimulatedArray(x), gred.DeviceArray)
    for (a, kind), o in ((of_device, offsets), (of_device, there), ((x, np.ndarray), there)):
        got = gred.reduceat("sum", a, o)
        assert type(got) is kind
        np.testing.assert_array_equal(to_host(got), [6, 39])
    for values in (np.ones(3), np.ones(0), SimulatedArray(np.zeros(0))):
        assert gred.reduceat("sum", values, SimulatedArray(np.zeros(0, np.int64))).shape == (0,)


# ---- what is refused ----

WRONG = [
    (("median", [1], [0]), {}, ValueError, "op must be"),
    ((np.subtract, [1], [0]), {}, ValueError, "op must be"),
    ((3, [1], [0]), {}, TypeError, "op must be"),
    (("sum", [1, 2], [2]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [0, -1]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [3]), {"empty": "identity"}, IndexError, "out-of-bounds"),
    (("sum", [], [0]), {}, IndexError, "out-of-bounds"),
    (("sum", [1, 2], [0.5]), {}, TypeError, "Cannot cast"),
    (("sum", [1, 2], [[0]]), {}, ValueError, "one dimension"),
    (("sum", [1, 2], 0), {}, ValueError, "one dimension"),
    (("sum", [[1, 2]], [0]), {"out": np.zeros(2)}, TypeError, "no out"),
    (("sum", 1, [0]), {}, ValueError, "one dimension"),
    (("sum", [1, 2], [0]), {"empty": "zero"}, ValueError, "empty must be"),
    (("sum", [1, 2], [0]), {"device": "moon"}, ValueError, "device"),
    (("sum", [1, 2], [0]), {"dtype": "S3"}, TypeError, "dtype"),
    (("minmax", [1.0], [0]), {}, ValueError, "op must be one of"),
    (("sum", [1.0], [0]), {"method": "unroll8"}, ValueError, "'auto' or 'exact'"),
    (("sum", [1.0], [0]), {"axis": 1}, IndexError, "axis 1 is out of bounds"),
    (("sum", np.ones((3, 4)), [3]), {"axis": 0}, IndexError, "out-of-bounds"),
    (("sum", np.ones((3, 4)), [-1]), {"axis": 1}, IndexError, "out-of-bounds"),
    (("sum", np.ones((3, 4)), [0]), {"axis": 2}, IndexError, "axis 2 is out of bounds"),
    (("norm", [1.0], [0]), {"ord": 3}, ValueError, "ord must be"),
    (("prod", [1.0], [0]), {"method": "exact"}, ValueError, "exact"),
    *(
        (("sum", [1, 2], np.array([value], np.uint64)), {}, IndexError, "out-of-bounds")
        for value in (2**63, 2**64 - 1)
    ),
]
HERE, THERE = np.array([1, 2]), SimulatedArray(np.array([1, 2]))
WRONG_ON_A_DEVICE = [
    ((THERE, [2]), {}, IndexError, "out-of-bounds"),
    ((THERE, [0, -1]), {}, IndexError, "out-of-bounds"),
    ((HERE, [2]), {"device": "simulated"}, IndexError, "out-of-bounds"),
    ((HERE, SimulatedArray(np.array([0, 2]))), {}, IndexError, "out-of-bounds"),
    ((HERE, SimulatedArray(np.array([-1]))), {"empty": "identity"}, IndexError, "out-of-bounds"),
    ((THERE, SimulatedArray(np.array([0.0]))), {}, TypeError, "offsets must be integers"),
    ((THERE, SimulatedArray(np.array([0], "u8"))), {}, TypeError, "offsets must be integers"),
    ((THERE, SimulatedArray(np.array([[0]]))), {}, ValueError, "one dimension"),
    ((SimulatedArray(np.ones((2, 2))), [0]), {}, ValueError, "one dimension"),
    ((THERE, [0]), {"device": "host"}, ValueError, "lies on"),
    ((HERE, SimulatedArray(np.array([0]))), {"device": "host"}, ValueError, "lies on"),
    ((THERE, [0]), {"out": np.zeros(2)}, ValueError, "shape"),
    ((THERE, [0]), {"out": SimulatedArray(np.zeros(2))}, ValueError, "shape"),
    ((THERE, [0, 0.5]), {}, TypeError, "Cannot cast"),
    ((THERE, THERE.described(shape=(2**60,), strides=(0,))), {}, ValueError, "offsets: .*'shape'"),
    ((THERE, THERE.described(data=(12345, False))), {}, ValueError, "offsets: .*'data'"),
    ((THERE.described(shape=(2**60,), strides=(0,)), [0]), {}, ValueError, "values: .*'shape'"),
    ((np.ones(0), THERE), {"empty": "identity"}, IndexError, "out-of-bounds"),
]
WRONG += [(("sum", *arguments), *more) for arguments, *more in WRONG_ON_A_DEVICE]


@pytest.mark.parametrize(("arguments", "options", "error", "words"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_named(arguments, options, error, words):
    with pytest.raises(error, match=words):
        gred.reduceat(*arguments, **options)
    same(gred.reduceat("sum", [1, 2, 3], [0, 2]), np.array([3, 3]))
    same(to_host(gred.reduceat("sum", THERE, [0, 1])), np.array([1, 2]))


def test_the_core_counts_its_arguments():
    for count in (0, 10, 12):
        with pytest.raises(TypeError, match="11 positional arguments"):
            _core.reduceat(*[None] * count)


def test_an_out_of_the_host_is_not_written_where_offsets_are_wrong(sharing):
    out = np.full(3, 7)
    with pytest.raises(IndexError):
        gred.reduceat("sum", THERE, SimulatedArray(np.array([0, 1, 9])), out=out)
    assert (out == 7).all()
