"""The CUDA toolkit that compiles the kernels: where nvcc is, and its options."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import wheels

# -O1 is for the stubs that nvcc leaves to the host's compiler; device code is always optimized.
# That compiler also reads all machine code as text, a tenth as much when compressed.
# --Ofast-compile halves the time of nvcc, but kernels take longer (945 calls on an H100): with
# "mid" 4 times as long in the median; with "min" float16 sums along axes take twice as long.
FLAGS = ["-std=c++17", "-O1", "-Xcompiler", "-fPIC,-fvisibility=hidden"]
FLAGS += ["-Xfatbin", "-compress-all"]
HOPPER, BLACKWELL = 90, 100
EVERY, PTX = "all", "ptx"


def toolkit_nvcc(environment: Mapping[str, str]) -> Path | None:
    """Find nvcc in CUDA_HOME, CUDA_PATH, PATH, and the usual place, in this order."""
    homes = [environment.get("CUDA_HOME"), environment.get("CUDA_PATH")]
    candidates = [Path(home, "bin", "nvcc") for home in homes if home]
    on_path = shutil.which("nvcc", path=environment.get("PATH"))
    candidates += [Path(on_path)] if on_path else []
    candidates.append(Path("/usr/local/cuda/bin/nvcc"))
    return next((nvcc for nvcc in candidates if os.access(nvcc, os.X_OK)), None)


def find_nvcc(environment: Mapping[str, str]) -> Path | None:
    """Find nvcc in a toolkit, else in the wheels; GRED_CUDA=wheels uses only the wheels."""
    in_wheels = wheels.installed_nvcc(sys.path)
    if wheels.wants_wheels(environment):
        if in_wheels is None:
            needed = " ".join(f"'{wheel}'" for wheel in wheels.WHEELS)
            sys.exit(
                "gred: GRED_CUDA=wheels, but the wheels are not installed. pip installs them for a "
                f"build by itself, unless --no-build-isolation is given; then: pip install {needed}"
            )
        return in_wheels
    if not wheels.wants_cuda(environment):
        return None
    return toolkit_nvcc(environment) or in_wheels


def without_nvcc(environment: Mapping[str, str], driver: tuple[int, int] | None) -> str:
    """Explain why there is no nvcc, and how to get one."""
    if not wheels.wants_cuda(environment):
        return "CUDA left out"
    if driver is None:
        return "no nvcc"
    least, runs = ("{}.{}".format(*version) for version in (wheels.VERSION, driver))
    if driver < wheels.VERSION:
        return (
            f"no nvcc, and none as wheels, which are of CUDA {least}, for the driver runs {runs} "
            "at most: install a CUDA toolkit or a newer driver"
        )
    return "no nvcc, nor its wheels, which pip installs unless --no-build-isolation is given"


def cuda_version(nvcc: Path) -> str:
    """Return nvcc's release, such as "13.0"."""
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release (\d+\.\d+)", text)[1]


def library_folder(nvcc: Path) -> Path:
    """Return the folder of libcudart_static.a; a system's nvcc may be a link or a script."""
    dry = subprocess.run(
        [nvcc, "--dryrun", "-x", "cu", os.devnull], capture_output=True, text=True, check=False
    )
    top = re.search(r"^#\$ TOP=(.*)$", dry.stderr, re.MULTILINE)
    root = Path(top[1].strip()) if top else nvcc.resolve().parent.parent
    folders = [root / "lib64", root / "lib", *root.glob("targets/*/lib")]
    folders.append(Path("/usr/lib", sysconfig.get_config_var("MULTIARCH") or ""))
    for folder in folders:
        if (folder / "libcudart_static.a").exists():
            return folder
    sys.exit(
        f"gred: {nvcc} is here, but libcudart_static.a is not in {', '.join(map(str, folders))}"
    )


# ---- architectures ----


def present_architectures() -> list[str]:
    """List the compute capabilities of the GPUs in this machine, such as ["90"]."""
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        text = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return sorted({line.strip().replace(".", "") for line in text.splitlines() if line.strip()})


