"""Compile a rung for the simulated device and a GPU, with resource limits for faulty sources."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

import gred
from gred.lab.form import Form, unit
from gred.lab.processes import printable

_SECONDS = 60
_MEMORY_KIB = 4 << 20
_FILE_NBYTES = 64 << 20  # most bytes of a file that the compiler writes, including its messages
_FLAGS = (
    *("-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti"),
    "-Wl,-Bsymbolic",  # binds exit to that of own_entries.cuh, not the C library's
)
_QUIET = (
    *("-Wall", "-Wno-unknown-pragmas", "-Wno-unused", "-fdiagnostics-color=never"),
    "-ftemplate-backtrace-limit=0",  # by default g++ 13 omits the frame in the user's file
)
# Counting kernels spend their time on observing accesses and on compilation, so -O0 is faster.
_OPTIMISED = {"counting": ("-O0", "-g1", "-DGRED_COUNTING"), "plain": ("-O2",)}
_WORDS_NBYTES = 1 << 20
_GPU_START_SECONDS = 60  # most that CUDA may take to start, with many GPUs
_REGISTERS = 64  # per thread, as for the ladder's rungs: allows blocks of 1024
_NVCC = ("-x", "cu", "-std=c++17", "-O1", "-shared", "-Xcompiler", "-fPIC,-fvisibility=hidden")
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
        return [str(self.nvcc), *_NVCC, f"-maxrregcount={_REGISTERS}", code, libraries]


def find_nvcc(environment: Mapping[str, str], packages: Iterable[str]) -> Path | None:
    """Look for nvcc as gred's build does: in a toolkit, else in CUDA's wheels."""
    homes = (environment.get("CUDA_HOME"), environment.get("CUDA_PATH"))
    candidates = [Path(home, "bin", "nvcc") for home in homes if home]
    on_path = shutil.which("nvcc", path=environment.get("PATH"))
    candidates += [Path(on_path)] if on_path else []
    candidates += [Path(_ELSEWHERE), *(Path(folder, _WHEELS) for folder in packages)]
    return next((nvcc for nvcc in candidates if os.access(nvcc, os.X_OK)), None)


def gpu_named(device: str | None) -> Gpu | None:
    """Return the named GPU with nvcc, or raise; without a name the first GPU, or None."""
    nvcc = find_nvcc(os.environ, sys.path)
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


class CompileError(RuntimeError):
    """Raised if a rung does not compile; the text is the compiler's first error."""


def compiler() -> list[str]:
    """Find the host's C++ compiler: CXX, or else c++, g++ or clang++."""
    said = os.environ.get("CXX", "").split()
    for words in [said] if said else [["c++"], ["g++"], ["clang++"]]:
        if shutil.which(words[0]):
            return words
    what = f"CXX is {' '.join(said)!r}, which was not found"
    what = what if said else "no c++, g++ or clang++ was found"
    raise RuntimeError(f"compiling a rung needs the host's C++ compiler, but {what}; install g++")


