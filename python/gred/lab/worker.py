"""The process that runs a user's kernel: reads jobs, runs them, and writes an answer for each.

`gred.lab.processes` starts it, with jobs on standard input and the file descriptor of a pipe for
answers, and does not trust the answers, since a kernel may write anywhere. The process forks the
worker; the parent runs no user code, watches the worker, and kills everything that it leaves
behind. gred is imported after the fork, which neither the simulated device nor CUDA survives.
"""

import contextlib
import ctypes
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_FILE_NBYTES = 1 << 20
_CORES = 8


def main() -> None:
    """Run the jobs from standard input."""
    own = str(Path(__file__).parent)  # its modules must not be importable as top-level ones
    sys.path[:] = [folder for folder in sys.path if folder != own]
    asked = json.loads(sys.stdin.buffer.read())
    _inherit_orphans(signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # until the watcher handles it
    worker = os.fork()
    if worker:
        _watch(worker)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _inherit_orphans(signal.SIGKILL)
    _limit_resources(asked)
    with os.fdopen(int(sys.argv[1]), "wb", buffering=0) as pipe:
        _load(asked)
        for number, job in enumerate(asked["jobs"]):
            signal.setitimer(signal.ITIMER_REAL, asked["limit"])  # its handler tells where
            try:
                done = {"answer": _JOBS[job["kind"]](job)}
            except (ValueError, TypeError, RuntimeError, MemoryError) as error:
                done = {"error": type(error).__name__, "text": str(error)}
            forks = _end_children()
            # After a fork in the kernel several processes get here; the answer names the process.
            said = {"process": os.getppid(), "number": number, **done, "forks": forks}
            pipe.write(json.dumps(said, default=bytes.hex).encode() + b"\n")


def _inherit_orphans(end: int) -> None:
    """Reparent orphans to this process, and send it signal `end` when its parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, end)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _watch(worker: int) -> None:
    """Wait for the worker, or kill it on SIGTERM; kill its children, and exit with its status."""

    def end_it(*_: Any) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end_it)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    _, status = os.waitpid(worker, 0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _end_children()
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status))


def _limit_resources(asked: dict[str, Any]) -> None:
    """Limit resources; with CUDA, which reserves much address space, only data is limited.

    The number of cores is limited, since each core of a simulated device reserves address space for
    stacks and a malloc arena.
    """
    of_memory = resource.RLIMIT_AS if asked["device"] == "simulated" else resource.RLIMIT_DATA
    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: _FILE_NBYTES}
    limits |= {of_memory: asked["memory"], resource.RLIMIT_CPU: asked["seconds"]}
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:_CORES])
    for which, most in limits.items():
        resource.setrlimit(which, (most, most))


def _load(asked: dict[str, Any]) -> None:
    from gred import _core

    ctypes.CDLL(_core.__file__, ctypes.RTLD_GLOBAL)
    paths = [asked[kind] for kind in ("plain", "counting")]
    plain, counting = (_address(path, "lab_flat") for path in paths)
    own_memory = _address(paths[0] or paths[1], "lab_shared_bytes")
    _core.substitute(
        asked["device"], asked["like"], asked["data_blocks"], plain, counting, own_memory
    )
    # Libraries may call exit, and exit handlers must not run in two threads at once. So the first
    # thread to exit ends the process by _exit; each thread takes one handler off the list.
    libc = ctypes.CDLL(None)
    for _ in range(1024):  # most threads: the multiprocessors of a simulated device
        libc.on_exit(libc._exit, None)


def _address(path: str | None, name: str) -> int:
    function = getattr(ctypes.CDLL(path), name, None) if path else None
    return ctypes.cast(function, ctypes.c_void_p).value or 0 if function else 0


def _end_children() -> int:
    """Kill processes that a kernel has started, including orphans; return their number."""
    ended = 0
    while processes := _children():
        for process in processes:
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)
        ended += len(processes)
    return ended


def _children() -> set[int]:
    processes: set[int] = set()
    for path in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            processes |= {*map(int, path.read_text().split())}
    return processes


def _options(job: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: job[name] for name in names}


def _check(job: dict[str, Any]) -> Any:
    """Check every access; return the fault or the result. One core gives a fixed block order."""
    import gred
    from gred import _core
    from gred.lab.checking import array_of
    from gred.testing import SimulatedArray

    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})
    with gred.thread_order(job["order"], 1):
        a = SimulatedArray(array_of(job))[job["offset"] :]
        options = _options(job, "block_size", "dtype", "multiprocessors")
        options |= {"method": job["like"], "device": "simulated", "room": 0, "checked": True}
        got = _core.counters(a, "sum", **options)
    return {"fault": got} if len(got) == 5 else {"result": got[5].item()}


def _answer(job: dict[str, Any]) -> Any:
    """Run once on a GPU, which reports only accesses to unmapped memory."""
    import gred
    from gred.lab.checking import array_of

    options = _options(job, "block_size", "dtype", "device")
    return {"result": gred.sum(array_of(job), method=job["like"], **options).item()}


def _counters(job: dict[str, Any]) -> Any:
    from gred import _core

    options = _options(job, "method", "block_size", "dtype", "multiprocessors", "room")
    *told, result, launches = _core.counters(_array(job), "sum", **options, device="simulated")
    return {"told": told, "result": result.item(), "launches": launches}


def _time(job: dict[str, Any]) -> Any:
    import gred

    options = _options(job, "method", "block_size", "dtype", "samples", "device")
    timed = gred.kernel_time(_array(job), **options)
    arrays = {"seconds": timed.seconds.tolist(), "first_pass": timed.first_pass.tolist()}
    return timed._asdict() | arrays | {"result": timed.result.item()}


def _array(job: dict[str, Any]) -> Any:
    import numpy as np

    return np.load(job["array"], mmap_mode="r", allow_pickle=False)


_JOBS = {"check": _check, "answer": _answer, "counters": _counters, "time": _time}

if __name__ == "__main__":
    main()
