"""Builds gred: kernels are compiled for GPUs, and once more for the simulated device.

nvcc, if it is found, compiles them for GPUs, and the host's C++ compiler for the simulated device.
Compilers run in parallel. `build_backend/` finds nvcc and chooses its options.
"""

import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(Path(__file__).parent / "build_backend"))
from description import long_description
from toolkit import HOPPER, PTX, Toolkit, find_nvcc, without_nvcc
from wheels import driver_version
from xla import headers, wants_jax

CORE, TESTING, JAX = "gred._core", "gred._testing", "gred._jax"
LADDER_FOLDS = ("sum", "prod", "min", "max")
CUDA_GROUPS = (
    "norm2s",
    "nan_sums",
    "infinity_norms",
    "ranges",
    "variances",
    "norm1s",
    "exponentials",
    "nan_extremes",
    "nan_positions",
    "nan_variances",
    "argmins",
    "argmaxs",
    "nonzeros",
)
SIMULATED_GROUPS = ("norms", "others", "nans")
TYPED_FOLDS = ("variance", "sum", "argmin", "min", "nonzero", "prod")
LOOPS = "kernels/cpu/loops.cpp"
# Compiler flags of the instruction sets in csrc/common/processor.h.
INSTRUCTIONS = {"baseline": []}
if platform.machine() in ("x86_64", "AMD64"):
    INSTRUCTIONS["baseline"] = ["-O1"]  # for the few processors that lack AVX2
    INSTRUCTIONS["avx2"] = ["-mavx2", "-mf16c", "-mfma"]
    INSTRUCTIONS["avx512"] = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mf16c"]
