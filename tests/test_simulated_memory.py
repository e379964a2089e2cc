"""The simulated memory's list of blocks is whole, whichever process and threads use it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
C_COMPILER = os.environ.get("CC", "gcc").split()
CHILDREN = 120


@pytest.mark.unsanitized  # their locks are not let go of in a child
@pytest.mark.skipif(not shutil.which(C_COMPILER[0]), reason="there is no C compiler here")
def test_a_forked_childs_threads_make_one_lock_between_them(tmp_path):
    """Without Python: its lock, where it has one, would keep the threads apart."""
    library = tmp_path / "memory.so"
    files = ["tests/native/forked_memory.c", "csrc/simulated/memory.c"]
    sources = [ROOT / file for file in files]
    flags = [f"-I{ROOT / 'csrc'}", "-std=c11", "-O2", "-fPIC", "-shared", "-o", library]
    subprocess.run([*C_COMPILER, *flags, *sources, "-lpthread"], check=True)
    code = f"import ctypes; print(ctypes.CDLL({str(library)!r}).fork_children({CHILDREN}))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert (done.stdout, done.returncode) == ("0\n", 0), done.stderr
