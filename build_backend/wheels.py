"""CUDA's compiler as wheels, required for a build if there is a driver but no nvcc.

Only CUDA 13 has all of it: the wheels of CUDA 12 have parts of nvcc, but not nvcc. They unpack into
one folder with a toolkit's layout. The first three must have the same version; what they compile
runs with every driver of CUDA 13 and later.
"""

import ctypes
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

VERSION = (13, 0)
WHEELS = [
    "nvidia-cuda-nvcc==13.0.88",
    "nvidia-nvvm==13.0.88",
    "nvidia-cuda-crt==13.0.88",
    "nvidia-cuda-runtime==13.0.*",
    "nvidia-cuda-cccl==13.0.*",
]
FOLDER = Path("nvidia", "cu13")
ONE_OF_EACH = (
    "bin/nvcc",
    "nvvm/bin/cicc",
    "include/crt/host_config.h",
    "lib/libcudart_static.a",
    "include/nv/target",
)


def wants_cuda(environment: Mapping[str, str]) -> bool:
    """Return whether to build for GPUs, which sanitizers rule out."""
    return environment.get("GRED_CUDA_ARCHS") != "none" and not environment.get("GRED_SANITIZE")


def wants_wheels(environment: Mapping[str, str]) -> bool:
    """Return whether GRED_CUDA requires the wheels, also without a driver or with another nvcc."""
    asked = environment.get("GRED_CUDA", "")
    if asked not in ("", "wheels"):
        sys.exit(
            f"gred: GRED_CUDA={asked!r} is not understood: 'wheels' takes CUDA's compiler from its "
            "wheels; leave it out to take the nvcc that is there, or the wheels if there is a "
            "driver and no nvcc; GRED_CUDA_ARCHS=none builds without CUDA"
        )
    return asked == "wheels" and wants_cuda(environment)


def requirements(
    environment: Mapping[str, str], nvcc: Path | None, driver: tuple[int, int] | None
) -> list[str]:
    """Return the wheels that a build needs, if any.

    `nvcc` is a toolkit's; `driver` is the CUDA version that the driver supports.
    """
    if wants_wheels(environment):
        return WHEELS
    runs_it = driver is not None and driver >= VERSION
    return WHEELS if wants_cuda(environment) and nvcc is None and runs_it else []


def installed_nvcc(folders: Iterable[str]) -> Path | None:
    """Find nvcc in package folders that have a file of each wheel it needs."""
    for folder in folders:
        root = Path(folder, FOLDER)
        if all((root / name).exists() for name in ONE_OF_EACH):
            return root / "bin" / "nvcc"
    return None


def driver_version() -> tuple[int, int] | None:
    """Return the CUDA version that the driver supports, or None without a driver."""
    try:
        version = ctypes.c_int()
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version)) == 0:
            return version.value // 1000, version.value % 1000 // 10
    except (OSError, AttributeError):
        pass
    return version_of_smi()


def version_of_smi() -> tuple[int, int] | None:
    """Return nvidia-smi's answer, as a driver's library may be in an unusual folder."""
    try:
        shown = subprocess.run(["nvidia-smi"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r"CUDA Version: *(\d+)\.(\d+)", shown)
    return (int(found[1]), int(found[2])) if found else None
