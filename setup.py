"""The one thing that setuptools cannot say: kernels are compiled twice.

The host's C++ compiler makes them for the simulated device, nvcc, if it is there, for GPUs.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DEPENDS = ["setup.py", *map(str, Path("csrc").rglob("*.h")), *map(str, Path("csrc").rglob("*.def"))]
DEPENDS += [str(path) for path in Path("kernels").rglob("*") if path.is_file()]
LADDER_FOLDS = ("sum", "prod", "min", "max")
FOLD_GROUPS = ("places", "counts", "numbers", "moments")
LOOPS = "kernels/host/loops.cpp"
LIBRARY = "library.cu"
REGISTERS = 64  # a thread, so that a multiprocessor's 65,536 suffice for blocks of 1024
SLOW_SOURCES = ["csrc/run/gather.c"]  # a loop for every pair of types
DEPENDS += SLOW_SOURCES
ABSENT_CUDA = "csrc/cuda/absent.c"
CUDA_SOURCES = sorted(set(map(str, Path("csrc/cuda").glob("*.c"))) - {ABSENT_CUDA})
SANITIZED = bool(os.environ.get("GRED_SANITIZE"))  # gcc then warns of what is not so
WARNINGS = ["-Wall", "-Wextra", "-Werror"] if os.environ.get("GRED_WERROR") else []
WARNINGS = [] if SANITIZED else WARNINGS
SANITIZERS = ["-fsanitize=address,undefined"] if SANITIZED else []
CHECKS = ["-O1", "-g", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", *SANITIZERS]
CHECKS = CHECKS if SANITIZED else []
HOST_C = ["-Icsrc", "-std=c11", "-O3", "-fopenmp", "-fvisibility=hidden", *WARNINGS, *CHECKS]
HOST_CXX = [
    "-Icsrc",
    "-std=c++17",
    "-O2",
    "-fPIC",
    "-fvisibility=hidden",
    "-fno-exceptions",
    "-fno-rtti",
]
HOST_CXX += [*WARNINGS, "-Wno-unknown-pragmas", *CHECKS]
LIBRARIES = ["-fopenmp", "-lpthread", "-lstdc++", "-Wl,--exclude-libs,ALL"]
CUDA_CXX = ["-Icsrc", "-std=c++17", "-O3", "-Xcompiler", "-fPIC,-fvisibility=hidden"]


def find_nvcc() -> Path | None:
    """Look for nvcc in CUDA_HOME, CUDA_PATH, PATH, and the usual place, in this order."""
    if os.environ.get("GRED_CUDA_ARCHS") == "none" or SANITIZED:
        return None
    homes = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    candidates = [Path(home, "bin", "nvcc") for home in homes if home]
    on_path = shutil.which("nvcc")
    candidates += [Path(on_path)] if on_path else []
    candidates.append(Path("/usr/local/cuda/bin/nvcc"))
    return next((nvcc for nvcc in candidates if os.access(nvcc, os.X_OK)), None)


def cuda_version(nvcc: Path) -> str:
    """Ask nvcc for its release, such as "13.0"."""
    text = subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release (\d+\.\d+)", text)[1]


def cuda_library_folder(nvcc: Path) -> Path:
    """Find the folder of libcudart_static.a; a system's nvcc may be a link or a script."""
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