class Build:
    """The libraries "counting", "plain" and, for a GPU, "cuda", in a temporary folder."""

    def __init__(self, path: Path, source: str, form: Form, gpu: Gpu | None = None) -> None:
        self.form, self.gpu = form, gpu
        self._user = path
        self._folder = TemporaryDirectory(prefix="gred-lab-")
        self.folder = Path(self._folder.name)
        self._links = self.folder / "gred", self.folder / "beside"
        self._links[0].symlink_to(str(resources.files("gred")))
        self._links[1].symlink_to(path.parent)
        # Compiler messages and counts refer to the user's own file.
        name, own = json.dumps(str(path), ensure_ascii=False), self.folder / "rung.cuh"
        text = f"#line 1 {name}\n{source}"
        own.write_text(unit(source, name, form) if form.call else text, "utf-8")
        defined = {"RUNG(In, Acc, Block)": form.instance}
        if form.call:
            defined |= {"PLAIN": "", "PLAIN_IS_DYNAMIC": str(int(form.is_dynamic))}
        if form.dtype:
            kind = {"float32": "float", "float64": "double"}.get(form.dtype, f"{form.dtype}_t")
            defined |= {"RUNG_TYPE": kind, "RUNG_ELEMENT": f"ELEMENT_{form.dtype.upper()}"}
        lines = [f"#define GRED_{macro} {text}" for macro, text in defined.items()]
        lines += [f'#include "{one}"' for one in ("lab/own.cuh", own, "lab/own_entries.cuh")]
        self._unit = self.folder / "unit.cpp"
        self._unit.write_text("\n".join([*lines, ""]), "utf-8")

    def asked(self, kind: str) -> dict[str, Any]:
        """Return a worker's settings: which kernels it runs, and on which device."""
        asked: dict[str, Any] = {"plain": None, "counting": None, "device": "simulated"}
        asked |= {"like": self.form.like, "data_blocks": self.form.data_blocks}
        asked["counting" if kind == "counting" else "plain"] = str(self.compiled(kind))
        if kind == "cuda" and self.gpu:
            asked |= {"device": self.gpu.name, "start": _GPU_START_SECONDS}
        return asked

    def compiled(self, kind: str) -> Path:
        """Compile one of the libraries, once; return its path."""
        made = self.folder / f"{kind}.so"
        if not made.exists():
            part = made.with_suffix(".part")
            command = [*self._command(kind), str(self._unit), "-o", str(part)]
            status, text = _run_bounded(command, self.folder)
            if status:
                said = first_error(text, str(self._user))
                raise CompileError(said or f"the compiler exited with status {status}")
            part.rename(made)
        return made

    def _command(self, kind: str) -> list[str]:
        """Return the compiler's command; nvcc passes paths to a shell, so it gets symlinks only."""
        if kind == "cuda" and self.gpu:
            words, package, beside = self.gpu.command(), *self._links
        else:
            words = [*compiler(), *_FLAGS, *_OPTIMISED[kind], *_QUIET]
            package, beside = map(Path.readlink, self._links)
        folders = package / "kernels/ladder", package / "kernels", package / "headers", beside
        return [*words, *(f"-I{folder}" for folder in folders)]

    def line_at(self, frames: Sequence[int]) -> tuple[str, int] | None:
        """Find the innermost line of the user's file for addresses in the counting library.

        binutils' addr2line, which comes with the compiler, resolves inlined functions. None if it
        is missing, or no line is in the user's file.
        """
        offsets = [f"{offset - 1:x}" for offset in frames]
        if not offsets or not shutil.which("addr2line"):
            return None
        command = ["addr2line", "-i", "-e", str(self.folder / "counting.so"), *offsets]
        said = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS)
        for line in said.stdout.splitlines():
            file, _, number = line.partition(" ")[0].rpartition(":")
            if file == str(self._user) and number.isdecimal():
                return file, int(number)
        return None


