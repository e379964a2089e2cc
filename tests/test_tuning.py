"""Every shape that tuning may choose gives the right answer, at lengths where tests are quick."""

import numpy as np
import pytest
from devices import everywhere, laid_out
from forcing import CONFIGURATIONS, forced
from reference import agrees, truth

import gred

LENGTHS = (1, 31, 1025, 4099, 40_001)


@pytest.fixture(params=CONFIGURATIONS["tuning"])
def shape(request):
    with forced("tuning", request.param):
        yield CONFIGURATIONS["tuning"][request.param]["shape"]


@everywhere
def test_every_shape_is_right(place, shape):
    for n in LENGTHS:
        whole = np.random.default_rng(n).integers(-9, 10, 2 * n)
        for dtype in ("int8", "float16", "float32", "int64", "complex128"):
            x = whole.astype(dtype)
            for view in (x[:n], x[::2]):
                a = laid_out(view, place)
                assert agrees(gred.sum(a), truth("sum", view)), (n, dtype)
                assert gred.argmax(a) == np.argmax(view)
                assert gred.count_nonzero(a) == np.count_nonzero(view)


@everywhere
def test_a_forced_shape_is_the_one_that_is_launched(place, shape):
    block, elements = shape
    a = laid_out(np.ones(block * elements * 2, np.float32), place)
    step = gred.explain(a, "sum").steps[0]
    assert (step.block_size, step.grid) == (block, 2)
    assert gred.explain(a, "sum", method="last_block").steps[0].block_size == 512