def known_architectures(nvcc: Path) -> list[int]:
    """List the architectures that this nvcc supports, in increasing order."""
    command = [nvcc, "--list-gpu-arch"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sorted({int(number) for number in re.findall(r"compute_(\d+)", listing)})


def every_architecture(known: list[int]) -> list[str]:
    """List the first architecture of every major version."""
    first_of_major = {number // 10: number for number in reversed(known) if number >= 75}
    return [str(number) for number in sorted(first_of_major.values())]


def default_architectures(known: list[int], present: list[str]) -> list[str]:
    """Choose the architectures of this machine's GPUs, if nvcc supports them, else PTX.

    Machine code for every major version takes minutes, and a build without a GPU may never be used
    on one; PTX runs on all of them, once a driver has compiled it.
    """
    here = present and all(int(architecture) in known for architecture in present)
    return present if here else [PTX]


def asked_architectures(text: str) -> list[str]:
    """Parse GRED_CUDA_ARCHS: "all", "ptx", or numbers such as 80 or 90a.

    Semicolons, commas or spaces separate them.
    """
    asked = [word for word in re.split(r"[;, ]+", text) if word]
    for word in asked:
        if not re.fullmatch(r"\d+[af]?", word) and asked not in ([EVERY], [PTX]):
            sys.exit(
                f"gred: {word!r} in GRED_CUDA_ARCHS is not an architecture: it takes compute "
                "capabilities without the dot, such as '80;90a', 'all' for one of each major "
                "version, 'ptx' for what a driver compiles later, or 'none' to build without CUDA"
            )
    return asked


def number_of(architecture: str) -> int:
    """Return an architecture's number without its suffix."""
    return int(re.match(r"\d+", architecture)[0])


def architecture_groups(architectures: list[str], *, tuned: bool) -> list[list[str]]:
    """Group architectures that share a run of nvcc's front end, in increasing order.

    The front end runs once per virtual architecture, from which machine code for any later chip can
    be made: the lowest of a group. CUB chooses its tuning by the virtual architecture, so if
    `tuned`, those up to Hopper and those from Blackwell on are separate. An architecture with a
    suffix has instructions of its own, and a group of its own.
    """
    groups: dict[object, list[str]] = {}
    for architecture in sorted(set(architectures), key=lambda a: (number_of(a), a)):
        own = None if architecture.isdigit() else architecture
        new = tuned and number_of(architecture) >= BLACKWELL
        groups.setdefault(own or new, []).append(architecture)
    return list(groups.values())


def architecture_flags(architectures: list[str], *, tuned: bool) -> list[str]:
    """Return options for machine code for each, and PTX of the newest group for later chips."""
    groups = architecture_groups(architectures, tuned=tuned)
    lasting = [group[0] for group in groups if group[0].isdigit()][-1:]
    flags = []
    for group in groups:
        codes = [f"sm_{a}" for a in group] + [f"compute_{a}" for a in group if a in lasting]
        flags.append(f"-gencode=arch=compute_{group[0]},code=[{','.join(codes)}]")
    return flags


class Toolkit:
    """An nvcc, the architectures it compiles for, and its libraries."""

    def __init__(self, nvcc: Path, environment: Mapping[str, str]):
        """Choose the architectures: GRED_CUDA_ARCHS, else those of the GPUs here, else PTX."""
        self.nvcc = nvcc
        self.version = cuda_version(nvcc)
        known = known_architectures(nvcc)
        asked = asked_architectures(environment.get("GRED_CUDA_ARCHS", ""))
        chosen = asked or default_architectures(known, present_architectures())
        if chosen == [EVERY]:
            chosen = every_architecture(known)
        self.architectures = chosen if chosen == [PTX] else sorted(chosen, key=number_of)
        self.lowest = min(number for number in known if number >= 75)
        self.libraries = library_folder(nvcc)

    def __str__(self) -> str:
        """Describe in one line what is compiled, and the alternatives."""
        kernels = f"gred: kernels for CUDA {self.version}, by {self.nvcc}"
        if self.architectures != [PTX]:
            return f"{kernels}, in machine code for {' '.join(self.architectures)}"
        return (
            f"{kernels}, as PTX: a driver compiles them when a GPU first calls them; "
            "GRED_CUDA_ARCHS=90, say, or 'all' does so now"
        )

    def command(self, *, tuned: bool, least: int = 0) -> list[str]:
        """Return nvcc's command; `tuned` is for CUB, `least` is the lowest architecture used."""
        if self.architectures == [PTX]:
            virtual = f"compute_{max(self.lowest, least)}"
            return [str(self.nvcc), *FLAGS, f"-gencode=arch={virtual},code={virtual}"]
        return [str(self.nvcc), *FLAGS, *architecture_flags(self.from_on(least), tuned=tuned)]

    def from_on(self, least: int) -> list[str]:
        """List the architectures from this number on."""
        if self.architectures == [PTX]:
            return [PTX]
        return [one for one in self.architectures if number_of(one) >= least]
