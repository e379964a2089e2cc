"""A user's own rung, checked, counted and timed in separate processes; its table of the ladder."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

import gred
from gred import counting, recording
from gred.checks import number_from
from gred.lab import checking, form, processes
from gred.lab.building import Build, CompileError, gpu_named
from gred.lab.checking import Finding, Report
from gred.measure import KernelTime
from gred.records import Columns, Records, inserted_after_like

_SECONDS = 600  # timeout of counting and timing, for large arrays


class Rung:
    """A user's own kernel, compiled for the simulated device and possibly a GPU.

    Created by `gred.lab.compile`; runs in separate processes. Attributes: ``name``; ``path``: its
    file; ``like``: the rung that it is launched as; ``data_blocks``: the least number of elements
    per thread; and, each possibly None, ``dtype``: the only type it sums, such as ``'float32'``;
    ``block_size``: the only one supported; ``gpu``: the GPU compiled for, such as ``'cuda:0'``.
    """

    def __init__(self, path: Path, build: Build) -> None:
        self.path = path
        self.name, self.like = build.form.name, build.form.like
        self.data_blocks = build.form.data_blocks
        self.dtype, self.block_size = build.form.dtype, build.form.block_size
        self.gpu = build.gpu.name if build.gpu else None
        self._build = build

    def __repr__(self) -> str:
        return f"<rung {self.name} of {self.path.name}, launched like {self.like}>"

    def check(self) -> Report:
        """Check the rung at edge cases, in several thread orders, observing every access.

        On the simulated device, in blocks of 32 to 1024 threads, it finds data races, whether or
        not they affect the result, divergent barriers, out-of-bounds and misaligned accesses,
        uninitialized reads, crashes, endless loops, and results that differ from NumPy's. If there
        are no findings, a rung compiled for a GPU is then run there at the same lengths, and its
        results are checked, as are crashes and endless loops. An exercise's goal is checked last.

        Each finding has its line and its smallest case; without findings the report is empty and
        ``right`` is True. Raises RuntimeError or MemoryError if this machine cannot run processes,
        but never because of the kernel.
        """
        report = checking.check(self._build)
        if not report.right or self.name not in checking.GOALS:
            return report
        goal, size = checking.GOALS[self.name], 8 * 256 * self.data_blocks
        case = size, 256, "forwards"
        try:
            total = self.counters(np.ones(size, np.float32), block_size=256).total
        except RuntimeError as error:
            return Report([Finding("failed", str(error), None, None, *case)])
        if goal is None or goal.is_reached(total):
            return report
        own = (x for x in total.lines if Path(x.file) == self.path and x.event in goal.events)
        line = max(own, key=goal.cost, default=None)
        file, number = (line.file, line.number) if line else (None, None)
        return Report([Finding("goal", goal.text(total), file, number, *case)])

    def counters(
        self,
        a: ArrayLike,
        /,
        *,
        block_size: int | None = None,
        dtype: DTypeLike | None = None,
        multiprocessors: int = counting.H200_MULTIPROCESSORS,
    ) -> counting.Counters:
        """Count the rung's memory accesses, as `gred.counters` does for the ladder's rungs.

        The array must be on the host; other arguments and errors are as there. Lines refer to the
        user's file and its includes. Raises RuntimeError if the kernel crashes or never ends.
        """
        how = {"block_size": block_size, "dtype": dtype, "multiprocessors": multiprocessors}
        with self._counted(a, how, 0) as (call, result, launches):
            return counting.counters_of(call, result, map(counting.counts_of_launch, launches))

    def accesses(
        self,
        a: ArrayLike,
        /,
        *,
        block_size: int | None = None,
        dtype: DTypeLike | None = None,
        multiprocessors: int = counting.H200_MULTIPROCESSORS,
    ) -> recording.Accesses:
        """Record all accesses of the rung's threads, as `gred.accesses` does.

        The array must be on the host; other arguments and errors are as there. Raises RuntimeError
        if the kernel crashes or never ends.
        """
        how = {"block_size": block_size, "dtype": dtype, "multiprocessors": multiprocessors}
        with self._counted(a, how, recording.ROOM) as (call, result, launches):
            for launch in launches:
                launch[3] = [(*row[:7], bytes.fromhex(row[7]), *row[8:]) for row in launch[3]]
            return recording.accesses_of(call, result, launches)

    def kernel_time(
        self,
        a: ArrayLike,
        /,
        *,
        block_size: int | None = None,
        dtype: DTypeLike | None = None,
        device: str | None = None,
        samples: int = 5,
    ) -> KernelTime:
        """Measure the rung's time in a separate process, without copies, as `gred.kernel_time`.

        Caches are cold; `device` is ``'simulated'``, or the GPU that the rung is compiled for, the
        default if there is one. Raises ValueError if the rung is not compiled for the device,
        RuntimeError if the kernel crashes or never ends.
        """
        where = device if device is not None else self.gpu or "simulated"
        where = self.gpu if self.gpu and where == "cuda" else where
        if where not in ("simulated", self.gpu):
            also = f" and {self.gpu}" if self.gpu else ""
            raise ValueError(f"{self.name} is compiled for simulated{also}; got device={device!r}")
        how = {"block_size": block_size, "dtype": dtype, "samples": samples, "device": where}
        said = self._run("time", a, how, "plain" if where == "simulated" else "cuda")
        with self._checking_answer():
            times = {name: np.array(said[name]) for name in ("seconds", "first_pass")}
            return KernelTime(**{**said, **times, "method": self.name})

    @contextlib.contextmanager
    def _counted(self, a: Any, how: dict[str, Any], room: int) -> Iterator[tuple[Any, ...]]:
        """Run the rung with accesses counted, and recorded if `room` is not 0."""
        number = number_from(how["multiprocessors"], "multiprocessors", 1024)
        said = self._run("counters", a, how | {"multiprocessors": number, "room": room}, "counting")
        with self._checking_answer():
            call = ["sum", self.name, *said["told"][1:], number]
            yield call, said["result"], said["launches"]

    def _run(self, what: str, a: Any, options: dict[str, Any], kind: str) -> Any:
        """Run one job with the kernels of one of the build's libraries; return its answer."""
        asked = self._build.asked(kind)
        a = np.asarray(a)
        if self.dtype and a.dtype != self.dtype:
            raise ValueError(f"{self.name} sums {self.dtype}; got an array of {a.dtype}")
        job = {**options, "kind": what, "method": self.like}
        job["block_size"] = job["block_size"] or self.block_size
        if self._build.form.call and job["dtype"] is None:
            job["dtype"] = a.dtype
        if job["dtype"] is not None:
            job["dtype"] = np.dtype(job["dtype"]).str
        with TemporaryDirectory(dir=self._build.folder) as folder:
            array = Path(folder) / "array.npy"
            np.save(array, a, allow_pickle=False)
            job["array"] = str(array)
            (answer,) = processes.answers({**asked, "jobs": [job]}, _SECONDS)
        if answer.failure == "failed":
            name, _, text = answer.text.partition(": ")
            raise {"ValueError": ValueError, "TypeError": TypeError}.get(name, RuntimeError)(text)
        if answer.failure:
            own = self._build.line_at(answer.frames) if kind == "counting" else None
            where = f", in {Path(own[0]).name}:{own[1]}" if own else ""
            what = checking.KINDS[answer.failure]
            raise RuntimeError(f"{self.name}: {what}: {answer.text}{where}")
        return answer.answer

    @contextlib.contextmanager
    def _checking_answer(self) -> Iterator[None]:
        """Raise RuntimeError if an answer, which the kernel may have forged, cannot be read."""
        try:
            yield
        except processes.UNREADABLE_ERRORS as error:
            raise RuntimeError(f"{self.name}: {processes.UNREADABLE}") from error


