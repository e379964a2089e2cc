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
    """Give the default's only launch, or its first, on a GPU of 9.0 if no other is named."""
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
    assert schedule("last_block", 0, automatic=True, capability=90).steps == []
    for block in (32, 256, 1024):  # the ring of bulk copies fits what every block may have
        (step,) = schedule("bulk", 2**40, block_size=block).chain("piece")
        assert STAGES < step.shared <= SHARED_MAX


@pytest.mark.parametrize(
    ("dtype", "alone"),
    [("int8", 16), ("int16", 64), ("float32", 128), ("float64", 128), ("complex128", 128)],
)
def test_the_defaults_shape_grows_with_the_bytes(dtype, alone):
    """One block as long as that is quicker on every GPU, then several, as one of 9.0 wants them."""

    def shape(kibibytes, capability=90):
        step = first_pass(dtype, int(kibibytes * 1024), capability=capability)
        return step.block, step.grid

    for capability in (0, 75, 90):
        assert {shape(size, capability) for size in (1 / 64, 16)} == {(256, 1)}
        assert shape(alone, capability)[1] == 1
    blocks = [shape(size)[1] for size in (1, 512, 1024, 4096, 64 * 1024)]
    assert blocks == sorted(blocks)
    assert blocks[1] >= 32


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
