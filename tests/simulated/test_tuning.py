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


# ---- chosen for devices that are not there ----


@pytest.mark.parametrize("method", ["bulk", "cluster"])
@pytest.mark.parametrize("n", [0, 1000])
def test_what_older_gpus_lack_is_refused_by_name(method, n):
    for capability, shown in ((75, "7.5"), (80, "8.0"), (89, "8.9")):
        needed = f"method '{method}' needs a GPU of compute capability 9.0 or later"
        with pytest.raises(RuntimeError) as raised:
            schedule(method, n, capability=capability)
        assert str(raised.value) == f"{needed}; this one has {shown}"
        schedule("last_block", n, capability=capability)
    for capability in (0, 90, 100, 121):
        schedule(method, n, capability=capability)
    with pytest.raises(RuntimeError, match=r"9\.0 or later, and gred was built for earlier"):
        schedule(method, 1000, capability=90, compiled=False)


A_BLOCK = 512 * 8


@pytest.mark.parametrize(
    ("n", "multiprocessors", "expected"),
    [
        *[(1, 132, (1, 1)), (3 * A_BLOCK, 132, (3, 3)), (8 * A_BLOCK, 132, (8, 8))],
        *[(64 * A_BLOCK, 132, (8, 8)), (64 * A_BLOCK, 1, (8, 8)), (64 * A_BLOCK + 1, 132, (66, 2))],
        *[(2**40, 132, (264, 2)), (2**40, 1, (2, 2)), (2**40, 17, (34, 2))],
    ],
)
def test_few_blocks_are_one_cluster_and_many_are_pairs(n, multiprocessors, expected):
    plan = schedule("cluster", n, multiprocessors=multiprocessors, block_size=512)
    (step,) = plan.chain("piece")
    assert (step.grid, step.cluster) == expected


def chosen(nbytes, kind=("float32", "float32", True), **options):
    n = nbytes // np.dtype(kind[0]).itemsize
    options = {"automatic": True, "capability": 90, **options}
    step, *_ = (s for s in schedule("last_block", n, kind, **options).steps if s.work == "pass")
    return "bulk" if step.shared > STAGES else "last_block"


def test_the_default_is_the_rung_that_is_fastest_on_the_device():
    for kind in (("float32", "float32", True), ("int32", "int64", True)):
        assert [chosen(n, kind) for n in (2**16, 2**29, 2**32)] == ["last_block"] * 2 + ["bulk"]
    n = 2**32
    assert chosen(n, capability=80) == chosen(n, capability=0) == "last_block"
    assert chosen(n, automatic=False) == "last_block"
    for given, accumulator in (("int8", "int64"), ("int32", "float64"), ("complex64",) * 2):
        assert chosen(n, (given, accumulator, True)) == "last_block"
    for other in ({"layout": "strided"}, {"reduction": "argmax"}, {"on_device": False}):
        assert chosen(n, **other) == "last_block"
    assert schedule("last_block", 0, automatic=True, capability=90).steps == []


KIB = 1 << 10
WIDTHS = {"int8": 1, "int16": 2, "float32": 4, "float64": 8, "complex128": 16}


def launched(dtype, nbytes, capability=90):
    """Give threads a block and blocks of the default's only launch, or of its first."""
    kind = (dtype, "int64" if dtype.startswith("int") else dtype, True)
    options = {"automatic": True, "capability": capability}
    plan = schedule("last_block", nbytes // WIDTHS[dtype], kind, **options)
    step = next(s for s in plan.steps if s.work == "pass")
    return step.block, step.grid


@pytest.mark.parametrize("dtype", WIDTHS)
def test_the_defaults_shape_grows_with_the_bytes(dtype):
    """One block as long as that is quicker on every GPU, then several, as one of 9.0 wants them."""
    width = WIDTHS[dtype]
    alone = 16 * KIB if width == 1 else 64 * KIB if width == 2 else 128 * KIB
    for capability in (0, 75, 90):
        assert launched(dtype, 16, capability) == launched(dtype, 16 * KIB, capability) == (256, 1)
        assert launched(dtype, alone, capability)[1] == 1
    blocks = [launched(dtype, size * KIB)[1] for size in (1, 512, 1024, 4096, 64 * KIB)]
    assert blocks == sorted(blocks)
    assert blocks[1] >= 32


def test_where_nothing_was_measured_the_default_has_its_methods_shape():
    assert launched("float32", 1024 * KIB, capability=80) == (512, 16)
    assert launched("float32", 1024 * KIB, capability=90) == (256, 64)
    for block in (32, 256, 1024):  # the ring of bulk copies fits what every block may have
        (step,) = schedule("bulk", 2**40, block_size=block).chain("piece")
        assert STAGES < step.shared <= SHARED_MAX


# ---- what constants follow from ----

ROOT = Path(__file__).parents[2]
MEASURED = ROOT / "benchmarks/tuning"
# Of the rows in schedule/schedule.c and passes.c, the host's loops, and what a launch configuration
# chooses among, and of run/execute_keys.c; not of those constants.
OF_TABLES = {"whole_arrays", "host", "cases", "selection"}


def entries():
    """List all measurements as file/entry, with what each has."""
    return {
        f"{path.stem}/{name}": entry
        for path in sorted(MEASURED.glob("*.json"))
        for name, entry in json.loads(path.read_text())["entries"].items()
    }


def constants():
    """List (constant, entry) of the table of constants."""
    text = (ROOT / "csrc/schedule/tuning.def").read_text()
    return re.findall(r'^[A-Z_]+\((\w+), [^"]*, "([\w/]+)"\)', text, re.MULTILINE)


def test_every_constant_names_a_measurement_which_is_a_table_and_every_measurement_is_named():
    named, measured = {entry for _, entry in constants()}, entries()
    assert len(constants()) > 30
    assert named <= measured.keys()
    assert {entry.split("/")[0] for entry in measured.keys() - named} <= OF_TABLES
    for name, entry in measured.items():
        assert entry["unit"] in ("us", "1"), name
        widths = {len(row) for row in entry["rows"].values()}
        assert max(widths) == len(entry["columns"]), name
