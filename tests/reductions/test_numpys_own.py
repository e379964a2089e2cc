"""NumPy's own tests of these reductions pass with gred in the place of NumPy.

They are run from the installed NumPy by a pytest of its own, with the plugin numpy_with_gred.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
NUMPY = Path(np.__file__).parent
# By words, or, where collecting the whole file takes longer than running these, by names.
FILES = {
    "_core/tests/test_multiarray.py": (
        *("TestStats", "TestMinMax", "TestBool", "TestClip", "TestArgmaxArgminCommon"),
        *("TestArgmax", "TestArgmin", "TestMethods::test_prod", "TestMethods::test_partition_fuzz"),
    ),
    "_core/tests/test_numeric.py": "TestNonarrayArgs or TestStdVar or TestClip or TestBoolScalar"
    " or TestNonzero or TestIsclose or TestAllclose",
    "_core/tests/test_ufunc.py": "reduc or sum or TestUfunc or negative_zero or where",
    "_core/tests/test_umath.py": "TestMaximum or TestMinimum or TestMinMax or reduc or TestAdd"
    " or TestSpecialMethods or complex_nan_comparisons",
    "_core/tests/test_regression.py": "",
    "lib/tests/test_function_base.py": "TestAmax or TestAmin or TestProd or TestAverage or TestCov"
    " or TestMedian or TestPtp or TestTrapezoid or TestFilterwindows",
    "lib/tests/test_nanfunctions.py": "not Percentile and not Quantile",
    "linalg/tests/test_linalg.py": "TestNorm",
    "matrixlib/tests/test_defmatrix.py": "",
    "ma/tests/test_core.py": "TestMaskedArrayMathMethods or sum or mean or min or max",
}
NAN_FUNCTIONS = "lib/tests/test_nanfunctions.py"
# What is NumPy's promise and not gred's, each with its reason.
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
# What these files make of gred at least; less means that NumPy does not come by.
CALLS = {
    "_core/tests/test_multiarray.py": {"prod": 8, "min": 500, "max": 500, "mean": 30, "var": 5},
    "_core/tests/test_numeric.py": dict.fromkeys(("sum", "min", "max", "any", "all"), 20)
    | {"prod": 100, "count_nonzero": 20, "var": 5, "std": 5},
    "_core/tests/test_ufunc.py": {"sum": 100, "prod": 100},
    "_core/tests/test_umath.py": {"min": 1000, "max": 1000},
    "lib/tests/test_function_base.py": {"sum": 80, "mean": 30, "ptp": 2},
    "lib/tests/test_nanfunctions.py": {"nansum": 5, "nanprod": 5, "nanmin": 5, "nanmean": 5},
    "linalg/tests/test_linalg.py": {"norm": 50},
    "ma/tests/test_core.py": {"sum": 50, "min": 50, "max": 50},
}

pytestmark = pytest.mark.unsanitized
there = pytest.mark.skipif(
    not all((NUMPY / file).exists() for file in FILES), reason="this NumPy has no tests of its own"
)


def run(arguments, plugin, folder):
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "--tb=short"]
    command += ["--assert=plain"]  # which compiles no test anew
    command += ["-c", os.devnull, "--rootdir", str(NUMPY), *(["-p", plugin] if plugin else [])]
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "GRED_CALLS": str(folder / "calls")}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they take as long as most of its files
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    done = subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
        cwd=folder,
        env=environment,
    )
    assert done.returncode in (0, 1), done.stdout[-5000:] + done.stderr[-5000:]
    return done.stdout


def failed(report):
    return re.findall(r"^(?:FAILED|ERROR) (\S+::.*?)(?: - |$)", report, re.MULTILINE)


@there
@pytest.mark.parametrize("file", FILES, ids=lambda file: Path(file).stem)
def test_numpys_own_tests_pass_with_gred_in_its_place(file, tmp_path):
    """No test fails that passes without gred; and gred is asked often enough for that to count."""
    skipped = [name for name in DESELECTED if name.startswith(file)]
    options = [f"--deselect={name}" for name in skipped]
    path, chosen = NUMPY / file, FILES[file]
    whole = [str(path), "-k", chosen] if isinstance(chosen, str) else None
    tests = whole or [f"{path}::{name}" for name in chosen]
    report = run([*tests, *options], "numpy_with_gred", tmp_path)
    assert re.search(r"\d+ passed", report), report[-3000:]
    suspects = failed(report)
    if suspects:
        guilty = sorted(set(suspects) - set(failed(run(suspects, None, tmp_path))))
        assert not guilty, f"{guilty}\n{report[-10000:]}"
    counted = (tmp_path / "calls").read_text(encoding="ascii").split()
    calls = dict(zip(counted[::2], map(int, counted[1::2]), strict=True))
    for op, least in CALLS.get(file, {}).items():
        assert calls.get(op, 0) >= least, calls
