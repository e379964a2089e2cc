"""What the README, docstrings and docs/from-numpy.md show is what happens.

Each row of that page's table is also called in every library that is here.
"""

import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from devices import to_host
from written import check_examples, check_module

import gred

pytestmark = pytest.mark.unsanitized

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/from-numpy.md").read_text(encoding="utf-8")
# Modules that need libraries of their own; those of gred.torch are in tests/pytorch.
NEEDED = {"dask": "dask.array", "jax": "gred._jax", "mpi": "mpi4py", "torch": "torch"}
HERE = Path(gred.__file__).parent
MODULES = sorted(
    ".".join(("gred", *path.relative_to(HERE).with_suffix("").parts)).removesuffix(".__init__")
    for path in HERE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8") and path.stem != "docstrings"
)
TEXTS = {"README.md": (ROOT / "README.md").read_text(encoding="utf-8"), "from-numpy.md": PAGE}
NAMES = [one.name for one in gred.reductions() if one.name != "describe"]
TEXTS |= {
    name: getattr(gred, name).__doc__
    for name in ("dot", "nanvar", "nanstd", "nanargmin", "nanargmax", *NAMES)
}
LIBRARIES = {"np": (0, "numpy"), "cp": (1, "cupy"), "torch": (2, "torch")}
A = np.array([[3.0, 1.0, -2.0, 0.0], [6.0, -5.0, 4.0, 1.0], [2.0, 2.0, 7.0, -1.0]])


@pytest.mark.parametrize("name", TEXTS)
def test_the_examples_of_pages_and_of_the_cores_docstrings_are_true(name):
    check_examples(TEXTS[name], name, more_than=3 if name.endswith(".md") else 0)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_python_docstrings_are_true(name):
    pytest.importorskip(NEEDED.get(f"{name}.".split(".")[1], "gred"))
    check_module(importlib.import_module(name))


def rows():
    """List the calls of each row: NumPy's, CuPy's, PyTorch's and gred's."""
    lines = [line for line in PAGE.splitlines() if re.search(r"`gred\.\w+\(", line[1:])]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [[cell.strip("`") for cell in row[:4]] for row in cells if len(row) == 5]


def places(library, module):
    """Make what the calls are about, as the library has it."""
    place = "cuda" if library == "torch" and module.cuda.is_available() else "cpu"
    values = {
        "bounds": np.array([0, 1, 3, 4]),
        "k": np.array([0, 1, 3]),
        "o": np.zeros(4),
        "g": np.array([0, 2, 0, 1]),
    }
    values |= {"a": A, "m": A > 0, "x": A[1]}
    makes = {
        "np": lambda value: value,
        "cp": lambda value: module.asarray(value),
        "torch": lambda value: module.tensor(value, device=place),
    }
    made = {name: makes[library](value) for name, value in values.items()}
    return made | {"xs": [makes[library](A), makes[library](A[1])]}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_each_call_is_what_it_stands_for(library, row):
    place, name = LIBRARIES[library]
    written, own = row[place], row[3]
    if not written:
        pytest.skip("the library has no such call")
    module = pytest.importorskip(name)
    names = {library: module, "gred": gred, "np": np}
    expected = to_host(eval(written, names, places(library, module)))
    got = to_host(eval(own, names, places(library, module)))
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_the_table_has_every_reduction_and_nothing_that_is_not_there():
    shown = set(re.findall(r"gred\.(\w+)\(", PAGE))
    assert shown >= {one.name for one in gred.reductions()} - {"describe"}
    assert all(hasattr(gred, name) for name in shown)
    assert len(rows()) > 25
    for numpys, _, _, own in rows():
        assert re.match(r"\(?np\.", numpys)
        assert inspect.isroutine(getattr(gred, re.match(r"gred\.(\w+)\(", own).group(1)))
    assert "`gred.DeviceArray`" in PAGE
    assert importlib.import_module("gred.device_array").DeviceArray is gred.DeviceArray