def compile(
    path: str | os.PathLike[str],
    *,
    like: str | None = None,
    data_blocks: int | None = None,
    device: str | None = None,
) -> Rung:
    """Compile your own rung from a file with one kernel, in ordinary CUDA or the ladder's form.

    Parameters
    ----------
    path : path
        File with a kernel in the form of ``gred/kernels/ladder``: a template with parameters
        ``<class Fold>`` if it works in place, or ``<class Fold, class Array>`` if it only reads,
        optionally followed by ``unsigned Block``, the block size. Or with a kernel in ordinary
        CUDA, ``__global__ void reduce(const float *in, float *out, int n)``.
    like : str, optional
        Rung of the ladder that the kernel is launched as. By default taken from a comment in the
        file, ``launched like unroll8`` or ``launched like unroll8, 16 data blocks``, or from the
        kernel's name, if it is a rung's. Ordinary CUDA is launched like shared_sequential, or like
        atomic if it calls atomicAdd.
    data_blocks : int, optional
        Least number of elements per thread; by default that of `like`.
    device : str, optional
        ``'cuda'`` or ``'cuda:N'``: a GPU to run on, besides the simulated device, which checks and
        counts; ``'simulated'``: no GPU. By default the first GPU, if it and nvcc are available.

    Returns
    -------
    Rung
        The compiled rung, to be checked, counted and timed.

    Raises
    ------
    gred.lab.CompileError
        If it does not compile; the text is the first error, with the line of the file.
    ValueError, TypeError
        If the file does not have one kernel of these forms, or its launch is unknown, `data_blocks`
        is not an integer from 1 to 1024, or the device does not exist.
    FileNotFoundError, UnicodeDecodeError, RuntimeError
        If the file does not exist or is not text, or no compiler, or no GPU, is available.

    Examples
    --------
    >>> import gred, pathlib
    >>> ladder = pathlib.Path(gred.__file__).parent / "kernels" / "ladder"
    >>> rung = gred.lab.compile(ladder / "03_interleaved.cuh")
    >>> rung.check()
    no errors found

    """
    file = Path(path).absolute()
    return Rung(file, _built(file, like, data_blocks, device))


