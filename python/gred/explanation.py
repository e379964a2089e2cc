"""Explain a call without running it: its device, its steps, and the memory it uses."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike, DTypeLike

from gred import _core
from gred.records import Records, facts_html, facts_text

_REASONS = {
    "array": "the array is on this device",
    "out": "out is on this device",
    "device": "device= was given",
    "method": "the method requires it",
    "default": "the array is on the host, and no other device was requested",
}

_FORMS = {
    "flat": "contiguous elements",
    "strided": "strided rows and their mask, in place",
    "gathered": "strided elements of any type, gathered one by one",
    "rows": "rows: each result's elements are contiguous",
    "columns": "columns: neighboring results' elements are contiguous",
}

_LEFT = {"out": "to out, on the device", "array": "to an array on the device"}

_TIMES = {"piece": "each piece: ", "last piece": "last piece: ", "results": "pieces' results: "}


class Step(NamedTuple):
    """One launch or library call; shared memory is in bytes per block, clusters in blocks."""

    when: str
    work: str
    grid: int | None
    block_size: int | None
    shared_nbytes: int
    cluster_size: int
    cooperative: bool
    size: int
    reads: str
    writes: str

    def launched_how(self) -> str:
        """Describe a cooperative or cluster launch."""
        if self.cooperative:
            return ", cooperative"
        return f", in clusters of {self.cluster_size}" if self.cluster_size > 1 else ""


class Part(NamedTuple):
    """One part of the workspace; offset and size are in bytes."""

    name: str
    offset: int
    nbytes: int


class Steps(Records):
    """The steps of a call."""

    columns = (
        ("step", lambda s: s.when + s.work + s.launched_how()),
        ("reads", "reads"),
        ("elements", lambda s: f"{s.size:,}"),
        ("grid", lambda s: s.grid and f"{s.grid:,}"),
        ("block", "block_size"),
        ("shared", lambda s: f"{s.shared_nbytes:,} B" if s.shared_nbytes else None),
        ("writes", "writes"),
    )


class Parts(Records):
    """The parts of a call's workspace."""

    columns = (
        ("workspace", "name"),
        ("at", lambda p: f"{p.offset:,}"),
        ("bytes", lambda p: f"{p.nbytes:,}"),
    )


class Explanation(NamedTuple):
    """Result of `explain`; prints as text and tables."""

    reduction: str
    device: str
    why: str
    method: str
    block_size: int | None
    dtype: str
    size: int
    accumulator: str
    results: int
    at_once: int
    array: str
    pieces: int
    piece: int
    steps: Steps
    workspace: Parts
    workspace_nbytes: int
    result: str

    def _facts(self) -> list[tuple[str, str]]:
        pieces = "" if self.pieces < 2 else f", in {self.pieces:,} pieces of {self.piece:,}"
        at_once = f", {self.at_once:,} at a time" if self.at_once < self.results else ""
        each = self.size // max(self.results, 1)
        facts = [
            ("call", f"{self.reduction} of {self.size:,} {self.dtype}, as {self.accumulator}"),
            ("results", f"{self.results:,} of {each:,} each{at_once}"),
            ("runs on", f"{self.device}: {self.why}"),
            ("method", self.method + (f", blocks of {self.block_size}" if self.block_size else "")),
            ("array", self.array + pieces),
            ("workspace", f"{self.workspace_nbytes:,} bytes"),
            ("result", self.result),
        ]
        return facts if self.results != 1 else [facts[0], *facts[2:]]

    def __repr__(self) -> str:
        tables = [repr(table) for table in (self.steps, self.workspace) if table]
        return "\n\n".join([facts_text(self._facts()), *tables])

    def _repr_html_(self) -> str:
        tables = [table._repr_html_() for table in (self.steps, self.workspace) if table]
        return "".join([facts_html(self._facts()), *tables])


def _steps(rows: tuple[tuple[Any, ...], ...], pieces: int) -> Steps:
    """Build the steps, and number the passes of each piece."""
    steps, passes, before = [], 0, None
    for when, work, grid, block, *rest in rows:
        passes = (passes if when == before else 0) + (work == "pass")
        before = when
        name = f"pass {passes}" if work == "pass" else work
        time = _TIMES.get(when, "") if pieces > 1 else ""
        steps.append(Step(time, name, grid or None, block or None, *rest))
    return Steps(steps)


def _launch_facts(row: tuple[Any, ...], given: bool) -> tuple[Any, ...]:
    """Describe a plan of launches from C's row; `given`: an array for the results was passed."""
    form, _, _, pieces, piece, steps, parts, total, result = row
    uploaded = any(name == "uploaded piece" for name, _, _ in parts)
    array = ("uploaded; " if uploaded else "") + _FORMS[form]
    result = "array" if result == "out" and not given else result
    where = _LEFT.get(result, f"from the {result} to the host")
    taken = Parts(Part(*part) for part in parts)
    return array, pieces, piece, _steps(steps, pieces), taken, total, where


def _host_facts(row: tuple[Any, ...], size: int) -> tuple[Any, ...]:
    results, way, chunk, threads, instructions, copied = row
    nothing = (Steps(), Parts(), copied, "to the host")
    if way is None:
        return "empty: nothing is run", 0, 0, *nothing
    way = f"{results}, {way}" if results else way
    way += f", in chunks of {chunk:,}" if chunk else ""
    way += f", on up to {threads} threads" if threads > 1 else ""
    way += f", by {instructions} instructions" if instructions else ""
    return way, 1, size, *nothing


def explain(
    a: ArrayLike | Any,
    op: str = "sum",
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    method: str = "auto",
    block_size: int | None = None,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    initial: Any = ...,
    where: ArrayLike = True,
    out: Any = None,
) -> Explanation:
    """Explain a call: where it would run and why, in which steps, and with how much memory.

    Nothing is run, and GPUs are initialized only if the call would use one.

    Parameters
    ----------
    a, op, axis, keepdims, method, block_size, dtype, device, initial, where, out
        As for `gred.sum`; `op` is the name of a reduction, see `gred.reductions`.

    Returns
    -------
    Explanation
        ``device`` and ``why`` it is used; ``method``; ``block_size``; ``dtype`` and number ``size``
        of the elements; ``accumulator``: the type of accumulators; ``results``: their number;
        ``at_once``: results computed together; ``array``: how it is read, in ``pieces`` of at most
        ``piece`` elements; ``steps``: launches with reads and writes; ``workspace`` and its size
        ``workspace_nbytes``; ``result``: where it is stored. It prints as text and tables.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As the reduction itself.

    Examples
    --------
    >>> import gred, numpy as np
    >>> x = np.ones(10**6, np.float32)
    >>> plan = gred.explain(x, "sum", method="unroll8", device="simulated")
    >>> [(step.work, step.grid, step.block_size) for step in plan.steps][1:]
    [('pass 1', 245, 512), ('pass 2', 1, 512)]
    """
    options: dict[str, Any] = {"axis": axis, "keepdims": keepdims, "dtype": dtype, "device": device}
    options |= {"method": method, "block_size": block_size}
    row = _core.explain(a, op, initial=initial, where=where, out=out, **options)
    name, place, why, method, block, elements, size, accumulator, *made, how = row
    launches = len(how) > 6
    taken = _launch_facts(how, out is not None) if launches else _host_facts(how, size)
    accumulator = how[1] if launches else accumulator
    told = (name, place, _REASONS[why], method, block or None, elements, size, accumulator)
    return Explanation(*told, *made, *taken)
