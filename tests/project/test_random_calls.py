"""Calls that the benchmark draws at random: others from other seeds, of any layout, and right."""

import numpy as np
import pytest
from devices import PLACES, laid_out, parameter, to_host
from drawn import examples

import gred

pytestmark = pytest.mark.unsanitized


@pytest.fixture
def drawn_calls(benchmarks):
    return benchmarks.drawn_calls


def test_a_seed_draws_calls_of_every_kind_and_no_larger_than_asked(drawn_calls):
    calls, again, other = (list(drawn_calls.drawn(s, 2000, 1 << 10, 1 << 24)) for s in (3, 3, 2))
    assert calls == again != other
    assert max(call.nbytes for call in calls) <= 1 << 24
    assert {len(call.shape) for call in calls} == set(drawn_calls.RANKS)
    assert {call.dtype for call in calls} == set(drawn_calls.TYPES)
    assert {call.op for call in calls} == set(drawn_calls.OPS)
    assert {call.layout for call in calls} == set(drawn_calls.LAYOUTS)
    assert any(n % 2 and n > 100 for call in calls for n in call.shape)


def test_sectors_that_hold_an_element_are_counted(drawn_calls):
    """Of arrays of 32 whole sectors, every second place along one dimension."""
    for shape in ((64, 256), (128, 8, 16)):
        for number in range(20):
            call = drawn_calls.Drawn(f"sum{number}", "float32", shape, 0, "every second")
            view = drawn_calls.laid_out(np.empty(2 * call.nbytes, np.float32), call)
            place = np.zeros(shape, np.int64)
            for k, (n, stride) in enumerate(zip(shape, view.strides, strict=True)):
                place += (np.arange(n) * stride).reshape(
                    [-1 if k == j else 1 for j in range(len(shape))]
                )
            sectors = np.unique(place // drawn_calls.SECTOR).size
            assert drawn_calls.bytes_touched(call) == sectors * drawn_calls.SECTOR


def expected(call, x):
    """Reduce whole numbers, by integers where a result is made of squares."""
    if call.op not in ("var", "std", "norm"):
        wide = np.result_type(x.dtype, np.float64)
        as_it_is = x.dtype.kind in "biu" or call.op in ("argmax", "any", "all", "count_nonzero")
        return getattr(np, call.op)(x if as_it_is else x.astype(wide), axis=call.axis)
    parts = [np.real(x).astype(np.int64), np.imag(x).astype(np.int64)]
    squares = sum(np.sum(part**2, axis=call.axis) for part in parts)
    if call.op == "norm":
        return np.sqrt(squares)
    n = x.size // squares.size
    spread = (n * squares - sum(np.sum(part, axis=call.axis) ** 2 for part in parts)) / n**2
    return np.sqrt(spread) if call.op == "std" else spread


def is_right(call, got, x) -> bool:
    """Compare whole numbers' results: of numbers from -3 to 3.

    Sums of so few of them are exact in any accumulator, and products of which none is 0 do not get
    far. A variance or a norm takes a rounding of each square, of 9 at most, of deviations from a
    rounded mean, of their sum, a quotient and a root.
    """
    with np.errstate(all="ignore"):
        want = expected(call, x)
    eps = np.finfo(got.dtype).eps if got.dtype.kind in "fc" else 0
    return np.allclose(got, want.astype(got.dtype), rtol=4 * eps, atol=32 * eps, equal_nan=True)


@pytest.mark.parametrize("place", [parameter(place) for place in PLACES])
def test_drawn_calls_are_right(drawn_calls, place):
    random = np.random.default_rng()
    seed = int(random.integers(1 << 32))
    for call in drawn_calls.drawn(seed, examples(150), 1 << 8, 1 << 16):
        if call.dtype == "bfloat16":
            continue
        flat = random.integers(-3, 4, 2 * call.nbytes + 2)
        flat = (np.abs(flat) if call.dtype == "uint8" else flat).astype(call.dtype)
        x = drawn_calls.laid_out(flat, call)
        got = to_host(getattr(gred, call.op)(laid_out(x, place), axis=call.axis))
        assert is_right(call, np.asarray(got), x), (seed, call)
