"""Looks at what gred needs and has, and says what to do about what is wrong.

That is versions, the processor's instructions, threads, the GPUs' driver, what kernels were
compiled for, the cache of those that the driver compiles, and whether every device adds up rightly.
A report of a bug should have what this prints.
"""

import argparse
import os
import re
import warnings
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gred
from gred.cli.console import Console
from gred.cli.record import driver_version, usable_cores

OPTIONS = ()

_WRONG = 1
_LENGTH = 100_003
_KERNELS = "pip install 'gred[cuda13]', or build it where nvcc is"
_AGAIN = "install it again, with GRED_CUDA_ARCHS={} in the environment"


class Check(NamedTuple):
    """What was found, and what to do if it is a problem."""

    name: str
    found: str
    remedy: str = ""


def run(given: argparse.Namespace, console: Console) -> int:
    problems = 0
    for check in checks(os.environ):
        mark, style = ("problem", "red") if check.remedy else ("ok", "")
        remedy = f": {check.remedy}" if check.remedy else ""
        console.text(f"{mark:<8} {check.name}: {check.found}{remedy}", style)
        problems += bool(check.remedy)
    return _WRONG if problems else 0


def checks(environment: Mapping[str, str]) -> Iterator[Check]:
    facts: Any = gred.show_config("dicts")
    yield _version(facts["gred"])
    for name in ("Python", "platform", "libraries"):
        yield Check(name, facts[name])
    yield _instructions(facts["instructions"], environment)
    yield _threads(environment)
    gpus = [one for one in gred.devices() if one.name.startswith("cuda")]
    yield _driver(driver_version(), gpus)
    yield from _kernels(facts["built for"], gpus)
    yield _cache(environment, any(map(_compiles, gpus)))
    for device in gred.devices():
        yield _sum(device)


def _version(found: str) -> Check:
    """Compare what is imported with what pip believes to be installed."""
    try:
        installed = metadata.version("gred")
    except metadata.PackageNotFoundError:
        return Check("gred", f"{found}, not installed by pip")
    remedy = f"pip knows {installed}; pip uninstall gred, and install it once"
    return Check("gred", found, "" if installed == gred.__version__ else remedy)


def _instructions(found: str, environment: Mapping[str, str]) -> Check:
    asked = environment.get("GRED_INSTRUCTIONS") or None
    remedy = f"not GRED_INSTRUCTIONS={asked}, which this processor or gred lacks; unset it"
    if asked in (None, found):
        found, remedy = found + (f", by GRED_INSTRUCTIONS={asked}" if asked else ""), ""
    return Check("instructions", found, remedy)


def _threads(environment: Mapping[str, str]) -> Check:
    asked = environment.get("OMP_NUM_THREADS")
    found = f"{gred.threads()} on {usable_cores()} cores, of gred's own (it loads no OpenMP)"
    found += "" if asked is None else f", with OMP_NUM_THREADS={asked}"
    is_number = asked is None or re.fullmatch(r"\s*\+?0*[1-9]\d*\s*(,.*)?", asked)
    return Check("threads", found, "" if is_number else "that is no number of threads; unset it")


def _driver(version: str | None, gpus: list[Any]) -> Check:
    built = gred.build_info()["cuda"]
    found = version or "none, so no GPU"
    if gpus:
        return Check("driver", f"{found}; {', '.join(f'{g.name}: {g.title}' for g in gpus)}")
    if version is None:
        return Check("driver", found)
    if built is None:
        return Check("driver", found, f"gred has no kernels for GPUs; {_KERNELS}")
    why = "no GPU is listed"
    try:
        gred.launch_limit("cuda", samples=1)
    except (RuntimeError, ValueError) as error:
        why = str(error)
    remedy = f"{why}; look at nvidia-smi and CUDA_VISIBLE_DEVICES, and whether the driver runs "
    return Check("driver", found, f"{remedy}CUDA {built}")


def _compiles(gpu: Any) -> bool:
    """Tell whether the driver has to compile kernels: machine code runs within a major version."""
    major, minor = map(int, gpu.compute_capability.split("."))
    built: Any = gred.build_info()["architectures"]
    ours = [divmod(int(re.sub(r"\D", "", one)), 10) for one in built if one != "ptx"]
    return not any(theirs == major and least <= minor for theirs, least in ours)


def _kernels(found: str, gpus: list[Any]) -> Iterator[Check]:
    yield Check("built for", found)
    for gpu in filter(_compiles, gpus):
        again = _AGAIN.format(gpu.compute_capability.replace(".", ""))
        remedy = f"no machine code for it: a kernel's first call takes seconds; {again}"
        yield Check(gpu.name, f"compute capability {gpu.compute_capability}", remedy)


def _cache(environment: Mapping[str, str], needed: bool) -> Check:
    home = environment.get("HOME", "/")
    folder = Path(environment.get("CUDA_CACHE_PATH") or Path(home, ".nv", "ComputeCache"))
    if not needed:
        return Check("cache of kernels", f"{folder}, not needed: nothing is compiled at run time")
    if environment.get("CUDA_CACHE_DISABLE", "0") != "0":
        return Check("cache of kernels", "none", "unset CUDA_CACHE_DISABLE: each process compiles")
    there = next(one for one in (folder, *folder.parents) if one.exists())
    writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    remedy = "" if writable else "it cannot be written; name another by CUDA_CACHE_PATH"
    return Check("cache of kernels", str(folder), remedy)


def _sum(device: Any) -> Check:
    """Add up whole numbers, of which every partial sum is exact, and the sum known."""
    name, expected = f"sum on {device.name}", _LENGTH * (_LENGTH - 1) // 2
    got = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the checks of kernels say
            for dtype in (np.int32, np.float64):
                got.append(int(gred.sum(np.arange(_LENGTH, dtype=dtype), device=device.name)))
    except (RuntimeError, MemoryError, OSError) as error:
        return Check(name, f"{device.title}: {error}", "please report it")
    if got == [expected] * len(got):
        return Check(name, f"right; {device.title}")
    return Check(name, f"{got}, and not {expected}; {device.title}", "please report it")