def present_architectures() -> list[str]:
    """List the compute capabilities of the GPUs in this machine, such as ["90"]."""
    query = ["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"]
    try:
        text = subprocess.run(query, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    return sorted({line.strip().replace(".", "") for line in text.splitlines() if line.strip()})


def known_architectures(nvcc: Path) -> list[int]:
    """List the architectures that this nvcc can compile for, in rising order."""
    command = [nvcc, "--list-gpu-arch"]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return sorted({int(number) for number in re.findall(r"compute_(\d+)", listing)})


def default_architectures(nvcc: Path) -> list[str]:
    """Choose the GPUs' that are here, if this nvcc knows them, else one of every major version."""
    known = known_architectures(nvcc)
    present = present_architectures()
    if present and all(int(architecture) in known for architecture in present):
        return present
    first_of_major = {number // 10: number for number in reversed(known) if number >= 75}
    return [str(number) for number in sorted(first_of_major.values())]


def architecture_flags(architectures: list[str]) -> list[str]:
    """Machine code for each, and PTX of the newest for chips to come."""
    newest = architectures[-1]
    flags = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in architectures]
    return [*flags, f"-gencode=arch=compute_{newest},code=compute_{newest}"]


class Toolkit:
    """The CUDA toolkit that kernels are compiled with."""

    def __init__(self, nvcc: Path):
        """Settle the architectures: GRED_CUDA_ARCHS, else the GPU's that is here, else all."""
        self.nvcc = nvcc
        self.version = cuda_version(nvcc)
        asked = re.split(r"[;, ]+", os.environ.get("GRED_CUDA_ARCHS", "").strip(";, "))
        self.architectures = [a for a in asked if a] or default_architectures(nvcc)
        self.architectures.sort(key=lambda a: int(re.match(r"\d+", a)[0]))
        self.libraries = cuda_library_folder(nvcc)

    def compile(self, source: Path, target: Path, defines: list[str]) -> None:
        """Compile one kernel source."""
        flags = [*CUDA_CXX, *architecture_flags(self.architectures)]
        if source.name != LIBRARY:
            flags.append(f"-maxrregcount={REGISTERS}")
        build_object([self.nvcc, *flags, *defines, "-c", source, "-o", target], target)


def build_object(words: list, target: Path) -> None:
    """Run a compiler, unless the same command has seen the same sources before."""
    command = [str(word) for word in words]
    stamp = target.with_suffix(".command")
    newest = max(os.path.getmtime(source) for source in DEPENDS)
    if stamp.exists() and stamp.read_text() == repr(command) and target.stat().st_mtime > newest:
        return
    stamp.unlink(missing_ok=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    stamp.write_text(repr(command))


def kernel_units(table: str) -> list[tuple[str, str, list[str]]]:
    """List the compilations of the kernels: source, name, definitions. The slowest is first."""
    units = [(LIBRARY, "library", [])]
    for fold in LADDER_FOLDS:
        widens, averages = fold in ("sum", "prod"), fold == "sum"
        defines = [f"-DGRED_FOLD={fold}", f"-DGRED_WIDENS={widens:d}"]
        units.append(("methods.cu", fold, [*defines, f"-DGRED_AVERAGES={averages:d}"]))
    units += [("folds.cu", group, [f"-DGRED_GROUP={group}"]) for group in FOLD_GROUPS]
    units.append(("finishes.cu", "finishes", []))
    return [*units, ("kernels.cu", "kernels", [f"-DGRED_TABLE={table}"])]


class BuildExt(build_ext):
    """Compiles the kernels, side by side, before setuptools compiles the C sources."""

    def build_extension(self, ext: Extension) -> None:
        """Add what the machine offers to the one extension, and build it."""
        nvcc = find_nvcc()
        toolkit = Toolkit(nvcc) if nvcc else None
        folder = Path(self.build_temp, "kernels")
        folder.mkdir(parents=True, exist_ok=True)
        jobs = self.slow_jobs(folder) + self.simulated_jobs(folder)
        if toolkit:
            shown = " ".join(toolkit.architectures)
            print(f"gred: kernels for CUDA {toolkit.version}, architectures {shown}", flush=True)
            jobs = self.cuda_jobs(toolkit, folder) + jobs
            ext.sources += CUDA_SOURCES
            ext.include_dirs.append(str(toolkit.libraries.parent / "include"))
            ext.extra_link_args += [f"-L{toolkit.libraries}", "-lcudart_static", "-ldl", "-lrt"]
        else:
            print("gred: no nvcc, so no GPU: host and simulated device only", flush=True)
            ext.sources.append(ABSENT_CUDA)
        ext.define_macros += [
            ("GRED_CUDA_VERSION", f'"{toolkit.version if toolkit else ""}"'),
            ("GRED_ARCHITECTURES", f'"{" ".join(toolkit.architectures) if toolkit else ""}"'),
        ]
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(lambda job: job[0](*job[1:]), jobs))
        ext.extra_objects += [str(job[2]) for job in jobs]
        super().build_extension(ext)

    def cuda_jobs(self, toolkit: Toolkit, folder: Path) -> list[tuple]:
        """One call of nvcc a unit."""
        return [
            (toolkit.compile, Path("kernels", source), folder / f"cuda_{name}.o", defines)
            for source, name, defines in kernel_units("kernels_cuda")
        ]

    def slow_jobs(self, folder: Path) -> list[tuple]:
        """One call of the C compiler a source; setuptools would compile them one by one."""
        compiler = os.environ.get("CC", "gcc").split()

        def compile_unit(source: Path, target: Path) -> None:
            build_object([*compiler, *HOST_C, "-fPIC", "-c", source, "-o", target], target)

        return [
            (compile_unit, Path(source), folder / Path(source).with_suffix(".o").name)
            for source in SLOW_SOURCES
        ]

    def simulated_jobs(self, folder: Path) -> list[tuple]:
        """One call of the host's C++ compiler a unit."""
        compiler = os.environ.get("CXX", "g++").split()

        def compile_unit(source: Path, target: Path, defines: list[str]) -> None:
            words = [*compiler, *HOST_CXX, *defines, "-x", "c++", "-c", source, "-o", target]
            build_object(words, target)

        loops = (compile_unit, Path(LOOPS), folder / "loops.o", ["-O3", "-DGRED_HOST_LOOPS"])
        return [loops] + [
            (compile_unit, Path("kernels", source), folder / f"simulated_{name}.o", defines)
            for source, name, defines in kernel_units("kernels_simulated")
        ]


APART = {*SLOW_SOURCES, *CUDA_SOURCES, ABSENT_CUDA}

setup(
    ext_modules=[
        Extension(
            "gred._core",
            sources=sorted(set(map(str, Path("csrc").rglob("*.c"))) - APART),
            depends=DEPENDS,
            include_dirs=[numpy.get_include()],
            define_macros=[("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")],
            extra_compile_args=HOST_C,
            extra_link_args=[*LIBRARIES, *SANITIZERS],
        )
    ],
    cmdclass={"build_ext": BuildExt},
)
