"""NumPy's own tests of these reductions pass when gred replaces NumPy's functions.

The tests are those of the installed NumPy, run by a separate pytest with this module as a plugin.
`np.sum(a)`, `a.sum()`, `np.var`, `np.any`, `np.argmax`, `np.nansum`, `np.linalg.norm` and others
call gred where it takes the arguments: a plain array of a supported type, reduced as a whole or
along axes. Others (objects, subclasses with their own methods) stay NumPy's. At the end, the number
of gred's calls by reduction is written to the file named by GRED_CALLS.
"""

import contextlib
import functools
import inspect
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy._core import _methods, fromnumeric, multiarray
from numpy._globals import _NoValue

import gred

WITHOUT_NAN = ("nansum", "nanprod", "nanmin", "nanmax", "nanmean")
OF_METHODS = {name: f"_{name}" for name in ("sum", "prod", "mean", "any", "all", "var", "std")}
OF_METHODS |= {"ptp": "_ptp", "min": "_amin", "max": "_amax"}
# NumPy functions that take the name of a method, and the names that gred replaces.
BY_NAME = {"_wrapreduction": ("sum", "prod", "min", "max"), "_wrapfunc": ("argmin", "argmax")}
BY_NAME["_wrapreduction_any_all"] = ("any", "all")
# By file: the tests to run (all if empty). Then the least number of gred's calls over all files:
# fewer mean that NumPy no longer calls these functions.
FILES = {
    "_core/tests/test_multiarray.py": "TestStats TestMinMax TestBool TestClip TestArgmax TestArgmin"
    " TestArgmaxArgminCommon TestMethods::test_prod TestMethods::test_partition_fuzz",
    "_core/tests/test_numeric.py": "TestNonarrayArgs TestStdVar TestClip TestBoolScalar TestNonzero"
    " TestIsclose TestAllclose",
    "_core/tests/test_ufunc.py": "TestUfunc test_addition_reduce_negative_zero",
    "_core/tests/test_umath.py": "TestMaximum TestMinimum TestMinMax TestSpecialMethods",
    "_core/tests/test_regression.py": "",
    "lib/tests/test_function_base.py": "TestAmax TestAmin TestProd TestAverage TestCov TestMedian"
    " TestPtp TestTrapezoid TestFilterwindows",
    "lib/tests/test_nanfunctions.py": "TestSignatureMatch TestNanFunctions_MinMax"
    " TestNanFunctions_ArgminArgmax TestNanFunctions_NumberTypes TestNanFunctions_SumProd"
    " TestNanFunctions_MeanVarStd TestNanFunctions_Median",
    "linalg/tests/test_linalg.py": "TestNormDouble TestNormSingle TestNormInt64",
    "matrixlib/tests/test_defmatrix.py": "",
    "ma/tests/test_core.py": "TestMaskedArrayMathMethods",
}
LEAST = {"sum": 2000, "prod": 200, "min": 2000, "max": 2000, "mean": 200, "any": 2000, "all": 2000}
LEAST |= {"count_nonzero": 2000, "argmin": 200, "argmax": 200, "var": 50, "std": 50, "ptp": 5}
LEAST |= {"norm": 200, **dict.fromkeys(WITHOUT_NAN, 20)}
calls: Counter = Counter()


def array_of(a, method: str):
    """Return the plain array for an object, unless it has such a method of its own."""
    if type(a) is np.ndarray:
        return a
    plain = isinstance(a, list | tuple | int | float) and not hasattr(a, method)
    try:
        return np.asarray(a) if plain else None
    except (TypeError, ValueError):
        return None


def is_numpys_alone(name, a, ord=None, axis=None, dtype=None, **_):
    """Return whether gred differs by design: norms of matrices, variances of complex dtype."""
    if name == "norm":
        return a.ndim != 1 and (ord is not None if axis is None else isinstance(axis, tuple))
    return name in ("var", "std") and np.dtype(dtype).kind == "c"


def stand_in(original, op=None, taken=()):
    """Replace a NumPy function by gred's: for one op, or for the ops in `taken`, named by the call.

    What gred refuses is left to NumPy.
    """
    first, *names = inspect.signature(original).parameters

    @functools.wraps(original)
    def function(*arguments, **named):
        given = dict(zip((first, *names), arguments, strict=False)) | named
        a = given.pop(first)
        given.pop("ufunc", None)
        name = op or given.pop("method")
        found = array_of(a, name) if (op or name in taken) and "args" not in given else None
        options = {key: x for key, x in given.items() if x is not _NoValue}
        if found is not None and not is_numpys_alone(name, found, **options):
            with contextlib.suppress(TypeError, ValueError, IndexError, OverflowError):
                result = getattr(gred, name)(found, **options)
                calls[name] += 1
                return result
        return original(*arguments, **named)

    return function


