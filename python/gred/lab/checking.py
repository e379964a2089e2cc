"""Check a rung at edge cases, in several thread orders, with every access observed; exercises."""

import os
import time
from collections.abc import Callable, Iterator
from importlib import resources
from operator import attrgetter
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np

from gred.counting import WARP, Counts, Line
from gred.lab import processes
from gred.lab.building import Build
from gred.lab.form import BLOCK_SIZES, Form
from gred.records import Records

FINDINGS_MAX = 4
_SECONDS_OF_A_FAULT = 3  # the search continues this long after the first finding
_FRAMES_MAX = 16  # most frames of a reported stack that are resolved
_KINDS_BY_CUDA_ERROR = {
    "cudaErrorIllegalAddress": "bounds",
    "cudaErrorInvalidAddressSpace": "bounds",
    "cudaErrorMisalignedAddress": "alignment",
}

KINDS = {
    "race": "a data race",
    "barrier": "a divergent barrier",
    "bounds": "an out-of-bounds access",
    "unwritten": "an uninitialized read",
    "missing": "a missing result",
    "alignment": "a misaligned access",
    "endless": "an endless loop",
    "answer": "a wrong result",
    "time": "a timeout",
    "memory": "out of memory",
    "crash": "a crash",
    "exit": "an exit",
    "fork": "a fork",
    "failed": "a failure",
    "goal": "the exercise's goal is not reached",
}


class Finding(NamedTuple):
    """One error in a rung, with the smallest case that shows it.

    ``file`` and ``line`` are None if the line is unknown; ``size``, ``block_size`` and ``order``
    describe the run; on a GPU, where threads have no fixed order, ``order`` names the GPU.
    """

    kind: str
    text: str
    file: str | None
    line: int | None
    size: int
    block_size: int
    order: str

    @property
    def where(self) -> str:
        """The line, formatted as `my_rung.cuh:12`."""
        return "" if self.file is None else f"{PurePath(self.file).name}:{self.line}"

    @property
    def case(self) -> str:
        """Description of the run."""
        elements = "1 element" if self.size == 1 else f"{self.size:,} elements"
        return f"{elements}, blocks of {self.block_size}, {self.order}"

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        return f"{where}{KINDS[self.kind]}: {self.text} ({self.case})"


class Report(Records):
    """Result of a check: the findings; empty, with ``right`` True, for a correct rung."""

    columns = (
        ("where", "where"),
        ("what", lambda f: KINDS[f.kind]),
        ("", "text"),
        ("case", "case"),
    )

    @property
    def right(self) -> bool:
        """Whether there are no findings."""
        return len(self) == 0

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no errors found"

    def _repr_html_(self) -> str:
        return "<p>no errors found</p>" if self.right else super()._repr_html_()


# ---- edge cases: lengths around the sizes of warps, blocks and tiles ----

ORDERS = ("forwards", "backwards", "shuffled")
_LONGEST = 1 << 16
_MULTIPROCESSORS = 3


def cases(form: Form) -> Iterator[dict[str, Any]]:
    """Yield the checks, simplest first; the largest blocks, most of the work, in one order only."""
    for block_size in form.block_sizes:
        for size in sizes(block_size, form.data_blocks):
            for order in ORDERS if block_size < BLOCK_SIZES[-1] else ORDERS[-1:]:
                yield case(form, size, block_size, order=order)
    for block_size in form.block_sizes[:2]:
        for size in sizes(block_size, form.data_blocks)[-2:]:
            yield case(form, size, block_size, dtype=form.dtype or "float64")
            yield case(form, size, block_size, offset=1)


def cases_on(gpu: str, form: Form) -> Iterator[dict[str, Any]]:
    """Yield the checks on a GPU: the same lengths and block sizes, in the GPU's thread order."""
    for block_size in form.block_sizes:
        for size in sizes(block_size, form.data_blocks):
            for dtype in [form.dtype] if form.dtype else ["int32", "float64"]:
                one = case(form, size, block_size, dtype=dtype, order=f"on {gpu}")
                yield one | {"kind": "answer", "device": gpu}


def case(form: Form, size: int, block_size: int, **unusual: Any) -> dict[str, Any]:
    """Build one check; the array starts `offset` elements after a 256-byte boundary."""
    job = {"kind": "check", "like": form.like, "multiprocessors": _MULTIPROCESSORS}
    job |= {"size": size, "block_size": block_size, "dtype": form.dtype or "int32"}
    return job | {"order": "forwards", "values": "random", "offset": 0} | unusual


