"""method="batch_invariant": the bits of a result depend only on its own elements.

The first results of a batch equal, bit for bit, those of a smaller batch with only these, at
another address, also where the number of results decides how threads share the work. Values are
compared with NumPy's in wider types.
"""

import numpy as np
import pytest
from along import wrong_along
from devices import laid_out, to_host
from hypothesis import given
from hypothesis import strategies as st
from reference import BFLOAT16
from samples import quietly

import gred

OPS = ("sum", "mean", "var", "std", "norm", "prod", "nansum", "nanmean", "min", "nanmax")
FLOATS = ("f2", BFLOAT16, "f4", "f8", "c8", "c16")
BATCHES = (*range(1, 34), *range(61, 68), *range(125, 132), 200, 254, 255, 256, 257)
METHOD = {"method": "batch_invariant"}
# The shape for n elements per result, the reduced axes, and the results' axis.
LAYOUTS = {
    "rows": lambda n, results: ((results, n), 1, 0),
    "columns": lambda n, results: ((n, results), 0, 1),
    "between": lambda n, results: ((results, n, 3), 1, 0),
    "around": lambda n, results: ((5, results, n // 5), (0, 2), 1),
    "apart": lambda n, results: ((results, 2 * n + 1), 1, 0),
}


def batch(dtype, layout, n, results, seed=0):
    """Draw a batch; return it, the reduced axes, and a function that selects its first results."""
    random = np.random.default_rng([seed, n])
    shape, axis, own = LAYOUTS[layout](n, results)
    x = 1 + random.standard_normal(shape) / 16
    if np.dtype(dtype).kind == "c":
        x = x + 1j * random.standard_normal(shape) / 16
    x = x.astype(dtype)[:, 1::2] if layout == "apart" else x.astype(dtype)
    return x, axis, lambda x, few: x[(slice(None),) * own + (slice(few),)]


def made(op, x, axis, device, where=None, **options):
    mask = {} if where is None else {"where": laid_out(where, device)}
    return to_host(quietly(op, laid_out(x, device), axis=axis, **mask, **options, **METHOD))


def first_of(whole, part) -> bool:
    """Return whether the results of a part equal the first of the whole, bit for bit."""
    return whole.tobytes().startswith(part.tobytes()) and part.nbytes > 0


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize(("dtype", "n"), [("f4", 1000), ("f2", 100)], ids=str)
def test_sums_have_the_same_bits_for_all_batch_sizes(dtype, n, layout, device):
    x, axis, first = batch(dtype, layout, n, BATCHES[-1])
    whole = made("sum", x, axis, device)
    for results in BATCHES:
        assert first_of(whole, made("sum", first(x, results).copy(), axis, device)), results


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
def test_a_result_depends_on_its_own_elements_alone_and_is_right(
    op, dtype, layout, device, n, few, many, seed, masked
):
    """A mask is part of the elements. Sums are trees over shares of elements, or over chunks."""
    if op in ("min", "nanmax") and (masked or np.dtype(dtype).kind == "c"):
        return
    n -= n % 5 if layout == "around" else 0
    x, axis, first = batch(dtype, layout, n, many if n < 4000 else few + 1, seed)
    mask = {"where": x.real > 1} if masked else {}
    whole = made(op, x, axis, device, **mask)
    assert op == "prod" or not wrong_along(op, whole, x, axis, **mask)  # products may overflow
    mask = {key: first(where, few).copy() for key, where in mask.items()}
    part = made(op, first(x, few).copy(), axis, device, **mask)
    assert first_of(whole, part)


@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_so_does_one_that_is_converted_or_begins_anywhere(dtype, device):
    """The sums are rounded, and have more shares than a block does."""
    x = (np.random.default_rng(5).normal(size=(33, 20_099)) * 1e7).astype(dtype)
    for begin, results in ((0, 1), (1, 2), (2, 31), (3, 33), (4, 33)):
        own = x[:, begin : 20_000 + begin]
        ways = (own, 1), (own[:results].copy(), 1), (own[0].copy(), 0)
        for op in ("sum", "mean", "var"):
            whole, part, one = (made(op, *way, device, dtype="f4") for way in ways)
            assert first_of(whole, part)
            assert isinstance(one, np.float32)
            assert one == whole[0]


def test_integers_positions_and_nothing_are_so_by_any_method(device):
    x = np.random.default_rng(3).integers(-99, 99, (20, 3000))
    for op, axis, y in (("sum", 1, x), ("argmax", 1, x), ("any", 0, x), ("sum", 1, x[:, :0])):
        np.testing.assert_array_equal(made(op, y, axis, device), getattr(np, op)(y, axis))
    assert made("sum", x[:0], 1, device).size == 0


def test_whole_arrays_and_lists_are_refused_and_plans_name_it():
    x = np.ones((300, 40), "f4")
    for function, *arguments in ((gred.sum, x), (gred.sum, [x, x]), (gred.dot, x[0], x[0])):
        with pytest.raises(ValueError, match="batch_invariant"):
            function(*arguments, **METHOD)
    with pytest.raises(ValueError, match="each takes"):
        gred.each("sum", [x], **METHOD)
    assert gred.explain(x, "sum", axis=0, device="simulated", **METHOD).method == "batch_invariant"
    assert gred.explain(x, "sum", axis=0, device="simulated").method == "auto"
