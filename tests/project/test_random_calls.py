"""Calls that the benchmark draws at random: others from other seeds, of any layout, and right."""

import numpy as np
import pytest
from along import wrong_along
from devices import PLACES, laid_out, parameter, to_host
from drawn import examples

import gred

pytestmark = pytest.mark.unsanitized


def test_a_seed_draws_calls_of_every_kind_and_no_larger_than_asked(benchmarks):
    drawn_calls = benchmarks.drawn_calls
    calls, again, other = (list(drawn_calls.drawn(s, 2000, 1 << 10, 1 << 24)) for s in (3, 3, 2))
    assert calls == again != other
    assert max(call.nbytes for call in calls) <= 1 << 24
    assert {len(call.shape) for call in calls} == set(drawn_calls.RANKS)
    assert {call.dtype for call in calls} == set(drawn_calls.TYPES)
    assert {call.op for call in calls} == set(drawn_calls.OPS)
    assert {call.layout for call in calls} == set(drawn_calls.LAYOUTS)
    assert any(n % 2 and n > 100 for call in calls for n in call.shape)


@pytest.mark.parametrize("place", [parameter(place) for place in PLACES])
def test_drawn_calls_are_right(benchmarks, place):
    """Of numbers from -3 to 3, whose sums are exact in any type."""
    random = np.random.default_rng()
    seed = int(random.integers(1 << 32))
    for call in benchmarks.drawn_calls.drawn(seed, examples(150), 1 << 8, 1 << 16):
        if call.dtype == "bfloat16":
            continue
        flat = random.integers(-3, 4, 2 * call.nbytes + 2)
        flat = np.where(flat < 0, -1, 1) if call.op == "prod" else flat
        flat = (np.abs(flat) if call.dtype == "uint8" else flat).astype(call.dtype)
        x = benchmarks.drawn_calls.laid_out(flat, call)
        got = to_host(getattr(gred, call.op)(laid_out(x, place), axis=call.axis))
        wrong = wrong_along(call.op, np.asarray(got), x, call.axis)
        assert not wrong, (seed, call, wrong)
