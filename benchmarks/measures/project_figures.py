"""How long it takes to import, to build and to test the project."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from measures.figure import Figure, figure
from measures.timing import cores

ROOT = Path(__file__).resolve().parent.parent.parent
IMPORT_TARGET = 0.030
IMPORT_RUNS = 31
# GRED_CUDA_ARCHS, seconds on two cores, and bytes of the extension: without CUDA, as PTX, for one
# architecture, and for every major one.
BUILDS = {
    "none": ("none", 45.0, None),
    "ptx": ("ptx", 120.0, None),
    "one": ("90", 90.0, None),
    "all": ("all", None, 35e6),
}
TESTS_TARGET = 180.0


def measure_import() -> Iterator[Figure]:
    """Measure `import gred` over `import numpy`: fresh processes, turn about."""
    taken: dict[str, list[float]] = {"numpy": [], "gred": []}
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    for run in range(IMPORT_RUNS + 1):
        for module in ("numpy", "gred") if run % 2 else ("gred", "numpy"):
            command = [sys.executable, "-c", code.format(module)]
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            if run:
                taken[module].append(float(answer.stdout))
    base = float(np.median(taken["numpy"]))
    over = [seconds - base for seconds in taken["gred"]]
    yield figure("import numpy", taken["numpy"], "s")
    yield figure("import gred, over import numpy", over, "s", at_most=IMPORT_TARGET)


def measure_build(
    architectures: str, seconds: float | None, nbytes: float | None
) -> Iterator[Figure]:
    """Build a wheel from a clean copy on two cores, without downloads; weigh its extension."""
    what = f"build, architectures: {architectures}, 2 cores"
    taken, built = build(architectures)
    yield figure(what, [taken], "s", at_most=seconds)
    what = f"extension, architectures: {architectures}"
    yield figure(what, [built / 1e6], "MB", at_most=nbytes and nbytes / 1e6)


def build(architectures: str) -> tuple[float, int]:
    """Build once: the seconds that it takes, and the bytes of the extension."""
    options_of_pip = ("--quiet", "--no-deps", "--no-cache-dir", "--no-build-isolation")
    left_behind = shutil.ignore_patterns(".*", "build", "dist", "*.so", "*.egg-info", "__pycache__")
    environment = {**os.environ, "GRED_CUDA_ARCHS": architectures}
    with tempfile.TemporaryDirectory() as folder, cores(2):
        source = shutil.copytree(ROOT, Path(folder, "source"), ignore=left_behind)
        command = [sys.executable, "-m", "pip", "wheel", *options_of_pip, "-w", folder, source]
        start = time.perf_counter()
        subprocess.run(command, check=True, env=environment)
        seconds = time.perf_counter() - start
        with zipfile.ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            extensions = [one for one in wheel.infolist() if one.filename.endswith(".so")]
            return seconds, sum(one.file_size for one in extensions)


def measure_tests() -> Iterator[Figure]:
    with cores(2):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=ROOT, check=True)
        seconds = time.perf_counter() - start
    yield figure("pytest, 2 cores", [seconds], "s", at_most=TESTS_TARGET)


PIECES = {name: partial(measure_build, *built) for name, built in BUILDS.items()}
