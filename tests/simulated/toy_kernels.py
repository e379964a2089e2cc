"""C and C++ that tests compile: kernels of tests/kernels with only the simulator."""

import ctypes
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
C_COMPILER = os.environ.get("CC", "gcc").split()
CXX_COMPILER = os.environ.get("CXX", "g++").split()
SIMULATOR = ("block", "checker", "counter", "fiber", "simulator", "words")
SOURCES = ("common/failure", "common/processor", *(f"simulated/{noun}" for noun in SIMULATOR))
has_compiler = shutil.which(C_COMPILER[-1])
needs_compiler = pytest.mark.skipif(not has_compiler, reason="there is no C compiler here")


def build(target: Path, *words, compiler=C_COMPILER, standard="c11") -> str:
    """Compile and link, with csrc/ in the include path; return the errors, if any."""
    command = [*compiler, f"-I{ROOT / 'csrc'}", f"-std={standard}", *words, "-o", target]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


def library(target: Path, *words, **options) -> ctypes.CDLL:
    problem = build(target, "-O2", "-fPIC", "-shared", *words, "-lpthread", **options)
    assert not problem, problem
    return ctypes.CDLL(str(target))


def toy_kernels(source: str, folder: Path) -> ctypes.CDLL:
    """Compile the simulator and a file of kernels into a library."""
    if not has_compiler or not shutil.which(CXX_COMPILER[0]):
        pytest.skip("there is no C++ compiler here")
    objects = {noun: folder / f"{Path(noun).name}.o" for noun in SOURCES}
    python = f"-I{sysconfig.get_path('include')}"
    for noun, target in objects.items():
        problem = build(target, "-O2", "-fPIC", python, "-c", f"csrc/{noun}.c")
        assert not problem, problem
    words = ["-Ikernels", "-Itests/kernels", "-Wno-unknown-pragmas"]
    words += ["-x", "c++", f"tests/kernels/{source}", "-x", "none", *objects.values()]
    return library(folder / "kernels.so", *words, compiler=CXX_COMPILER, standard="c++17")
