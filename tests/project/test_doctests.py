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
from test_packaging import text_of
from written import check_examples, check_module

import gred

pytestmark = pytest.mark.unsanitized

# Modules that need libraries of their own; those of gred.torch are in tests/pytorch.
NEEDED = {"dask": "dask.array", "jax": "gred._jax", "mpi": "mpi4py", "torch": "torch"}
HERE = Path(gred.__file__).parent
MODULES = sorted(
    ".".join(("gred", *path.relative_to(HERE).with_suffix("").parts)).removesuffix(".__init__")
    for path in HERE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8") and path.stem != "docstrings"
)
PAGE = text_of("docs/from-numpy.md")
TEXTS = {"README.md": text_of("README.md"), "from-numpy.md": PAGE}
NAMES = {one.name for one in gred.reductions()} - {"describe"}
for name in ("dot", "nanvar", "nanstd", "nanargmin", "nanargmax", *sorted(NAMES)):
    TEXTS[name] = getattr(gred, name).__doc__


@pytest.mark.parametrize("name", [*TEXTS, *MODULES])
def test_examples_are_true(name):
    if name in TEXTS:
        check_examples(TEXTS[name], name, more_than=3 if name.endswith(".md") else 0)
    else:
        pytest.importorskip(NEEDED.get(f"{name}.".split(".")[1], "gred"))
        check_module(importlib.import_module(name))


LIBRARIES = {"np": (0, "numpy"), "cp": (1, "cupy"), "torch": (2, "torch")}
A = np.array([[3.0, 1.0, -2.0, 0.0], [6.0, -5.0, 4.0, 1.0], [2.0, 2.0, 7.0, -1.0]])
VALUES = {"a": A, "m": A > 0, "x": A[1], "bounds": np.array([0, 1, 3, 4]), "k": np.array([0, 1, 3])}
VALUES |= {"o": np.zeros(4), "g": np.array([0, 2, 0, 1])}
# The calls of each row: NumPy's, CuPy's, PyTorch's and gred's.
LINES = [line for line in PAGE.splitlines() if re.search(r"`gred\.\w+\(", line[1:])]
CELLS = [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in LINES]
ROWS = [row[:4] for row in CELLS if len(row) == 5]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_each_call_is_what_it_stands_for(library, row):
    place, name = LIBRARIES[library]
    if not row[place]:
        pytest.skip("the library has no such call")
    module = pytest.importorskip(name)
    names = {library: module, "gred": gred, "np": np}
    make = module.asarray
    if library == "torch" and module.cuda.is_available():
        make = lambda value: module.asarray(value, device="cuda")  # noqa: E731
    made = {name: make(value) for name, value in VALUES.items()}
    made["xs"] = [made["a"], made["x"]]
    expected, got = (to_host(eval(written, names, made)) for written in (row[place], row[3]))
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_the_table_has_every_reduction_and_nothing_that_is_not_there():
    shown = set(re.findall(r"gred\.(\w+)\(", PAGE))
    assert shown >= NAMES
    assert all(hasattr(gred, name) for name in shown)
    assert len(ROWS) > 25
    for numpys, _, _, own in ROWS:
        assert re.match(r"\(?np\.", numpys)
        assert inspect.isroutine(getattr(gred, re.match(r"gred\.(\w+)\(", own).group(1)))
    assert "`gred.DeviceArray`" in PAGE
