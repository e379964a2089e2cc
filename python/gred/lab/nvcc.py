"""Find nvcc, which compiles rungs for a GPU, and its command line."""

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import gred

_REGISTERS = 64  # per thread, as for the ladder's rungs: allows blocks of 1024
_FLAGS = ("-x", "cu", "-std=c++17", "-O1", "-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden")
_WHEELS = "nvidia/cu13/bin/nvcc"
_ELSEWHERE = "/usr/local/cuda/bin/nvcc"


class Gpu(NamedTuple):
    """A GPU, and the nvcc that compiles for it."""

    name: str  # as device= spells it
    architecture: str
    nvcc: Path

    def command(self) -> list[str]:
        """Return nvcc's command for this GPU only, with the library path of CUDA wheels."""
        code = f"-gencode=arch=compute_{self.architecture},code=sm_{self.architecture}"
        libraries = f"-L{self.nvcc.parent.parent / 'lib'}"
        return [str(self.nvcc), *_FLAGS, f"-maxrregcount={_REGISTERS}", code, libraries]


def find(environment: Mapping[str, str], packages: Iterable[str]) -> Path | None:
    """Look for nvcc as gred's build does: in a toolkit, else in CUDA's wheels."""
    homes = (environment.get("CUDA_HOME"), environment.get("CUDA_PATH"))
    candidates = [Path(home, "bin", "nvcc") for home in homes if home]
    on_path = shutil.which("nvcc", path=environment.get("PATH"))
    candidates += [Path(on_path)] if on_path else []
    candidates += [Path(_ELSEWHERE), *(Path(folder, _WHEELS) for folder in packages)]
    return next((nvcc for nvcc in candidates if os.access(nvcc, os.X_OK)), None)


def gpu(device: str | None) -> Gpu | None:
    """Return the named GPU with nvcc, or raise; without a name the first GPU, or None."""
    nvcc = find(os.environ, sys.path)
    if device is None and nvcc:
        device = next((one.name for one in gred.devices() if one.name.startswith("cuda")), None)
    if device is None or device == "simulated":
        return None
    name = gred.launch_limit(device, samples=1).device
    if nvcc is None:
        raise RuntimeError(
            f"compiling a rung for a GPU needs nvcc, which was not found in CUDA_HOME, CUDA_PATH, "
            f"PATH, as {_ELSEWHERE}, or in CUDA's wheels; install a CUDA toolkit"
        )
    (found,) = (one for one in gred.devices() if one.name == name)
    return Gpu(name, found.compute_capability.replace(".", ""), nvcc)
