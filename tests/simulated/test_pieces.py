"""An array that is taken in pieces gives what it gives as a whole, whatever it is folded by."""

import contextlib

import numpy as np
import pytest

import gred
from gred.testing import SimulatedArray

MASKS = {
    "flat": lambda drawn: drawn((6, 1000)),
    "a row for all rows": lambda drawn: np.broadcast_to(drawn(1000), (6, 1000)),
    "a column for all columns": lambda drawn: np.broadcast_to(drawn((6, 1)), (6, 1000)),
    "every third column": lambda drawn: drawn((6, 3000))[:, ::3],
    "backwards": lambda drawn: drawn((6, 1000))[::-1, ::-1],
    "transposed": lambda drawn: drawn((1000, 6)).T,
    "true in many ways": lambda drawn: (drawn((6, 1000)) * np.uint8(0xFE)).view(np.bool_),
}


@pytest.mark.parametrize("place", ["host", "device"])
@pytest.mark.parametrize("mask", MASKS)
def test_a_hosts_mask_is_the_same_where_it_is_unpacked(mask, place):
    """Any number of elements may be left for the last of the bytes that it comes in."""
    rng = np.random.default_rng(7)
    shown = MASKS[mask](lambda shape: rng.random(shape) < 0.3)
    x = rng.permutation(6000).reshape(6, 1000).astype("f4")
    for columns in (1, 7, 8, 9, 63, 999, 1000):
        part, hidden = x[:, :columns], shown[:, :columns].view(np.uint8) == 0
        if hidden.all():
            continue
        a = part if place == "host" else SimulatedArray(part)
        options = {"where": shown[:, :columns], "device": "simulated"}
        expected = np.ma.array(part, mask=hidden)
        assert gred.argmax(a, **options) == expected.argmax()
        assert gred.count_nonzero(a, **options) == np.count_nonzero(part[~hidden])
        for method in ("last_block", "shuffle", "halving"):
            assert gred.sum(a, method=method, **options) == expected.sum()


@pytest.mark.parametrize("limit", [1, 256, 2**16, 2**30])
@pytest.mark.parametrize("n", [900, 50_003])
def test_positions_and_masks_are_those_of_the_whole_and_out_gets_the_result(n, limit):
    """Pieces that a mask hides wholly take no part, and if all are hidden the sum is of nothing."""
    x = np.random.default_rng(n).integers(-100, 100, n).astype("f8")
    few, place = np.zeros(n, bool), SimulatedArray(np.zeros(1, np.int64))
    few[n // 2 : n // 2 + 100] = True
    right = {True: x.sum(), False: 0}
    with gred.workspace_limit(limit):
        gred.argmax(x, out=place)
        at = gred.argmin(x, where=few, device="simulated")
        for method in ("auto", "last_block", "unroll8", "halving", "shuffle", "atomic", "exact"):
            options = {"method": method, "device": "simulated"}
            assert gred.sum(x, where=few, **options) == x[few].sum()
            for where in right:
                out = SimulatedArray(np.full((), 77.0))
                gred.sum(x, where=np.full(n, where), out=out, **options)
                assert out.get() == right[where]
    assert place.get()[0] == x.argmax()
    assert at == n // 2 + x[few].argmin()


def test_the_workspace_limit_ends_with_its_with_block():
    def pieces():
        return gred.explain(np.ones(5000), method="halving", device="simulated").pieces

    with gred.workspace_limit(4096), gred.workspace_limit(2**20):
        assert pieces() == 1
    with contextlib.suppress(ZeroDivisionError), gred.workspace_limit(4096):
        assert pieces() > 1
        raise ZeroDivisionError
    assert pieces() == 1
