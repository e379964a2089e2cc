"""Run a user's kernel in a separate process, and report the outcome.

A kernel may loop forever, exhaust memory, write anywhere, fork or exit. Answers therefore come over
a pipe, one line per job, each with a timeout; anything else is reported from the process's end.
"""

import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 10  # timeout of a job
MEMORY = 4 << 30  # bytes of address space without a GPU; the stacks of a core take 64 MiB of it
UNREADABLE = "its process gave an unreadable answer"
# Raised when an answer does not have the form that a worker writes.
UNREADABLE_ERRORS: tuple[type[Exception], ...] = (AttributeError, LookupError, OverflowError)
UNREADABLE_ERRORS += (RecursionError, TypeError, ValueError)
_CPU_SECONDS, _END_SECONDS = 600, 5
_GRACE_SECONDS = 2  # for the worker to report the kernel's position
_ANSWER_NBYTES = 1 << 28  # a recorded access takes about 130 bytes
_OUT_OF_MEMORY = "bad_alloc", "MemoryError", "allocate memory", "out of memory"


class Answer(NamedTuple):
    """A job's answer, or its failure's kind, text and library addresses, innermost first."""

    number: int
    answer: Any
    failure: str = ""
    text: str = ""
    frames: tuple[int, ...] = ()


def answers(asked: dict[str, Any], seconds: float | None = None) -> Iterator[Answer]:
    """Run jobs in another process, each with a timeout; yield answers up to the first failure."""
    seconds = SECONDS if seconds is None else seconds
    start = asked.get("start", 0)
    limit = seconds + start  # the worker's own timeout, which reports the kernel's position
    request = {"memory": MEMORY, "seconds": _CPU_SECONDS, "limit": limit, **asked}
    limits = [seconds + _GRACE_SECONDS] * len(asked["jobs"])
    limits[0] += start
    ours, theirs = os.pipe()
    paths = filter(None, [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")])
    few = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": ":".join(paths)}
    with (
        os.fdopen(ours, "rb", buffering=0) as pipe,
        tempfile.TemporaryFile() as words,
        subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("worker.py")), str(theirs)],
            stdin=subprocess.PIPE,
            stdout=words,
            stderr=words,
            pass_fds=[theirs],
            env=os.environ | few,
            cwd="/",
            start_new_session=True,
        ) as child,
    ):
        try:
            os.close(theirs)
            assert child.stdin is not None
            with contextlib.suppress(BrokenPipeError), child.stdin:
                child.stdin.write(json.dumps(request).encode())
            rest = b""
            for number, most in enumerate(limits):
                until = time.monotonic() + most
                line, rest = _line(pipe, rest, until)
                if line is None:
                    kind, text, frames = _failure_of(child, words, until)
                    text = text or f"it did not finish within {seconds:g} seconds"
                    answer = Answer(number, None, kind, text, frames)
                else:
                    answer = _read(line, child.pid, number)
                yield answer
                if answer.failure:
                    return
        finally:  # its watcher kills it and its children; if not, the session is killed
            child.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_END_SECONDS)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _line(pipe: Any, rest: bytes, until: float) -> tuple[bytes | None, bytes]:
    """Read a line of bounded length, and part of the next; None if it does not arrive in time."""
    pieces, nbytes = [rest], len(rest)
    while b"\n" not in pieces[-1] and nbytes <= _ANSWER_NBYTES:
        left = max(0, until - time.monotonic())
        more = pipe.read(1 << 16) if select.select([pipe], [], [], left)[0] else b""
        if not more:
            return None, b""
        pieces.append(more)
        nbytes += len(more)
    line, _, rest = b"".join(pieces).partition(b"\n")
    return line, rest


def _read(line: bytes, process: int, number: int) -> Answer:
    try:
        said = json.loads(line)
        if said["process"] != process or said["forks"]:
            return Answer(number, None, "fork", "it created another process")
        if "error" in said:
            return Answer(number, None, "failed", printable(f"{said['error']}: {said['text']}"))
        if said["number"] != number:
            raise ValueError
        return Answer(number, said["answer"])
    except UNREADABLE_ERRORS:
        return Answer(number, None, "crash", UNREADABLE)


def printable(text: str) -> str:
    """Replace control characters, which a terminal would interpret."""
    mark = "\N{REPLACEMENT CHARACTER}"
    return "".join(c if c.isprintable() or c in "\t\n" else mark for c in text)


def _failure_of(
    child: subprocess.Popen[bytes], words: Any, until: float
) -> tuple[str, str, tuple[int, ...]]:
    """Determine why no answer came; after closing the pipe the process may be about to end."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(max(0.5, until - time.monotonic()))
    status = child.poll()
    words.seek(max(0, words.seek(0, os.SEEK_END) - 800))
    said = printable(" ".join(words.read().decode(errors="replace").split()))
    # Printed by kernels/simulated/last_words.h.
    before, mark, offsets = said.rpartition("kernel at:")
    frames: tuple[int, ...] = ()
    if mark and re.fullmatch("( [0-9a-f]{1,8}){0,16}", offsets):
        said, frames = before.rstrip(), tuple(int(offset, 16) for offset in offsets.split())
    if status is None or status == -signal.SIGALRM:
        return "time", "", frames
    if any(words in said for words in _OUT_OF_MEMORY):
        return "memory", f"it needs more than {MEMORY >> 30} GiB of memory", frames
    kind, text = "exit", f"it exited with status {status}"
    if status < 0:
        name = f"signal {-status}"
        with contextlib.suppress(ValueError):
            name = f"{signal.Signals(-status).name} ({signal.strsignal(-status)})"
        kind, text = "crash", f"its process was killed by {name}"
    return kind, text + (said and f": {said}"), frames
