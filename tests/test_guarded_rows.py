"""Slices are read from their first element to their last, and nowhere else."""

import subprocess
import sys
from pathlib import Path

import gred


def test_nothing_in_front_of_a_slice_or_behind_it_is_read():
    assert gred.__file__
    child = subprocess.run(
        [sys.executable, Path(__file__).with_name("guarded_rows.py")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (child.returncode, child.stdout) == (0, "all right\n"), child.stderr
