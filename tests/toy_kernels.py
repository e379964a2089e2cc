"""Kernels of tests/kernels, compiled against the simulator alone."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
C_COMPILER = os.environ.get("CC", "gcc").split()
CXX_COMPILER = os.environ.get("CXX", "g++").split()
SIMULATOR = ("block", "checker", "counter", "fiber", "simulator", "words")


def toy_kernels(source: str, folder: Path) -> ctypes.CDLL:
    """Compile the simulator and a file of kernels into a library of their own, and load it."""
    if not shutil.which(C_COMPILER[0]) or not shutil.which(CXX_COMPILER[0]):
        pytest.skip("there is no C++ compiler here")
    objects = []
    for noun in SIMULATOR:
        objects.append(folder / f"{noun}.o")
        flags = [f"-I{ROOT / 'csrc'}", "-std=c11", "-O2", "-fPIC", "-c", "-o", objects[-1]]
        _compile(*C_COMPILER, *flags, ROOT / "csrc/simulated" / f"{noun}.c")
    library = folder / "kernels.so"
    flags = ["-std=c++17", "-O2", "-fPIC", "-shared", "-Wno-unknown-pragmas", "-o", library]
    flags += [f"-I{ROOT / 'csrc'}", f"-I{ROOT / 'kernels'}", "-x", "c++"]
    _compile(
        *(*CXX_COMPILER, *flags, ROOT / "tests/kernels" / source),
        *("-x", "none", *objects, "-lpthread"),
    )
    return ctypes.CDLL(str(library))


def _compile(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
