"""NumPy's own tests of these reductions pass with gred in the place of NumPy.

They are run from the installed NumPy by a pytest of its own, with the plugin numpy_with_gred.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy_with_gred import FILES, LEAST

NUMPY = Path(np.__file__).parent
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
are_there = all((NUMPY / file).exists() for file in FILES)


def run(arguments, plugin, folder):
    """Give the report of tests that run with the plugin, or with none, and those that failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", "--tb=short"]
    command += ["--assert=plain"]  # which compiles no test anew
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
    """No test fails that passes without gred; and gred is asked often enough for that to count."""
    tests = [f"{file}::{name}" for file, names in FILES.items() for name in names.split()]
    tests += [file for file, names in FILES.items() if not names]
    options = [f"--deselect={name}" for name in DESELECTED]
    tests = [str(NUMPY / test) for test in tests]
    report, suspects = run([*tests, *options], "numpy_with_gred", tmp_path)
    assert re.search(r"\d+ passed", report), report[-3000:]
    if suspects:
        guilty = sorted(set(suspects) - set(run(suspects, None, tmp_path)[1]))
        assert not guilty, f"{guilty}\n{report[-10000:]}"
    calls = json.loads((tmp_path / "calls").read_text(encoding="ascii"))
    assert all(calls.get(op, 0) >= least for op, least in LEAST.items()), calls
