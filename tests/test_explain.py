"""What gred.explain says of a call is what the call does, said without anything being run."""

import subprocess
import sys

import numpy as np
import pytest
from inputs import methods_on

import gred
from gred import _core
from gred.testing import SimulatedArray

X = np.arange(100_003, dtype=np.float32)
RUNGS = methods_on("simulated")


def passes(plan):
    return [step for step in plan.steps if step.work.startswith("pass")]


@pytest.mark.parametrize("method", RUNGS)
@pytest.mark.parametrize("block", [32, 512])
def test_what_is_explained_is_what_a_measurement_finds(method, block):
    """A measurement is of the real launches."""
    for x in (X, X[:7], X[::3]):
        options = {"method": method, "block_size": block, "device": "simulated"}
        plan = gred.explain(x, "sum", **options)
        timed = gred.kernel_time(x, "sum", **options, samples=1, warmup=0)
        assert len(passes(plan)) == timed.passes
        assert passes(plan)[0].grid == timed.grid
        assert passes(plan)[0].block_size == timed.block_size == block


@pytest.mark.parametrize("method", RUNGS)
def test_a_call_needs_no_more_than_the_explained_workspace(method):
    """With that as its limit an array is not cut, and with a byte less it is."""
    whole = gred.explain(X, method=method, device="simulated")
    with gred.workspace_limit(whole.workspace_nbytes):
        assert gred.explain(X, method=method, device="simulated").pieces == 1
    with gred.workspace_limit(whole.workspace_nbytes - 1):
        assert gred.explain(X, method=method, device="simulated").pieces > 1
        assert gred.sum(X, method=method, device="simulated", dtype=np.float64) == X.sum(
            dtype=float
        )


def test_where_a_call_runs_has_a_reason():
    there = SimulatedArray(X)
    out = SimulatedArray(np.zeros(1, np.float32))
    for plan, device, why in (
        (gred.explain(X), "host", "nothing else"),
        (gred.explain(X, method="recursive"), "host", "the method"),
        (gred.explain(X, device="host"), "host", "device="),
        (gred.explain(X, device="simulated"), "simulated", "device="),
        (gred.explain(there), "simulated", "the array lies there"),
        (gred.explain(X, out=out), "simulated", "out lies there"),
    ):
        assert plan.device == device
        assert why in plan.why


def test_the_form_of_an_array_is_told():
    grid = SimulatedArray(X[:100_000].reshape(100, 1000))
    mask = np.arange(1000) % 3 > 0
    for x, options, word in (
        (grid, {}, "one after the other"),
        (grid[:, ::2], {}, "rows"),
        (grid[:, ::2], {"method": "unroll8"}, "one by one"),
        (grid, {"where": mask, "method": "shuffle"}, "one by one"),
        (grid, {"dtype": np.int8}, "one by one"),
    ):
        plan = gred.explain(x, "sum", **options)
        assert word in plan.array
    assert gred.explain(X, device="simulated").array.startswith("uploaded")
    assert not gred.explain(grid).array.startswith("uploaded")


def test_the_hosts_loops_are_told():
    assert "as it lies, in chunks of 4,096" in gred.explain(X).array
    assert "gathered" in gred.explain(X[::2]).array
    assert "converted" in gred.explain(X, dtype=np.int8).array
    plan = gred.explain(X, method="recursive")
    assert "copied" in plan.array
    assert plan.workspace_nbytes == X.nbytes


@pytest.mark.parametrize("reduction", [name for name, *_ in _core.reductions()])
def test_every_reduction_is_explained(reduction):
    for x in (X, X[::2], SimulatedArray(X)):
        plan = gred.explain(x, reduction)
        assert plan.reduction == reduction
        assert plan.size == x.shape[0]
        assert repr(plan)


def test_what_a_call_refuses_an_explanation_refuses():
    with pytest.raises(ValueError, match="'unroll9'"):
        gred.explain(X, method="unroll9")
    with pytest.raises(ValueError, match="op must be"):
        gred.explain(X, "summ")
    with pytest.raises(ValueError, match="no value"):
        gred.explain(X[:0], "max")
    with pytest.raises(TypeError, match="object"):
        gred.explain(np.array([None]))


def test_a_view_of_any_length_has_a_grid_where_grids_do_not_grow():
    """2**46 elements would take hours, so they are only explained."""
    one = SimulatedArray(np.ones(1, np.int8))
    endless = one.described(shape=(2**46,), strides=(0,))
    assert passes(gred.explain(endless))[0].grid >= 1
    assert passes(gred.explain(endless, method="shuffle"))[0].grid >= 1
    for explained in (gred.explain, gred.sum):
        with pytest.raises(ValueError, match="larger block_size"):
            explained(endless, method="shared_modulo", block_size=32)


def test_nothing_is_run():
    """Memory that may not be read is explained all the same, and nothing is written."""
    unread = np.lib.stride_tricks.as_strided(X, (2**40,), (0,))
    assert gred.explain(unread).size == 2**40
    assert gred.explain(unread, device="simulated").pieces > 1
    out = SimulatedArray(np.full(1, -1.0, np.float32))
    for op, last in (("sum", "pass 1"), ("var", "finish")):
        plan = gred.explain(SimulatedArray(X), op, out=out)
        assert out.get()[0] == -1
        assert plan.steps[-1].work == last
        assert "out" in plan.result


def test_no_gpu_is_looked_for_where_none_is_needed():
    """CUDA would leave its libraries' mark on the process."""
    code = (
        "import gred, numpy as np\n"
        "gred.explain(np.ones(10))\n"
        "gred.explain(np.ones(10), method='unroll8', device='simulated')\n"
        "print('libcuda' in open('/proc/self/maps').read())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_an_explanation_prints_as_text_and_tables():
    plan = gred.explain(X, "sum", method="unroll8", device="simulated")
    text, html = repr(plan), plan._repr_html_()
    for word in ("unroll8", "simulated", "pass 1", "working copy", "partials", "100,003"):
        assert word in text
        assert word in html
    assert all(line == line.rstrip() for line in text.splitlines())
    with gred.workspace_limit(2**16):
        assert "each piece: pass 1" in repr(gred.explain(X, method="unroll8", device="simulated"))


def test_nothing_of_an_empty_array_is_run():
    plan = gred.explain(X[:0])
    assert "nothing is run" in repr(plan)
    assert plan.steps == ()