def _built(file: Path, like: str | None, data_blocks: int | None, device: str | None) -> Build:
    """Compile a file for the simulated device, and for the selected GPU."""
    gpu, source = gpu_named(device), form.read(file)
    build = Build(file, source, form.form_of(source, like, data_blocks), gpu)
    build.compiled("counting")
    try:
        if gpu:
            build.compiled("cuda")
    except CompileError as error:
        if device:
            raise
        hint = "nvcc rejects what the host's compiler accepts; device='simulated' needs no nvcc"
        raise CompileError(f"{error}\n{hint}") from None
    return build


# ---- the table of the ladder with a user's own rung ----

_SAMPLES = 20
_LEAST_READ = 1024  # bytes, the least that gred.read_limit reads


class LadderRow(NamedTuple):
    """A rung with its counts and time; a user's own rung has no number.

    ``time``, and ``share`` of the GPU's read limit, are None without a GPU.
    """

    number: int | None
    name: str
    counters: gred.Counters
    time: gred.KernelTime | None = None
    share: float | None = None

    @property
    def total(self) -> gred.Counts:
        """The counts of all passes."""
        return self.counters.total

    @property
    def seconds(self) -> float:
        """The median time of all passes."""
        assert self.time is not None
        return float(np.median(self.time.seconds))


def _text(form: str, value: float | None) -> str | None:
    return None if value is None else format(value, form)


class Ladder(Records):
    """Result of `ladder`: the counts in which rungs differ most."""

    columns: ClassVar[Columns] = (
        ("#", lambda r: "*" if r.number is None else r.number),
        ("method", "name"),
        ("passes", lambda r: len(r.counters.passes)),
        ("sectors loaded", lambda r: f"{r.total.global_load_sectors:,}"),
        ("used", lambda r: _text(".0%", r.total.global_load_efficiency)),
        ("conflicts", lambda r: f"{r.total.bank_conflicts:,}"),
        ("barriers", lambda r: f"{r.total.block_barriers:,}"),
        ("lanes", lambda r: _text(".1f", r.total.active_lanes)),
    )


class TimedLadder(Ladder):
    """Result of `ladder` with a GPU: also median times of all passes there."""

    columns = (
        *Ladder.columns,
        ("us on the GPU", lambda r: f"{1e6 * r.seconds:,.1f}"),
        ("GB/s", lambda r: f"{r.time.nbytes / r.seconds * 1e-9:,.1f}"),
        ("of limit", lambda r: f"{r.share:.1%}"),
    )


def ladder(
    rung: Rung, a: ArrayLike, /, *, block_size: int = 256, timed: ArrayLike | None = None
) -> Ladder:
    """Count your own rung and those of the ladder, and time all if yours is compiled for a GPU.

    Returns a `LadderRow` for each rung from 0 to 22, and for yours after the rung that it is
    launched like, with ``number``, ``name`` and ``counters``; on a GPU also with ``time``, as of
    `gred.kernel_time`, and ``share`` of the `gred.read_limit`. It prints as a table.

    `a` is as for `gred.counters`; `timed`, by default the same, is the array reduced on the GPU.
    Blocks have `block_size` threads, unless your rung supports only another size. Raises ValueError
    as `gred.counters` does, RuntimeError if the kernel crashes or never ends.
    """
    own_size = rung.block_size or block_size
    own = LadderRow(None, rung.name, rung.counters(a, block_size=own_size))
    rows = [
        LadderRow(m.number, m.name, gred.counters(a, method=m.name, block_size=block_size))
        for m in gred.methods()
        if m.number is not None and m.number <= form.LATEST
    ]
    rows = inserted_after_like(rows, own, rung.like)
    if rung.gpu is None:
        return Ladder(rows)
    long = np.asarray(a if timed is None else timed)
    options: dict[str, Any] = {"samples": _SAMPLES, "device": rung.gpu}
    read = gred.read_limit(rung.gpu, max(long.nbytes, _LEAST_READ))
    limit = read.nbytes / float(np.median(read.seconds))
    told = []
    for row in rows:
        if row.number is None:
            time = rung.kernel_time(long, block_size=own_size, **options)
        else:
            time = gred.kernel_time(long, method=row.name, block_size=block_size, **options)
        row = row._replace(time=time)
        told.append(row._replace(share=time.nbytes / row.seconds / limit))
    return TimedLadder(told)