LIBRARY = "library.cu"
CUDA_TABLE = "kernels_cuda"
COUNTING = ("counting.cu", "counting", [])
LATER, NO_LATER = "later_methods.cu", "no_later_methods.cu"
REGISTERS = 64  # per thread, so that a multiprocessor's 65,536 suffice for blocks of 1024
ABSENT_CUDA = "csrc/cuda/absent.c"
CUDA_SOURCES = sorted(set(map(str, Path("csrc/cuda").glob("*.c"))) - {ABSENT_CUDA})
SANITIZED = bool(os.environ.get("GRED_SANITIZE"))  # gcc then warns of false positives
WARNINGS = ["-Wall", "-Wextra", "-Werror"] if os.environ.get("GRED_WERROR") else []
WARNINGS = [] if SANITIZED else WARNINGS
NVCC_WARNINGS = ["-Werror", "all-warnings"] if WARNINGS else []
SANITIZERS = ["-fsanitize=address,undefined"] if SANITIZED else []
CHECKS = ["-Og", "-g1", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", *SANITIZERS]
CHECKS += ["-fno-sanitize=null,object-size,pointer-overflow"]  # AddressSanitizer sees these
CHECKS = CHECKS if SANITIZED else []
# All instruction sets share the sources of the host's loops. Sanitizers check those of AVX2, which
# nearly every machine has, and AVX-512's are then aliases of these.
UNCHECKED = ["-O0"] if SANITIZED else []
UNSANITIZED = ("baseline",) if "avx2" in INSTRUCTIONS else ()
ALIASES = []
if SANITIZED and INSTRUCTIONS.pop("avx512", None):
    ALIASES = ["-Wl,--defsym=cpu_kernels_avx512=cpu_kernels_avx2"]
HOST_C = [
    "-Icsrc",
    "-std=c11",
    "-O3",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    *WARNINGS,
    *CHECKS,
]
HOST_CXX = ["-Icsrc", "-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", *WARNINGS]
HOST_CXX += ["-fno-exceptions", "-fno-rtti", "-Wno-unknown-pragmas", "-Wno-pass-failed"]
# The rungs, which users run and count, are optimized. Other kernels of the simulated device are not
# run for speed, and compile in half the time; -O0 would slow the tests by more than it saves.
OPTIMIZED_SOURCES = ("methods.cu", "counting.cu")
# Products must be rounded before they are added, also on machines with fused multiply-add.
ROUNDED = {"products": ["-ffp-contract=off"]}
# All instruction sets must give the same bits. GCC's warnings on vectors in calls do not matter, as
# all such calls are inlined, nor do those on its own headers; clang lacks the latter.
VECTOR_FLAGS = ["-ffp-contract=off", "-Wno-psabi", "-Wno-maybe-uninitialized"]
VECTOR_FLAGS += ["-Wno-unknown-warning-option"]
# Finalizing states takes many square roots; errno is not used.
STATES_FLAGS = ["-O3", "-fno-math-errno", "-falign-loops=32", "-Wno-psabi"]
# Units of kernels/cpu/, compiled for each instruction set, the slowest first. Without trapping
# math, conversions may run unconditionally.
UNITS = {
    "columns": [],
    "vectors": [],
    "moves": ["-O3", "-fno-trapping-math", "-falign-loops=32"],
    "exact": [],
    "dots": ["-O3", "-Wno-uninitialized"],
}
# Symbols that nothing links to would be two fifths of a module without CUDA.
STRIP = [] if SANITIZED else ["-Wl,--strip-all"]
LIBRARIES = ["-lpthread", "-lm", "-lstdc++", "-Wl,--exclude-libs,ALL", *STRIP, *ALIASES]


def kernel_units(table: str) -> list[tuple[str, str, list[str]]]:
    """List the kernels' compilations: source, name, definitions; the slowest come first."""
    # Split for ptxas, which is slow; the host's compiler would only read the headers again.
    parts = {"columns": ["-DGRED_COLUMNS=1"], "rows": ["-DGRED_COLUMNS=0"]}
    units = [
        ("typed.cu", f"{fold}_{part}", [f"-DGRED_FOLD={fold}", *columns])
        for fold in TYPED_FOLDS
        for part, columns in (parts if table == CUDA_TABLE else {"typed": []}).items()
    ]
    groups = CUDA_GROUPS if table == CUDA_TABLE else SIMULATED_GROUPS
    units += [("folds.cu", group, [f"-DGRED_GROUP={group}"]) for group in groups]
    units += [(LIBRARY, "library", [])] if table == CUDA_TABLE else []
    units += [("methods.cu", fold, [f"-DGRED_FOLD={fold}"]) for fold in LADDER_FOLDS]
    units += [(LATER, "later_methods", []), ("exact.cu", "exact", [])]
    units += [(f"{name}.cu", name, []) for name in ("segments", "products", "keys")]
    return [*units, ("kernels.cu", "kernels", [f"-DGRED_TABLE={table}"])]


class Job(NamedTuple):
    """One run of a compiler: its command without the source and the object."""

    words: list[str]
    source: Path
    target: Path

    def run(self) -> None:
        """Compile, unless the same command has already compiled the same files."""
        listing, stamp = self.target.with_suffix(".d"), self.target.with_suffix(".command")
        command = [*self.words, "-MMD", "-MF", str(listing), "-c", str(self.source)]
        command += ["-o", str(self.target)]
        if stamp.exists() and stamp.read_text() == repr(command) and self.is_current(listing):
            return
        stamp.unlink(missing_ok=True)
        self.target.parent.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
        sys.stderr.write(done.stderr)
        stamp.write_text(repr(command))

    def is_current(self, listing: Path) -> bool:
        """Return whether the object is newer than every file that the compiler listed."""
        _, _, files = listing.read_text().replace("\\\n", " ").partition(": ")
        built = self.target.stat().st_mtime
        return all(
            os.path.exists(file) and os.path.getmtime(file) < built
            for file in re.split(r"(?<!\\)\s+", files.strip())
        )


class BuildExt(build_ext):
    """Compile everything in parallel, and leave linking to setuptools."""

    def build_extension(self, ext: Extension) -> None:
        """Compile an extension's sources, and let setuptools link them."""
        jobs = self.jobs(ext)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            list(pool.map(Job.run, jobs))
        ext.sources = []
        ext.extra_objects += [str(job.target) for job in jobs]
        self.force = True  # linking is quick, and the existing objects may have changed
        super().build_extension(ext)

    def jobs(self, ext: Extension) -> list[Job]:
        """List the compilations for an extension."""
        if ext.name == JAX:
            return self.jax_jobs(ext)
        return self.core_jobs(ext) if ext.name == CORE else self.plain_jobs(ext, [])

    def core_jobs(self, ext: Extension) -> list[Job]:
        """Configure the core for this machine, and list its compilations."""
        nvcc = find_nvcc(os.environ)
        toolkit = Toolkit(nvcc, os.environ) if nvcc else None
        if toolkit:
            print(toolkit, flush=True)
            ext.include_dirs.append(str(toolkit.libraries.parent / "include"))
            ext.extra_link_args += [f"-L{toolkit.libraries}", "-lcudart_static", "-ldl", "-lrt"]
        else:
            why = without_nvcc(os.environ, driver_version())
            print(f"gred: {why}, so no GPU: host and simulated device only", flush=True)
        ext.define_macros += [
            ("GRED_CUDA_VERSION", f'"{toolkit.version if toolkit else ""}"'),
            ("GRED_ARCHITECTURES", f'"{" ".join(toolkit.architectures) if toolkit else ""}"'),
        ]
        # The slowest first, so that none of them ends last.
        jobs = self.host_jobs() + (self.cuda_jobs(toolkit) if toolkit else [])
        jobs += self.simulated_jobs()
        return jobs + self.plain_jobs(ext, CUDA_SOURCES if toolkit else [ABSENT_CUDA])

    def cuda_jobs(self, toolkit: Toolkit) -> list[Job]:
        """List one run of nvcc per unit."""
        jobs = []
        for source, name, defines in kernel_units(CUDA_TABLE):
            least = HOPPER if source == LATER else 0
            if not toolkit.from_on(least):
                source, least = NO_LATER, 0
            assembles = toolkit.architectures != [PTX]  # else the driver does, without this option
            limited = source != LIBRARY and assembles
            registers = [f"-maxrregcount={REGISTERS}"] if limited else []
            command = toolkit.command(tuned=source == LIBRARY, least=least)
            words = [*command, *NVCC_WARNINGS, "-Icsrc", *registers, *defines]
            target = self.object(f"kernels/cuda_{name}")
            jobs.append(Job(words, Path("kernels/units", source), target))
        return jobs

    def simulated_jobs(self) -> list[Job]:
        """List one run of the host's C++ compiler per unit, and one for the counting rungs."""
        cxx = [*os.environ.get("CXX", "g++").split(), *HOST_CXX]
        jobs = []
        units = [*kernel_units("kernels_simulated"), COUNTING]
        # Of a function in several units, the linker takes the first copy: an optimized one.
        units.sort(key=lambda unit: unit[0] not in OPTIMIZED_SOURCES)
        for source, name, defines in units:
            level = "-O1" if source in OPTIMIZED_SOURCES else "-Og"
            level = "-O0" if SANITIZED else level
            checks = [] if name in SIMULATED_GROUPS else CHECKS  # other units share that source
            command = [*cxx, *checks, level, *ROUNDED.get(name, []), *defines, "-x", "c++"]
            target = self.object(f"kernels/simulated_{name}")
            jobs.append(Job(command, Path("kernels/units", source), target))
        return jobs

    def host_jobs(self) -> list[Job]:
        """List the host's loops, compiled without the options that Python was built with."""
        cxx = os.environ.get("CXX", "g++").split()
        loops = [*cxx, *HOST_CXX, *STATES_FLAGS, *CHECKS, "-DGRED_HOST_LOOPS=host_loops"]
        loops += ["-x", "c++"]
        jobs = [Job(loops, Path(LOOPS), self.object(LOOPS))]
        for unit, more in UNITS.items():
            for name, flags in INSTRUCTIONS.items():
                defines = [f"-DGRED_HOST_LOOPS=host_{name}", f"-DGRED_INSTRUCTIONS={name}"]
                checks = UNCHECKED if name in UNSANITIZED else CHECKS
                words = [*cxx, *HOST_CXX, *VECTOR_FLAGS, *more, *checks, *flags, *defines]
                source = Path("kernels/cpu", unit).with_suffix(".cpp")
                target = self.object(f"kernels/cpu/{unit}_{name}")
                jobs.append(Job([*words, "-x", "c++"], source, target))
        return jobs

    def plain_jobs(self, ext: Extension, more: list[str]) -> list[Job]:
        """List one run of the C compiler per source, to be run in parallel."""
        words = [*self.compiler.compiler_so, *ext.extra_compile_args]
        words += [f"-I{folder}" for folder in (*ext.include_dirs, *self.include_dirs)]
        words += [f"-D{name}={value}" for name, value in ext.define_macros]
        return [Job(words, Path(source), self.object(source)) for source in ext.sources + more]

    def jax_jobs(self, ext: Extension) -> list[Job]:
        """List one run of the host's C++ compiler per source, with XLA's headers."""
        words = [*os.environ.get("CXX", "g++").split(), *HOST_CXX, *CHECKS, "-isystem", headers()]
        words += [f"-I{folder}" for folder in self.include_dirs]
        return [Job(words, Path(source), self.object(source)) for source in ext.sources]

    def object(self, source: str) -> Path:
        """Return the object of a source, including its folders, as file names are not unique."""
        return Path(self.build_temp, source).with_suffix(".o")


TEST_SOURCES = set(map(str, Path("csrc/testing").glob("*.c")))
APART = {*CUDA_SOURCES, ABSENT_CUDA, *TEST_SOURCES}
SOURCES = sorted(set(map(str, Path("csrc").rglob("*.c"))) - APART)


def extension(name: str, sources: list[str]) -> Extension:
    """Describe an extension, with options for compiling its plain C and linking it."""
    return Extension(
        name,
        sources=sources,
        include_dirs=[numpy.get_include()],
        define_macros=[("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")],
        extra_compile_args=HOST_C,
        extra_link_args=[*([] if name == TESTING else LIBRARIES), *SANITIZERS],
    )


if __name__ == "__main__":
    setup(
        long_description=long_description(Path(__file__).parent / "README.md"),
        long_description_content_type="text/markdown",
        ext_modules=[
            extension(CORE, SOURCES),
            extension(TESTING, sorted(TEST_SOURCES)),
            *([extension(JAX, ["csrc/jax/module.cpp"])] if wants_jax(os.environ) else []),
        ],
        cmdclass={"build_ext": BuildExt},
    )