def _run_bounded(command: list[str], folder: Path) -> tuple[int, str]:
    """Run a compiler in its own session, killed as a whole; return its status and messages."""
    bounds = f"ulimit -v {_MEMORY_KIB} && ulimit -f {_FILE_NBYTES // 512}"
    with (
        TemporaryFile(dir=folder) as words,
        subprocess.Popen(
            ["sh", "-c", f'{bounds} && exec "$@"', "sh", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=words,
            env={**os.environ, "TMPDIR": str(folder), "LC_ALL": "C"},
            start_new_session=True,
        ) as child,
    ):
        try:
            status = child.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            raise CompileError(f"the compiler did not finish within {_SECONDS} seconds") from None
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
        words.seek(0)
        return status, printable(words.read(_WORDS_NBYTES).decode(errors="replace"))


# ---- compiler messages ----

_MESSAGE = 4000
_PLACE = re.compile(
    r"(?:In file included from |\s*from )?(.+?)(?::(\d+)(?::(\d+))?|\((\d+)\)): *(.*)"
)
_ERROR = re.compile(r"(?:fatal )?error(?: #\d+(?:-D)?)?: ")
_REQUIRED = re.compile(r" *(?:recursively )?required (?:from|by)|note: in instantiation of")
# g++ 13 prints this in place of the user's frame, after the function that is called there.
_OMITTED_FRAME = "recursively required from 'struct"

_IS_SHOWN = re.compile(r" (?!.*detected during)")
_TEMPLATES = [
    (r" \[with [^\]]*\]", ""),
    (r" \{aka '[^']*'\}", ""),
    (r"\b(?:counting|simulated|cuda)_kernels::", ""),
    (r"\bmemory<([^<>]+)>", r"\1 *"),
    (r"\bcell<([^<>]+)>", r"\1"),
    (r"\bpointer<([^<>,]+), (?:\(simulator_event\)2|SIMULATOR_SHARED)[^<>]*>", r"shared<\1>"),
    (r"\bpointer<([^<>,]+), [^<>]*>", r"global<\1>"),
    (r"\bcounted<sum<[^<>]*> ?>", "Fold"),
]


def first_error(text: str, path: str) -> str:
    """Reduce a compiler's output to its first error, located at the responsible line of the file.

    g++, clang++ and nvcc report an error in a template once per instance, with the chain of
    instantiations. If no error concerns the file, the output is returned, truncated.
    """
    lines = text.splitlines()
    origin: str | None = None  # last line of the file in the instantiation chain
    for number, line in enumerate(lines):
        place = _PLACE.match(line)
        if place is None:
            if "In instantiation of" in line:
                origin = None
            continue
        if origin is None and _OMITTED_FRAME in line:
            origin = _calling_line(lines[number - 1], path)
        is_own = place[1] == path
        if _REQUIRED.match(place[5]):
            origin = _where(place) if is_own else origin
        elif _ERROR.match(place[5]):
            if is_own:  # keep the source line and the caret below it
                below = takewhile(_IS_SHOWN.match, lines[number + 1 : number + 4])
                return _plain("\n".join([f"{_where(place)}: {place[5]}", *below]))
            origin = origin or _instantiation_line(lines[number + 1 :], path)
            if origin:
                number = int(origin.removeprefix(path).split(":")[1])
                source = printable("".join(_lines(path)[number - 1 : number]))
                return _plain(f"{origin}: {place[5]}\n{number:>5} | {source}")
    return text[:_MESSAGE]


def _where(place: re.Match[str]) -> str:
    return ":".join(filter(None, [place[1], place[2] or place[4], place[3]]))


def _instantiation_line(following: Iterable[str], path: str) -> str | None:
    """Find the file's line that instantiates the error; clang++ and nvcc print it afterwards."""
    for line in following:
        place = _PLACE.match(line)
        if place and _ERROR.match(place[5]):
            return None
        if place and place[1] == path and _REQUIRED.match(place[5]):
            return _where(place)
        told = re.search(r"at line (\d+) of (\S+)", line)
        if told and told[2] == path:
            return f"{path}:{told[1]}"
    return None


def _calling_line(frame: str, path: str) -> str | None:
    """Find the first line of the file with the name of a frame's function."""
    if called := re.search(r"required from '.*?(\w+)\(", frame):
        for number, line in enumerate(_lines(path), 1):
            if re.search(rf"\b{called[1]}\b", line):
                return f"{path}:{number}"
    return None


def _lines(path: str) -> list[str]:
    return Path(path).read_text(encoding="utf-8", errors="replace").split("\n")


def _plain(text: str) -> str:
    """Simplify the names of gred's templates."""
    for pattern, instead in _TEMPLATES:
        text = re.sub(pattern, instead, text)
    return text[:_MESSAGE]
