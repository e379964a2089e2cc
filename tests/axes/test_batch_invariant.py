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
EPSILON = {"f2": 2.0**-11, BFLOAT16: 2.0**-8, "f4": 2.0**-24, "f8": 2.0**-53}


def batch(dtype, layout, n, results, seed=0):
    """Draw a batch whose first results are those of any smaller one, and the axes that go."""
    random = np.random.default_rng([seed, n])
    shapes = {
        "rows": ((results, n), 1),
        "columns": ((n, results), 0),
        "between": ((results, n, 3), 1),
        "around": ((5, results, n // 5), (0, 2)),
        "apart": ((results, 2 * n + 1), 1),
    }
    shape, axis = shapes[layout]
    x = 1 + random.standard_normal(shape) / 16
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.standard_normal(shape) / 16
    return x.astype(dtype), axis


def smaller(x, layout, results):
    """Take the first results of a batch, in memory of their own."""
    where = {"columns": 1, "around": 1}.get(layout, 0)
    part = np.take(x, range(results), where)
    assert part.flags.c_contiguous
    return part


def viewed(x, layout, device):
    """Lay a batch out on a device; of rows that lie apart every second element counts."""
    return laid_out(x[:, 1::2] if layout == "apart" else x, device)


def bits(result):
    return np.asarray(to_host(result)).reshape(-1).view(np.uint8)


def invariant(op, array, axis, **options):
    return getattr(gred, op)(array, axis=axis, method="batch_invariant", **options)


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize(("dtype", "n"), [("f4", 1000), ("f2", 100)], ids=str)
def test_sums_have_the_same_bits_for_all_batch_sizes(dtype, n, layout, device):
    x, axis = batch(dtype, layout, n, BATCHES[-1])
    whole = bits(invariant("sum", viewed(x, layout, device), axis))
    for results in BATCHES:
        part = viewed(smaller(x, layout, results), layout, device)
        made = bits(invariant("sum", part, axis))
        assert np.array_equal(made, whole[: len(made)]), results


@pytest.mark.parametrize("layout", ["rows", "columns", "between", "around", "apart"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", OPS)
@given(
    n=st.one_of(st.integers(5, 400), st.integers(4000, 70_000)),
    few=st.integers(1, 7),
    many=st.integers(8, 40),
    seed=st.integers(0, 99),
)
def test_a_result_depends_on_its_own_elements_alone(op, dtype, layout, device, n, few, many, seed):
    if np.dtype(dtype).kind == "c" and op in ("min", "nanmax"):
        return
    n -= n % 5 if layout == "around" else 0
    x, axis = batch(dtype, layout, n, many if n < 4000 else few + 1, seed)
    part = smaller(x, layout, few)
    whole = bits(invariant(op, viewed(x, layout, device), axis))
    made = bits(invariant(op, viewed(part, layout, device), axis))
    assert np.array_equal(made, whole[: len(made)])


@pytest.mark.parametrize("op", ["sum", "var", "nanmean"])
@pytest.mark.parametrize("layout", ["rows", "columns", "around"])
@given(n=st.integers(5, 3000), few=st.integers(1, 7), seed=st.integers(0, 99))
def test_so_does_one_with_a_mask(op, layout, device, n, few, seed):
    n -= n % 5 if layout == "around" else 0
    x, axis = batch("f4", layout, n, 20, seed)
    mask = x.real > 1
    parts = [smaller(each, layout, few) for each in (x, mask)]
    whole, made = (
        bits(invariant(op, laid_out(values, device), axis, where=laid_out(shown, device)))
        for values, shown in ((x, mask), parts)
    )
    assert np.array_equal(made, whole[: len(made)])


@pytest.mark.parametrize("op", ["sum", "mean", "var"])
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_so_does_one_that_is_converted_or_begins_anywhere(op, dtype, device):
    x = np.random.default_rng(5).integers(0, 99, (33, 1001)).astype(dtype)
    whole = bits(invariant(op, laid_out(x, device), 1, dtype="f4"))
    for results in (1, 2, 31):
        made = bits(invariant(op, laid_out(x[:results].copy(), device), 1, dtype="f4"))
        assert np.array_equal(made, whole[: len(made)])
    x, _ = batch("f4", "rows", 4099, 9)
    for begin in range(1, 5):
        own = x[:, begin : 4000 + begin]
        moved, made = (invariant(op, laid_out(one, device), 1) for one in (own, own.copy()))
        assert np.array_equal(bits(moved), bits(made))
    one = invariant(op, laid_out(own[1].copy(), device), 0)
    assert isinstance(one, np.float32)
    assert one == to_host(moved)[1]


@pytest.mark.parametrize("layout", ["rows", "columns", "between", "around"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n", [1, 7, 100, 4097, 40_000])
def test_sums_are_numpys_to_within_their_roundings(n, dtype, layout, device):
    n += -n % 5 if layout == "around" else 0
    x, axis = batch(dtype, layout, n, 3)
    got = to_host(invariant("sum", laid_out(x, device), axis)).astype(np.longdouble)
    exact = x.astype(np.longdouble).sum(axis)
    # By a tree over shares of up to 64 elements, and on the host over chunks of 4,096.
    bound = 4096 * EPSILON[dtype] * np.abs(x).sum(axis)
    assert np.all(np.abs(got - exact) <= bound)


def test_integers_positions_and_nothing_are_so_by_any_method(device):
    x = np.random.default_rng(3).integers(-99, 99, (20, 3000))
    for op, axis, y in (("sum", 1, x), ("argmax", 1, x), ("any", 0, x), ("sum", 1, x[:, :0])):
        right = getattr(np, op)(y, axis)
        assert np.array_equal(to_host(invariant(op, laid_out(y, device), axis)), right)
    assert to_host(invariant("sum", laid_out(x[:0], device), 1)).shape == (0,)


def test_whole_arrays_and_lists_are_refused_and_plans_name_it():
    x, option = np.ones((300, 40), "f4"), {"method": "batch_invariant"}
    for arguments in ((gred.sum, x), (gred.sum, [x, x]), (gred.dot, x[0], x[0])):
        with pytest.raises(ValueError, match="batch_invariant"):
            arguments[0](*arguments[1:], **option)
    with pytest.raises(ValueError, match="each takes"):
        gred.each("sum", [x], **option)
    assert gred.explain(x, "sum", axis=0, device="simulated", **option).method == option["method"]
    assert gred.explain(x, "sum", axis=0, device="simulated").method == "auto"