def sizes(block_size: int, data_blocks: int) -> list[int]:
    """List lengths around a warp, a block and a block's tile, and some of several blocks."""
    tile = block_size * data_blocks
    ends = {edge + k for edge in (WARP, block_size, tile) for k in (-1, 0, 1)}
    ends |= {1, 2, 2 * tile + 1, 3 * tile + block_size // 2 + 1, 7 * tile - 1}
    return sorted(size for size in ends if 0 < size <= max(_LONGEST, tile + 1))


def array_of(job: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Create a check's array, preceded by `offset` elements that are not part of it.

    Random integers cover the type's full range, so that every missing or repeated element is
    noticed; floats are small integers, with sums that are exact in every order.
    """
    length = job["offset"] + job["size"]
    dtype = np.dtype(job["dtype"])
    if job["values"] == "ones":
        return np.ones(length, dtype)
    if job["values"] == "counted":
        return np.arange(length, dtype=dtype)
    random = np.random.default_rng(length)
    if dtype.kind in "iu":
        whole = np.iinfo(dtype)
        return np.asarray(random.integers(whole.min, whole.max, length, dtype, endpoint=True))
    most = max(1, 2**23 // length) if dtype == np.float32 else 2**20
    return np.asarray(random.integers(-most, most, length, np.int64, endpoint=True), dtype)


def truth(job: dict[str, Any]) -> int | float:
    """Return the expected sum, in the element type."""
    own = array_of(job)[job["offset"] :]
    return own.sum(dtype=own.dtype).item()  # type: ignore[no-any-return]


# ---- checks ----


def check(build: Build) -> Report:
    """Check a rung on the simulated device, and if it is correct there, on the GPU."""
    report = _check(build, list(cases(build.form)))
    if report.right and build.gpu:
        report = _check(build, list(cases_on(build.gpu.name, build.form)))
    return report


def _check(build: Build, jobs: list[dict[str, Any]]) -> Report:
    """Run cases until there are enough findings; at most one finding per line and kind."""
    enough = time.monotonic() + _SECONDS_OF_A_FAULT
    found: dict[tuple[Any, ...], Finding] = {}
    for answer in _answers(build, jobs):
        finding = _finding_of(build, jobs[answer.number], answer)
        if finding and not _is_known(finding, found):
            found[finding[:1] + finding[2:4]] = _with_hint(build, jobs[answer.number], finding)
        if len(found) == FINDINGS_MAX or (found and time.monotonic() > enough):
            break
    return Report(found.values())


def _is_known(finding: Finding, found: dict[tuple[Any, ...], Finding]) -> bool:
    """Return whether a finding was reported, or follows from a reported out-of-bounds access."""
    kinds = {finding.kind, "bounds"} if finding.kind in ("unwritten", "race") else {finding.kind}
    return any((kind, finding.file, finding.line) in found for kind in kinds)


def _answers(build: Build, jobs: list[dict[str, Any]]) -> Iterator[processes.Answer]:
    kind = "cuda" if jobs[0]["kind"] == "answer" else "counting"
    return processes.answers({**build.asked(kind), "jobs": jobs})


def _finding_of(build: Build, job: dict[str, Any], answer: processes.Answer) -> Finding | None:
    """Convert an answer to a finding, validating it, since the kernel may have forged it."""
    kind, text = answer.failure, answer.text
    place: tuple[str | None, int | None] | None = None
    try:
        if text.startswith("CudaError: "):  # most errors on a GPU have no details
            named = (kind for name, kind in _KINDS_BY_CUDA_ERROR.items() if f"({name})" in text)
            kind = next(named, "crash")
        if kind:
            place = build.line_at(answer.frames)
        elif fault := answer.answer.get("fault"):
            kind, file, line, text, frames = fault
            is_text = isinstance(text, str) and isinstance(file, str | None)
            if kind not in KINDS or not is_text or not isinstance(line, int):
                raise TypeError
            file, text = file and processes.printable(file), processes.printable(text)
            library = str(build.folder / "counting.so")
            own = build.line_at([offset for at, offset in frames[:_FRAMES_MAX] if at == library])
            if kind != "missing":
                place = own or (file, line)
                text += f", in {PurePath(file).name}:{line}" if own and own[0] != file else ""
        else:
            expected, got = truth(job), _result(answer)
            if got == expected:
                return None
            kind, text = "answer", f"{got} instead of {expected}"
    except processes.UNREADABLE_ERRORS:
        kind, text, place = "crash", processes.UNREADABLE, None
    file, line = place or (None, None)
    return Finding(kind, text, file, line, job["size"], job["block_size"], job["order"])


def _result(answer: processes.Answer) -> int | float:
    result = answer.answer["result"]
    if not isinstance(result, int | float):
        raise TypeError
    return result


def _with_hint(build: Build, job: dict[str, Any], finding: Finding) -> Finding:
    """Explain a wrong answer by missing elements, found by two runs: of ones, and of indices."""
    dtype = build.form.dtype or "int64"
    is_exact = dtype != "float32" or job["size"] <= 4096  # sums of indices are below 2**24
    if finding.kind != "answer" or not is_exact:
        return finding
    again = [{**job, "dtype": dtype, "values": kind} for kind in ("ones", "counted")]
    told = list(_answers(build, again))
    try:
        counted, numbered = (
            int(truth(one) - _result(answer)) for one, answer in zip(again, told, strict=True)
        )
    except processes.UNREADABLE_ERRORS:  # a run failed or had a fault
        return finding
    hint = _hint(counted, numbered - counted * job["offset"], job["size"])
    return finding._replace(text=f"{finding.text}: {hint}") if hint else finding


def _hint(missing: int, numbers: int, size: int) -> str:
    """Describe the elements missing from sums of ones and of indices."""
    if abs(missing) == 1 and 0 <= numbers * missing < size:
        what = "is skipped" if missing == 1 else "is added twice"
        return f"element {numbers * missing} {what}"
    if 0 < missing <= size:
        return f"{missing} of {size} elements are skipped"
    if -size * 64 < missing < 0:
        return f"elements are added {-missing} times too often"
    return "other values than the elements are added" if missing else ""


# ---- the exercises: incomplete rungs, and additional goals for correct ones ----


class Goal(NamedTuple):
    """An exercise's goal beyond the right answer, and the cost that selects the line to report."""

    is_reached: Callable[[Counts], bool]
    text: Callable[[Counts], str]
    events: tuple[str, ...]
    cost: Callable[[Line], int] = attrgetter("requests")


class Exercise(NamedTuple):
    """An incomplete rung; ``source`` is the text of its file, with the task as first comment."""

    number: int
    name: str
    title: str
    source: str
    goal: Goal | None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file to be completed.

        Raises FileExistsError if the file exists, since it may hold a solution.
        """
        target = Path(path)
        with target.open("x", encoding="utf-8") as file:
            file.write(self.source)
        return target


class Exercises(Records):
    """Result of `exercises`."""

    columns = (("#", "number"), ("kernel", "name"), ("topic", "title"))


_BUSY_LANES = Goal(
    lambda total: (total.active_lanes or 0) >= 12,
    lambda total: (
        f"{total.active_lanes or 0:.1f} of a warp's 32 lanes are active in an arithmetic step; "
        "the goal is 12"
    ),
    ("merge",),
    lambda line: 32 * line.requests - line.lanes,
)
_NO_CONFLICTS = Goal(
    lambda total: not total.bank_conflicts,
    lambda total: f"{total.bank_conflicts:,} bank conflicts; the goal is none",
    ("shared_load", "shared_store"),
    attrgetter("conflicts"),
)
_FEW_BARRIERS = Goal(
    lambda total: total.block_barriers <= 4 * total.blocks,
    lambda total: (
        f"a block of 256 threads waits at {total.block_barriers / total.blocks:.0f} block "
        "barriers; 4 are enough"
    ),
    ("block_barrier",),
)
_SHUFFLES = Goal(
    lambda total: bool(total.shuffle_requests) and total.block_barriers <= total.blocks,
    lambda total: "the goal is to use shuffles, and one block barrier",
    ("block_barrier",),
)
_EXERCISES: tuple[tuple[str, str, Goal | None], ...] = (
    ("tail", "the end of the array: no load past it", None),
    ("barriers", "a tree in shared memory: where threads must wait", None),
    ("packed_threads", "divergence: the same pairs, by adjacent threads", _BUSY_LANES),
    ("banks", "bank conflicts: the same tree, with other pairs", _NO_CONFLICTS),
    ("first_add", "no idle threads at the start: two elements while loading", None),
    ("last_warp", "the last warp: fewer barriers, but enough", _FEW_BARRIERS),
    ("lanes", "warp shuffles: from one warp to the whole block", _SHUFFLES),
)
# Kernel name of an exercise -> its goal.
GOALS = {name: goal for name, _, goal in _EXERCISES}


def exercises() -> Exercises:
    """List the seven exercises, as `exercise` returns them; the tuple prints as a table."""
    return Exercises(exercise(number) for number in range(1, len(_EXERCISES) + 1))


def exercise(number: int) -> Exercise:
    """Return exercise `number`, from 1 to 7: an incomplete rung to save, complete, and check.

    ``source`` is the file's text, with the task in its first comment; ``save(path)`` writes it.
    `Rung.check` also checks a kernel of the exercise's name for the exercise's goal. Raises
    ValueError if the exercise does not exist.
    """
    if not isinstance(number, int) or not 1 <= number <= len(_EXERCISES):
        raise ValueError(f"exercises are numbered from 1 to {len(_EXERCISES)}; got {number!r}")
    name, title, goal = _EXERCISES[number - 1]
    path = resources.files("gred").joinpath(f"exercises/{number}_{name}.cuh")
    return Exercise(number, name, title, path.read_text(encoding="utf-8"), goal)
