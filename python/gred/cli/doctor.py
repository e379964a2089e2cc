"""Checks the installation of gred, and says what to do about each problem.

It checks versions, the processor's instructions, threads, the GPU driver, the architectures that
kernels were compiled for, the cache of kernels that the driver compiles, and a sum on every device.
Please include its output in bug reports.
"""

import argparse
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

import gred
from gred.cli.console import Console
from gred.cli.record import driver_version, usable_cores

OPTIONS = ()

_LENGTH = 100_003
_KERNELS = "gred has no GPU kernels; pip install 'gred[cuda13]', or build it with nvcc"

# A name, what was found, and the remedy, empty if there is no problem.
Check = tuple[str, str, str]


def run(given: argparse.Namespace, console: Console) -> int:
    status = 0
    for name, found, remedy in checks(os.environ):
        mark, style = ("problem", "red") if remedy else ("ok", "")
        console.text(f"{mark:<8} {name}: {found}{remedy and ': '}{remedy}", style)
        status |= bool(remedy)
    return status


def checks(environment: Mapping[str, str]) -> Iterator[Check]:
    facts: Any = gred.show_config("dicts")
    yield "gred", *_installed(facts["gred"])
    for name in ("Python", "platform", "libraries"):
        yield name, facts[name], ""
    found, asked = facts["instructions"], environment.get("GRED_INSTRUCTIONS")
    lacking = f"this processor or build lacks GRED_INSTRUCTIONS={asked}; unset it"
    own = f", set by GRED_INSTRUCTIONS={asked}" if asked == found else ""
    yield "instructions", found + own, lacking if asked and not own else ""
    found = f"{gred.threads()} on {usable_cores()} cores, in gred's own pool (not OpenMP)"
    asked = environment.get("OMP_NUM_THREADS")
    is_number = asked is None or re.fullmatch(r"\s*\+?0*[1-9]\d*\s*(,.*)?", asked)
    found += "" if asked is None else f", with OMP_NUM_THREADS={asked}"
    yield "threads", found, "" if is_number else "not a number of threads; unset it"
    gpus = [one for one in gred.devices() if one.name.startswith("cuda")]
    yield "driver", *_driver(driver_version(), gpus)
    yield "built for", facts["built for"], ""
    for gpu in filter(_compiles, gpus):
        capability = gpu.compute_capability
        again = f"GRED_CUDA_ARCHS={capability.replace('.', '')} in the environment"
        remedy = f"a kernel's first call takes seconds; reinstall gred with {again}"
        yield gpu.name, f"compute capability {capability}", f"no machine code for it: {remedy}"
    yield "cache of kernels", *_cache(environment, any(map(_compiles, gpus)))
    for device in gred.devices():
        yield f"sum on {device.name}", *_sum(device)


def _installed(found: str) -> tuple[str, str]:
    """Compare the imported version with the one that pip has installed."""
    try:
        installed = metadata.version("gred")
    except metadata.PackageNotFoundError:
        return f"{found}, not installed by pip", ""
    remedy = f"pip lists {installed}; run pip uninstall gred, and reinstall it"
    return found, "" if installed == gred.__version__ else remedy


def _driver(version: str | None, gpus: list[Any]) -> tuple[str, str]:
    built = gred.build_info()["cuda"]
    found = version or "none, so no GPU"
    if gpus:
        return f"{found}; {', '.join(f'{gpu.name}: {gpu.title}' for gpu in gpus)}", ""
    if version is None or built is None:
        return found, "" if version is None else _KERNELS
    why = "no GPU is listed"
    try:
        gred.launch_limit("cuda", samples=1)
    except (RuntimeError, ValueError) as error:
        why = str(error)
    remedy = f"{why}; check nvidia-smi, CUDA_VISIBLE_DEVICES, and whether the driver supports "
    return found, f"{remedy}CUDA {built}"


def _compiles(gpu: Any) -> bool:
    """Return whether the driver must compile: machine code runs only on its major version."""
    major, minor = map(int, gpu.compute_capability.split("."))
    built: Any = gred.build_info()["architectures"]
    ours = [divmod(int(re.sub(r"\D", "", one)), 10) for one in built if one != "ptx"]
    return not any(theirs == major and least <= minor for theirs, least in ours)


def _cache(environment: Mapping[str, str], needed: bool) -> tuple[str, str]:
    home = environment.get("HOME", "/")
    folder = Path(environment.get("CUDA_CACHE_PATH") or Path(home, ".nv", "ComputeCache"))
    if not needed:
        return f"{folder}, not needed: nothing is compiled at run time", ""
    if environment.get("CUDA_CACHE_DISABLE", "0") != "0":
        return "none", "unset CUDA_CACHE_DISABLE, which makes each process compile"
    there = next(one for one in (folder, *folder.parents) if one.exists())
    writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    return str(folder), "" if writable else "not writable; set CUDA_CACHE_PATH to another folder"


def _sum(device: Any) -> tuple[str, str]:
    """Check a sum of integers, with exact partial sums and a known result."""
    expected = _LENGTH * (_LENGTH - 1) // 2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # only the results matter here
            arrays = (np.arange(_LENGTH, dtype=dtype) for dtype in (np.int32, np.float64))
            got = [int(gred.sum(array, device=device.name)) for array in arrays]
    except (RuntimeError, MemoryError, OSError) as error:
        return f"{device.title}: {error}", "please report it"
    if got == [expected] * 2:
        return f"right; {device.title}", ""
    return f"{got} instead of {expected}; {device.title}", "please report it"
