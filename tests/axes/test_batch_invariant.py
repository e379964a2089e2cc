"""method="batch_invariant": bits of a result follow from its own elements alone.

So the first results of a batch are, bit for bit, those of the smaller batch that has just these,
in other memory, at another address, and wherever the number of results decides how threads share
the work. What they are is compared with NumPy's in wider types.
"""

import numpy as np
import pytest
from devices import laid_out, to_host
from hypothesis import given
from hypothesis import strategies as st
from reference import BFLOAT16

import gred

OPS = ("sum", "mean", "var", "std", "norm", "prod", "nansum", "nanmean", "min", "nanmax")
FLOATS = ("f2", BFLOAT16, "f4", "f8", "c8", "c16")
BATCHES = (*range(1, 34), *range(61, 68), *range(125, 132), 200, 254, 255, 256, 257)
EPSILON = {"f4": 2.0**-24, "f8": 2.0**-53}
# The shape of so many results of n elements, the axes that go, and the results' own.
LAYOUTS = {
    "rows": lambda n, results: ((results, n), 1, 0),
    "columns": lambda n, results: ((n, results), 0, 1),
    "between": lambda n, results: ((results, n, 3), 1, 0),
    "around": lambda n, results: ((5, results, n // 5), (0, 2), 1),
    "apart": lambda n, results: ((results, 2 * n + 1), 1, 0),
}


def batch(dtype, layout, n, results, seed=0):
    """Draw a batch and the axes that go, and give what takes its first results from it."""
    random = np.random.default_rng([seed, n])
    shape, axis, own = LAYOUTS[layout](n, results)
    x = 1 + random.standard_normal(shape) / 16
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.standard_normal(shape) / 16
    return x.astype(dtype), axis, lambda x, few: np.take(x, range(few), own)


def bits(op, x, axis, device, layout="", **options):
    """Reduce; of rows that lie apart every second element counts."""
    x, *shown = (a[:, 1::2] if layout == "apart" else a for a in (x, *options.values()))
    more = {"where": laid_out(shown[0], device)} if shown else {}
    function = getattr(gred, op)
    got = function(laid_out(x, device), axis=axis, method="batch_invariant", **more)
    return np.asarray(to_host(got)).reshape(-1).view(np.uint8)


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize(("dtype", "n"), [("f4", 1000), ("f2", 100)], ids=str)
def test_sums_have_the_same_bits_for_all_batch_sizes(dtype, n, layout, device):
    x, axis, first = batch(dtype, layout, n, BATCHES[-1])
    whole = bits("sum", x, axis, device)
    for results in BATCHES:
        made = bits("sum", first(x, results), axis, device)
        assert np.array_equal(made, whole[: len(made)]), results


@pytest.mark.filterwarnings("ignore:Mean of empty", "ignore:Degrees of freedom", "ignore:All-NaN")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", OPS)
@given(
    n=st.one_of(st.integers(5, 400), st.integers(4000, 70_000)),
    few=st.integers(1, 7),
    many=st.integers(8, 40),
    seed=st.integers(0, 99),
    masked=st.booleans(),
)
def test_a_result_depends_on_its_own_elements_alone(
    op, dtype, layout, device, n, few, many, seed, masked
):
    """And on its own part of a mask."""
    if op in ("min", "nanmax") and (masked or np.dtype(dtype).kind == "c"):
        return
    n -= n % 5 if layout == "around" else 0
    x, axis, first = batch(dtype, layout, n, many if n < 4000 else few + 1, seed)
    shown = {"where": x.real > 1} if masked else {}
    whole = bits(op, x, axis, device, layout, **shown)
    part = {key: first(mask, few) for key, mask in shown.items()}
    made = bits(op, first(x, few), axis, device, layout, **part)
    assert np.array_equal(made, whole[: len(made)])


@pytest.mark.parametrize("op", ["sum", "mean", "var"])
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_so_does_one_that_is_converted_or_begins_anywhere(op, dtype, device):
    def made(x, axis=1):
        options = {"dtype": "f4", "method": "batch_invariant"}
        return to_host(getattr(gred, op)(laid_out(x, device), axis, **options))

    x = np.random.default_rng(5).integers(0, 99, (33, 4099)).astype(dtype)
    for begin, results in ((0, 1), (1, 2), (2, 31), (3, 33), (4, 33)):
        own = x[:, begin : 4000 + begin]
        whole = made(own)
        assert whole[:results].tobytes() == made(own[:results].copy()).tobytes()
        one = made(own[1].copy(), 0)
        assert isinstance(one, np.float32)
        assert one == whole[1]


@pytest.mark.parametrize("layout", ["rows", "columns", "between", "around"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [5, 100, 4100, 40_000])
def test_sums_are_numpys_to_within_their_roundings(n, dtype, layout, device):
    x, axis, _ = batch(dtype, layout, n, 3)
    got = bits("sum", x, axis, device).view(dtype).astype(np.longdouble)
    exact = x.astype(np.longdouble).sum(axis).reshape(-1)
    # By a tree over shares of up to 64 elements, and on the host over chunks of 4,096.
    bound = 4096 * EPSILON[dtype] * np.abs(x).sum(axis).reshape(-1)
    assert np.all(np.abs(got - exact) <= bound)


def test_integers_positions_and_nothing_are_so_by_any_method(device):
    x = np.random.default_rng(3).integers(-99, 99, (20, 3000))
    for op, axis, y in (("sum", 1, x), ("argmax", 1, x), ("any", 0, x), ("sum", 1, x[:, :0])):
        got = bits(op, y, axis, device)
        assert np.array_equal(got, getattr(np, op)(y, axis).view(np.uint8))
    assert bits("sum", x[:0], 1, device).size == 0


def test_whole_arrays_and_lists_are_refused_and_plans_name_it():
    x, option = np.ones((300, 40), "f4"), {"method": "batch_invariant"}
    for function, *arguments in ((gred.sum, x), (gred.sum, [x, x]), (gred.dot, x[0], x[0])):
        with pytest.raises(ValueError, match="batch_invariant"):
            function(*arguments, **option)
    with pytest.raises(ValueError, match="each takes"):
        gred.each("sum", [x], **option)
    assert gred.explain(x, "sum", axis=0, device="simulated", **option).method == option["method"]
    assert gred.explain(x, "sum", axis=0, device="simulated").method == "auto"
