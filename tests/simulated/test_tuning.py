"""What the default is on a device, whether every shape is right, and where constants come from."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from devices import everywhere, laid_out
from forcing import CONFIGURATIONS, forced
from reference import agrees, truth
from test_schedule import SHARED_MAX, STAGES, schedule

import gred


@everywhere
@pytest.mark.parametrize("name", CONFIGURATIONS["tuning"])
def test_every_shape_is_launched_and_right(place, name):
    block, elements = CONFIGURATIONS["tuning"][name]["shape"]
    with forced("tuning", name):
        a = laid_out(np.ones(block * elements * 2, np.float32), place)
        step = gred.explain(a, "sum").steps[0]
        assert (step.block_size, step.grid) == (block, 2)
        assert gred.explain(a, "sum", method="last_block").steps[0].block_size == 512
        for n in (1, 31, 1025, 4099, 40_001):
            whole = np.random.default_rng(n).integers(-9, 10, 2 * n)
            for dtype in ("int8", "float16", "float32", "int64", "complex128"):
                x = whole.astype(dtype)
                for view in (x[:n], x[::2]):
                    a = laid_out(view, place)
                    assert agrees(gred.sum(a), truth("sum", view)), (n, dtype)
                    assert gred.argmax(a) == np.argmax(view)
                    assert gred.count_nonzero(a) == np.count_nonzero(view)


# ---- chosen for devices that are not there ----


@pytest.mark.parametrize("method", ["bulk", "cluster"])
@pytest.mark.parametrize("n", [0, 1000])
def test_what_older_gpus_lack_is_refused_by_name(method, n):
    for capability, shown in ((75, "7.5"), (80, "8.0"), (89, "8.9")):
        needed = f"^method '{method}' needs a GPU of compute capability 9.0 or later"
        with pytest.raises(RuntimeError, match=f"{needed}; this one has {shown}$"):
            schedule(method, n, capability=capability)
        schedule("last_block", n, capability=capability)
    for capability in (0, 90, 100, 121):
        schedule(method, n, capability=capability)
    with pytest.raises(RuntimeError, match=r"9\.0 or later, and gred was built for earlier"):
        schedule(method, 1000, capability=90, compiled=False)


def first_pass(dtype, nbytes, accumulator=None, **options):
    """Give the default's first launch, on a GPU of 9.0 if no other is named."""
    accumulator = accumulator or ("int64" if dtype.startswith("int") else dtype)
    options = {"automatic": True, "capability": 90, **options}
    n = nbytes // np.dtype(dtype).itemsize
    plan = schedule("last_block", n, (dtype, accumulator, True), **options)
    return next(step for step in plan.steps if step.work == "pass")


def test_the_default_is_the_rung_that_is_fastest_on_the_device():
    def is_bulk(*arguments, **options):
        return first_pass(*arguments, **options).shared > STAGES

    n = 2**32
    for dtype in ("float32", "int32"):
        assert [is_bulk(dtype, size) for size in (2**16, 2**29, n)] == [False, False, True]
    for kind in (("int8", n, "int64"), ("int32", n, "float64"), ("complex64", n)):
        assert not is_bulk(*kind)
    for other in (
        *({"capability": 80}, {"capability": 0}, {"automatic": False}),
        *({"layout": "strided"}, {"reduction": "argmax"}, {"on_device": False}),
    ):
        assert not is_bulk("float32", n, **other)
    for block in (32, 256, 1024):  # the ring of bulk copies fits what every block may have
        (step,) = schedule("bulk", 2**40, block_size=block).chain("piece")
        assert STAGES < step.shared <= SHARED_MAX


@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("capability", [0, 75, 90])
def test_little_is_the_work_of_one_block_and_more_of_more(dtype, capability):
    launches = [
        first_pass(dtype, 1024 * kibibytes, capability=capability)
        for kibibytes in (1, 16, 512, 1024, 4096, 64 * 1024)
    ]
    assert {(step.block, step.grid) for step in launches[:2]} == {(256, 1)}
    blocks = [step.block * step.grid for step in launches]
    assert blocks == sorted(blocks)
    assert launches[2].grid >= (32 if capability == 90 else 2)


# ---- what constants follow from ----

ROOT = Path(__file__).parents[2]
# Of the rows in schedule/schedule.c and passes.c, the host's loops, and what a launch configuration
# chooses among, and of run/execute_keys.c; not of those constants.
OF_TABLES = {"whole_arrays", "host", "cases", "selection"}


def test_every_constant_names_a_measurement_which_is_a_table_and_every_measurement_is_named():
    text = (ROOT / "csrc/schedule/tuning.def").read_text()
    constants = re.findall(r'^[A-Z_]+\(\w+, [^"]*, "([\w/]+)"\)', text, re.MULTILINE)
    measured = {
        f"{path.stem}/{name}": entry
        for path in (ROOT / "benchmarks/tuning").glob("*.json")
        for name, entry in json.loads(path.read_text())["entries"].items()
    }
    assert len(constants) > 30
    assert {*constants} <= measured.keys()
    assert {entry.split("/")[0] for entry in measured.keys() - {*constants}} <= OF_TABLES
    for name, entry in measured.items():
        assert entry["unit"] in ("us", "1"), name
        assert max(map(len, entry["rows"].values())) == len(entry["columns"]), name
