"""An array that is taken in pieces gives what it gives as a whole, whatever it is folded by."""

import contextlib

import numpy as np
import pytest
from devices import everywhere, laid_out, on
from inputs import methods_on
from samples import fetched
from thin import chosen

import gred

MASKS = {
    "flat": lambda drawn: drawn((6, 1000)),
    "a row for all rows": lambda drawn: np.broadcast_to(drawn(1000), (6, 1000)),
    "a column for all columns": lambda drawn: np.broadcast_to(drawn((6, 1)), (6, 1000)),
    "every third column": lambda drawn: drawn((6, 3000))[:, ::3],
    "backwards": lambda drawn: drawn((6, 1000))[::-1, ::-1],
    "transposed": lambda drawn: drawn((1000, 6)).T,
    "true in many ways": lambda drawn: (drawn((6, 1000)) * np.uint8(0xFE)).view(np.bool_),
}


@everywhere
@pytest.mark.parametrize("lies", ["here", "there"])
@pytest.mark.parametrize("mask", MASKS)
def test_a_hosts_mask_is_the_same_where_it_is_unpacked(mask, lies, place):
    """Any number of elements may be left for the last of the bytes that it comes in."""
    rng = np.random.default_rng(7)
    shown = MASKS[mask](lambda shape: rng.random(shape) < 0.3)
    x = rng.permutation(6000).reshape(6, 1000).astype("f4")
    for columns in (1, 7, 8, 9, 63, 999, 1000):
        part, hidden = x[:, :columns], shown[:, :columns].view(np.uint8) == 0
        if hidden.all():
            continue
        a = part if lies == "here" else laid_out(part, place)
        options = {"where": shown[:, :columns], **on(place)}
        expected = np.ma.array(part, mask=hidden)
        assert gred.argmax(a, **options) == expected.argmax()
        assert gred.count_nonzero(a, **options) == np.count_nonzero(part[~hidden])
        for method in ("last_block", "shuffle", "halving"):
            assert gred.sum(a, method=method, **options) == expected.sum()


@everywhere
@pytest.mark.parametrize("dtype", ["i4", "f8"])
@pytest.mark.parametrize("limit", [1, 256, 2**16, 2**30])
@pytest.mark.parametrize("n", [900, 50_003])
def test_pieces_make_what_the_whole_makes(n, limit, dtype, place):
    """Those that a mask hides wholly take no part; if all are hidden, the sum is of nothing."""
    x = np.random.default_rng(n).integers(-100, 100, 2 * n).astype(dtype)
    few, none = np.zeros((2, n), bool)
    few[n // 2 : n // 2 + 100] = True
    for y, a in ((x[:n], x[:n]), (x[::-2], x[::-2]), (x[::2], laid_out(x[::2], place))):
        at, out = (laid_out(np.zeros((), kind), place) for kind in ("i8", "f8"))
        with gred.workspace_limit(limit):
            gred.argmax(a, out=at)
            assert fetched(at, place) == y.argmax()
            assert gred.argmin(a, where=few, **on(place)) == n // 2 + y[few].argmin()
            for method in chosen(("auto", "exact", *methods_on(place)), n, limit, dtype):
                options = {"method": method, **on(place)}
                assert gred.sum(a, where=few, **options) == y[few].sum()
                assert gred.mean(a, **options) == pytest.approx(y.mean())
                for shown, right in ((few, y[few].sum()), (none, 0)):
                    assert gred.sum(a, where=shown, initial=5, out=out, **options) is out
                    assert fetched(out, place) == right + 5


def test_the_workspace_limit_ends_with_its_with_block():
    def pieces():
        return gred.explain(np.ones(5000), method="halving", device="simulated").pieces

    with gred.workspace_limit(4096), gred.workspace_limit(2**20):
        assert pieces() == 1
    with contextlib.suppress(ZeroDivisionError), gred.workspace_limit(4096):
        assert pieces() > 1
        raise ZeroDivisionError
    assert pieces() == 1