def pytest_configure():
    """Replace the functions before any call, as NumPy's C code caches the first."""
    numpys_count = multiarray.count_nonzero
    multiarray.count_nonzero = stand_in(lambda a: numpys_count(a), "count_nonzero")
    for name, taken in BY_NAME.items():
        setattr(fromnumeric, name, stand_in(getattr(fromnumeric, name), taken=taken))
    for op, name in OF_METHODS.items():
        setattr(_methods, name, stand_in(getattr(_methods, name), op))
    for name in WITHOUT_NAN:
        setattr(np, name, stand_in(getattr(np, name), name))
    np.linalg.norm = stand_in(np.linalg.norm, "norm")


def pytest_runtest_setup(item):
    """Seed the tests that use random numbers."""
    np.random.seed(1)


def pytest_unconfigure():
    """Write the number of gred's calls."""
    if "GRED_CALLS" in os.environ:
        Path(os.environ["GRED_CALLS"]).write_text(json.dumps(calls), encoding="ascii")


# ---- the tests ----

NUMPY = Path(np.__file__).parent
NAN_FUNCTIONS = "lib/tests/test_nanfunctions.py"
# Tests of promises that only NumPy makes, with the reasons.
DESELECTED = {
    "_core/tests/test_ufunc.py::TestUfunc::test_sum": "counts the warnings of sums that overflow;"
    " gred does not look for what floats do on the way",
    "_core/tests/test_ufunc.py::TestUfunc::test_identityless_reduction_huge_array": "asks ufuncs"
    " themselves, of 2 GiB",
    "_core/tests/test_multiarray.py::TestBool::test_count_nonzero_all": "tries 2^17 arrays,"
    " which NumPy calls slow, where test_count_nonzero tries 2^12 of the same",
    "lib/tests/test_function_base.py::TestMedian::test_empty": "counts the warning that NumPy's"
    " division of 0 by 0 adds to the one of an empty mean",
    f"{NAN_FUNCTIONS}::TestNanFunctions_ArgminArgmax::test_empty": "reads NumPy's words",
    **{
        f"{NAN_FUNCTIONS}::TestNanFunctions_NumberTypes::test_nanfunc_ddof[{case}]": (
            "holds std of float32 against nanstd to more digits than it has; gred rounds once"
        )
        for case in ("nanstd-1d-f", "nanstd-1d-F")
    },
}
are_there = all((NUMPY / file).exists() for file in FILES)


def run(arguments, plugin, folder):
    """Run tests with or without the plugin; return the report and the tests that failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "--tb=short"]
    command += ["--assert=plain"]  # recompiles no test
    command += ["-c", os.devnull, "--rootdir", str(NUMPY), *(["-p", plugin] if plugin else [])]
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "GRED_CALLS": str(folder / "calls")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they take as long as most of its files
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    options = {"capture_output": True, "text": True, "timeout": 3600, "check": False}
    done = subprocess.run([*command, *arguments], cwd=folder, env=environment, **options)
    assert done.returncode in (0, 1), done.stdout[-5000:] + done.stderr[-5000:]
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - |$)", done.stdout, re.MULTILINE)
    return done.stdout, failed


@pytest.mark.unsanitized
@pytest.mark.skipif(not are_there, reason="this NumPy has no tests of its own")
def test_numpys_own_tests_pass_with_gred_in_its_place(tmp_path):
    """No test fails that passes without gred, and gred is called often enough."""
    tests = [f"{file}::{name}" for file, names in FILES.items() for name in names.split()]
    tests += [file for file, names in FILES.items() if not names]
    options = [f"--deselect={name}" for name in DESELECTED]
    tests = [str(NUMPY / test) for test in tests]
    report, suspects = run([*tests, *options], Path(__file__).stem, tmp_path)
    assert re.search(r"\d+ passed", report), report[-3000:]
    if suspects:
        guilty = sorted(set(suspects) - set(run(suspects, None, tmp_path)[1]))
        assert not guilty, f"{guilty}\n{report[-10000:]}"
    calls = json.loads((tmp_path / "calls").read_text(encoding="ascii"))
    assert all(calls.get(op, 0) >= least for op, least in LEAST.items()), calls
