"""docs/from-numpy.md is true: its examples, and each row of its table in every library here."""

import doctest
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import gred

PAGE = Path(__file__).parent.parent / "docs" / "from-numpy.md"
TEXT = PAGE.read_text(encoding="utf-8")
LIBRARIES = {"np": 0, "cp": 1, "torch": 2}
MODULES = {"np": "numpy", "cp": "cupy", "torch": "torch"}
A = np.array([[3.0, 1.0, -2.0, 0.0], [6.0, -5.0, 4.0, 1.0], [2.0, 2.0, 7.0, -1.0]])


def rows():
    """List the calls of each row: NumPy's, CuPy's, PyTorch's and gred's."""
    lines = [line for line in TEXT.splitlines() if re.search(r"`gred\.\w+\(", line[1:])]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [[cell.strip("`") for cell in row[:4]] for row in cells if len(row) == 5]


def places(library, module):
    """Make what the calls are about, as the library has it."""
    values = {
        "bounds": np.array([0, 1, 3, 4]),
        "a": A,
        "m": A > 0,
        "x": A[1],
        "k": np.array([0, 1, 3]),
        "o": np.zeros(4),
    }
    if library == "np":
        return values
    if library == "cp":
        return {name: module.asarray(value) for name, value in values.items()}
    return {name: module.from_numpy(value.copy()).cuda() for name, value in values.items()}


def host(value):
    """Bring results to the host, whosever they are."""
    if isinstance(value, tuple):
        return [host(one) for one in value]
    value = value.cpu() if hasattr(value, "cpu") else value
    return value.get() if hasattr(value, "get") else np.asarray(value)


def test_its_examples_are_true():
    results = doctest.testfile(str(PAGE), module_relative=False)
    assert results.attempted > 3
    assert results.failed == 0


def test_it_has_every_reduction():
    shown = set(re.findall(r"gred\.(\w+)\(", TEXT))
    assert shown >= {one.name for one in gred.reductions()} - {"describe"}
    assert all(hasattr(gred, name) for name in shown)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[3])
@pytest.mark.parametrize("library", LIBRARIES)
def test_each_call_is_what_it_stands_for(library, row):
    written, own = row[LIBRARIES[library]], row[3]
    if not written:
        pytest.skip("the library has no such call")
    module = np if library == "np" else pytest.importorskip(MODULES[library])
    if library == "torch" and not module.cuda.is_available():
        pytest.skip("this PyTorch has no GPU")
    names = {library: module, "gred": gred, "np": np}
    expected = host(eval(written, names, places(library, module)))
    got = host(eval(own, names, places(library, module)))
    np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_a_librarys_whole_rows_are_calls():
    """Nothing in the table is a call of something that gred or NumPy does not have."""
    assert len(rows()) > 25
    for numpys, _, _, own in rows():
        assert re.match(r"\(?np\.", numpys)
        name = re.match(r"gred\.(\w+)\(", own).group(1)
        assert inspect.isroutine(getattr(gred, name))


def test_what_comes_out_is_named_as_it_is():
    assert "`gred.DeviceArray`" in TEXT
    assert importlib.import_module("gred.device_array").DeviceArray is gred.DeviceArray
