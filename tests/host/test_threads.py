"""Reductions in several Python threads, Ctrl-C, forks, and the bound on gred's own threads."""

import contextlib
import contextvars
import itertools
import os
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from calls import CALLS, check, drawn, lie, places_of, results, told
from processes import in_a_fresh_thread, printed
from reference import EVERY_TYPE
from samples import silenced, takes
from thin import chosen

import gred

CORES = len(os.sched_getaffinity(0))


def test_other_threads_go_on_while_one_reduces():
    """This thread counts only while a reduction has released the GIL.

    On a busy machine it may miss that, so reductions repeat until it has counted.
    """
    array = np.ones(200_000, np.int32)
    turns, interval = [], sys.getswitchinterval()

    def work():
        patience = time.monotonic() + 60
        while len(turns) <= 3 and time.monotonic() < patience:
            gred.sum(array, method="neighbored", block_size=1024, device="simulated")

    sys.setswitchinterval(3600)
    try:
        with ThreadPoolExecutor(1) as pool:
            worker = pool.submit(work)
            while not worker.done():
                time.sleep(0.001)
                turns += [1] * (not worker.done())
            worker.result()
    finally:
        sys.setswitchinterval(interval)
    assert len(turns) > 3


def test_the_order_of_threads_belongs_to_its_own_context():
    """A new thread starts with the default order; one with a copied context keeps the order."""

    look = partial(gred._core.thread_order.get, None)
    with gred.thread_order("backwards"):
        here, fresh = look(), in_a_fresh_thread(look)
        copied = in_a_fresh_thread(partial(contextvars.copy_context().run, look))
    after = look()
    assert copied == here != after
    if not getattr(sys.flags, "thread_inherit_context", False):
        assert fresh == after


WRONG = [([], {}, ValueError), (np.zeros(3), {"method": "none"}, ValueError)]
WRONG += [(np.zeros(3), {"dtype": "O"}, TypeError), (["text"], {}, TypeError)]


def go_through(jobs, seed):
    """Make the calls, on shared arrays and among failing calls, in this thread's own order."""
    for k in np.random.default_rng(seed).permutation(len(jobs)):
        name, arrays, want = jobs[k]
        check(name, told(CALLS[name].run(*arrays)), want)
        x, options, error = WRONG[k % len(WRONG)]
        with pytest.raises(error):
            gred.max(x, **options)


def test_sixteen_threads_make_what_each_makes_alone():
    jobs = []
    for name, dtype in chosen(itertools.product(CALLS, ("f8", "f2", "i1", "u8"))):
        x = np.repeat(drawn(name, dtype), 2, 1)[:, ::2]
        for place in (one for one in places_of(name) if one != "brought"):
            arrays = lie(CALLS[name].of(x), place)
            jobs.append((name, arrays, results(name, arrays, place)))
    with silenced(), ThreadPoolExecutor(16) as pool:
        list(pool.map(partial(go_through, jobs), range(16), timeout=900))


# ---- Ctrl-C ----

# A call is late if it goes on for a second while it uses the processors; the machine may be busy.
INTERRUPTED = """
import os, signal, sys, threading, time, warnings
import numpy as np
import gred
from gred.testing import SimulatedArray
warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)
huge = np.broadcast_to(np.ones(1, np.float32), 2**36)
rows = np.broadcast_to(np.arange(1000.0)[::2], (2**26, 500))
swapped = np.broadcast_to(np.ones(1, ">c16"), 2**36)
mask = np.broadcast_to(np.array([True, False]), (2**35, 2))
big = np.zeros(2**26, np.int32)
overlapping = np.lib.stride_tricks.as_strided(big.view(">c16"), (2**18, 2**18), (16, 16))
stand_in = SimulatedArray(big[: 2**25])[::2]
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE")
def interrupt(sent):
    sent += time.monotonic(), time.process_time()
    os.kill(os.getpid(), signal.SIGINT)
def again(reduce, *arguments, **options):
    while True:
        reduce(*arguments, **options)
calls = {
    "one element 2^36 times": lambda: gred.sum(huge),
    "rows with gaps": lambda: gred.sum(rows),
    "conversion": lambda: gred.sum(huge, dtype=np.float64),
    "halves": lambda: gred.prod(np.broadcast_to(np.ones(1, np.float16), 2**36)),
    "complex in the other byte order": lambda: gred.prod(swapped),
    "complex order": lambda: gred.max(overlapping),
    "a mask": lambda: gred.sum(huge.reshape(2**35, 2), where=mask),
    "a mean": lambda: gred.mean(huge),
    "a segment": lambda: gred.reduceat("sum", huge, [0]),
    "out": lambda: gred.sum(huge, out=np.zeros(())),
    "recursive": lambda: again(gred.sum, big, method="recursive"),
    "recursive, gathered": lambda: again(gred.sum, big[::2], method="recursive", dtype="f8"),
    "simulated": lambda: again(gred.sum, big, method="neighbored", device="simulated"),
    "simulated, strided": lambda: gred.sum(rows.T, device="simulated"),
    "simulated, stride 0": lambda: gred.sum(huge, device="simulated"),
    "simulated array": lambda: again(gred.sum, stand_in, method="interleaved"),
    "measured": lambda: gred.kernel_time(big, samples=10**6, cold=False),
}
for name, call in calls.items():
    before, sent = resident(), []
    try:
        threading.Timer(0.1, interrupt, (sent,)).start()
        call()
        print(name, "finished")
    except KeyboardInterrupt:
        seconds = time.monotonic() - sent[0]
        busy = (time.process_time() - sent[1]) / len(os.sched_getaffinity(0))
        if min(seconds, busy) > 1:
            print(name, "is late: %.2f s" % seconds)
    assert resident() - before < 16 << 20, (name, before, resident())
    assert gred.sum(big[:1000] + 1) == 1000
    assert gred.sum(big[:1000] + 1, method="unroll8", device="simulated") == 1000
print("all have ended")
"""


@pytest.mark.unsanitized
def test_ctrl_c_ends_a_long_run_within_a_second():
    assert printed(INTERRUPTED) == "all have ended\n"


LONG = {"simulated": (2**20, 'method="neighbored", device="simulated"'), "host": (2**27, "")}


@pytest.mark.parametrize(("n", "how"), LONG.values(), ids=LONG)
def test_a_handler_that_returns_lets_a_run_go_on(n, how):
    """Some signals may arrive outside the run, so it grows until enough arrive during it."""
    code = f"""
    import signal, numpy as np, gred
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    before, n = 0, {n}
    while len(seen) - before < 4 and n < 2**38:
        before, n = len(seen), 2 * n
        x = np.broadcast_to(np.ones(1, np.float32), n)
        assert gred.sum(x, dtype="f8", {how}) == n
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(seen) - before >= 4
    """
    printed(code)


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="it has a GIL")
def test_a_free_threaded_python_stays_free():
    assert printed("import gred, sys; print(sys._is_gil_enabled())") == "False\n"


# ---- forks ----

REDUCING = """
import contextlib, os, resource, threading
import ml_dtypes
import numpy as np
import gred

x = np.arange(300_000) % 1000
mask = np.arange(x.size) % 3 > 0
single, half = x.astype(np.float32), x.astype(np.float16)
cases = [
    (gred.sum, x, {}, x.sum()),
    (gred.sum, x[::2], {}, x[::2].sum()),
    (gred.max, x.reshape(300, 1000)[::3, ::7], {}, 994),
    (gred.sum, single[::2], {"dtype": complex}, x[::2].sum()),
    (gred.sum, x, {"where": mask}, x[mask].sum()),
    (gred.sum, half, {"dtype": float, "where": mask}, x[mask].sum()),
    (gred.sum, x.astype(">c16"), {}, x.sum()),
    (gred.mean, x.astype(">i4")[::2], {}, x[::2].mean()),
    (gred.mean, x.astype(np.complex64), {"where": mask}, x[mask].mean()),
    (gred.max, x.astype(ml_dtypes.bfloat16)[::2], {}, 1000),
    (gred.sum, x[::2], {"method": "recursive"}, x[::2].sum()),
]
wrong = []

def reduce_all():
    for reduce, array, options, expected in cases:
        got = reduce(array, **options)
        rounding = 1e-5 if got.dtype == np.complex64 else 0  # all others are exact
        if not abs(got - expected) <= rounding * abs(expected):
            wrong.append((reduce, options, got, expected))
"""

FORKING = """
import time, warnings
import gred.several  # else a thread would first import it: of that Python has locks of its own
from gred.testing import SimulatedArray
from processes import in_a_child

warnings.simplefilter("ignore")
floats = np.arange(300_000.0)[::-2]
few, there, total = floats[:5000], SimulatedArray(floats[:5000]), floats[:5000].sum()
cases += [
    (gred.sum, floats, {}, floats.sum()),
    (gred.sum, floats, {"where": floats > 1000}, floats[floats > 1000].sum()),
    (gred.max, half[:3000], {}, 999),
    (gred.sum, few, {"method": "unroll2", "device": "simulated"}, total),
    (gred.sum, there, {}, total),
    (gred.sum, [there, there, there], {}, 3 * total),
]

def all_right():
    reduce_all()
    assert not wrong, wrong
"""
# A child does not release the sanitizers' own locks, either.
BUSY = """
over = threading.Event()
def busy():
    while not over.is_set():
        reduce_all()
threads = [threading.Thread(target=busy, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
end = time.monotonic() + 8
for _ in range(10):
    in_a_child(all_right)
    if time.monotonic() > end:
        break
over.set()
for thread in threads:
    thread.join()
"""
BUSY = pytest.param(BUSY, id="busy", marks=pytest.mark.unsanitized)


@pytest.mark.parametrize("code", [pytest.param("in_a_child(all_right)", id="idle"), BUSY])
def test_a_forked_process_can_reduce_whatever_other_threads_do(code):
    """In the child, locks that those threads held at the fork stay locked.

    OMP_STACKSIZE, which is for OpenMP, must not change gred's threads.
    """
    after = "all_right()\nin_a_child(all_right)\nall_right()\nprint('all right')"
    told = printed(REDUCING, FORKING, code, after, path=True, OMP_STACKSIZE="16k")
    assert told == "all right\n"


# ---- few threads, or none available ----


@pytest.mark.unsanitized  # a sanitizer starts a thread of its own
def test_where_no_thread_can_be_started_fewer_reduce():
    """Root may always start threads, so the process becomes an unprivileged user."""
    code = """
    with contextlib.suppress(OSError):
        os.setgid(65534)
        os.setuid(65534)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    before = len(os.listdir("/proc/self/task"))
    try:
        threading.Thread(target=print).start()
        print("the limit does not bind")
    except RuntimeError:
        reduce_all()
        print(wrong or "all right", len(os.listdir("/proc/self/task")) - before)
    """
    out = printed(REDUCING, code, OPENBLAS_NUM_THREADS="1")
    if "bind" in out:
        pytest.skip("this system does not limit threads")
    assert out == "all right 0\n"


START = """
import os, numpy as np, gred
tasks = lambda: len(os.listdir('/proc/self/task'))
x = np.ones(1 << 22)
before, most = tasks(), gred.threads()
"""
# Print how many threads a large reduction leaves running besides the caller's.
THREADS_STARTED = """
gred.sum(x[:60_000])
assert tasks() == before, "small work starts none"
for _ in range(3):
    assert gred.sum(x) == x.size
print(tasks() - before)
"""


def alone(code: str, asked: str = "", *, cores: int = CORES) -> str:
    """Run code in a fresh process with this OMP_NUM_THREADS and number of cores."""
    bound = f"import os; os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])"
    variables = {"OMP_NUM_THREADS": asked} if asked else {}
    return printed(bound, START, code, dropped=("OMP_NUM_THREADS",), **variables).strip()


def quota() -> float:
    """Return the number of cores that the control group (version 2) allows."""
    with contextlib.suppress(OSError, ValueError):
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, int(limit) // int(period))
    return float("inf")


@pytest.mark.unsanitized  # a sanitizer starts a thread of its own
def test_threads_are_at_most_as_many_as_the_cores_that_may_be_used():
    cores, started = min(CORES, quota()), partial(alone, THREADS_STARTED)
    for asked in ("", "1000", "many"):
        assert 0 <= int(started(asked)) < cores
    assert started("1,4") == started(cores=1) == "0"
    if gred.threads() > 1:
        assert started("2") == "1"


# ---- the bound of gred.threads ----


def test_there_are_no_more_than_cores(threads_as_before):
    threads = gred.threads
    assert 1 <= threads() <= CORES
    assert threads(10**9) == threads(2**100) == threads() <= CORES
    for n in range(1, threads() + 1):
        assert threads(n) == threads() == n
    assert threads(np.int8(1)) == 1


@pytest.mark.parametrize("n", [0, -1, -(2**70), 1.0, "2", True, [1], np.float64(2)], ids=repr)
def test_what_is_no_number_of_threads_is_refused(n):
    error, words = (ValueError, "at least 1") if type(n) is int else (TypeError, "integer")
    with pytest.raises(error, match=words):
        gred.threads(n)


# Memory for each thread of a call is allocated before the work is shared.
CHANGING = """
import threading
x = np.random.default_rng(0).integers(-99, 99, 1 << 21).astype("float64")[::2]
y = np.arange(1_600_000.0, dtype="float32").reshape(400, 4000) % 8
shown = y % 3 > 0
calls = (
    lambda: gred.sum(x, method="exact"), lambda: gred.dot(x, x, method="exact"),
    lambda: gred.mean(y, axis=0, where=shown).tobytes(), lambda: gred.max(y.T, axis=1).tobytes(),
    lambda: gred.sum(y[::-1, ::2], axis=1).tobytes(), lambda: gred.sum(x),
)
expected, ended = [call() for call in calls], []
def change():
    for k in range(10**9):
        if ended:
            return
        gred.threads(1 + k % 2)
changing = threading.Thread(target=change)
changing.start()
right = all([call() for call in calls] == expected for _ in range(40))
ended.append(True)
changing.join()
print(right)
"""
BOUNDS = {  # code for a fresh process, and its output
    "one thread starts no other": ("gred.threads(1); gred.sum(x); print(tasks() - before)", "0"),
    "a bound can be lifted": (
        "gred.threads(1); gred.sum(x); gred.threads(most)\n"
        "for _ in range(20): gred.sum(x)\n"
        "print(tasks() - before >= (most > 1))",
        "True",
    ),
    "the environment is still asked": ("print(most, gred.threads(5))", "1 1"),
    "a forked child keeps the bound": (
        "gred.threads(1); gred.sum(x)\n"
        "if (child := os.fork()) == 0: os._exit(gred.threads() + 10)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))",
        "11",
    ),
    "calls have the threads that they began with": (CHANGING, "True"),
}


@pytest.mark.unsanitized
@pytest.mark.parametrize(("code", "told"), BOUNDS.values(), ids=BOUNDS)
def test_the_bound_of_threads_is_kept(code, told):
    assert alone(code, "1" if told == "1 1" else "") == told


@pytest.mark.skipif(gred.threads() < 2, reason="one thread is all there may be here")
@pytest.mark.parametrize("name", [reduction.name for reduction in gred.reductions()])
def test_long_arrays_of_every_type_are_shared_and_short_ones_are_not(name, threads_as_before):
    for dtype in filter(lambda dtype: takes(name, dtype), EVERY_TYPE):
        for n, threads, shares in ((1 << 22, 2, True), (1 << 22, 1, False), (16, 2, False)):
            gred.threads(threads)
            said = str(gred.explain(np.zeros(n, dtype), name))
            assert ("threads" in said) is shares, dtype


# ---- threadpoolctl, imported before or after gred ----

LIMITED = """
[pool] = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "gred"]
assert (pool["filepath"], pool["version"]) == (gred._core.__file__, gred.__version__)
assert pool["num_threads"] == (all_threads := gred.threads())
for limits, bound in ((1, 1), ({"gred": 1}, 1), ({"openmp": 1}, all_threads)):
    with threadpoolctl.threadpool_limits(limits):
        assert gred.threads() == bound
    assert gred.threads() == all_threads
"""


@pytest.mark.parametrize("imports", ["threadpoolctl, gred", "gred, threadpoolctl"])
def test_threadpoolctl_limits_the_threads_of_gred(imports):
    pytest.importorskip("threadpoolctl", reason="threadpoolctl is not installed")
    register = "gred.register_threadpoolctl()" * imports.endswith("ctl")
    printed(f"import {imports}", register, register, LIMITED)


def test_a_threadpoolctl_without_registration_is_one_clear_line(monkeypatch):
    old, later = type(sys)("threadpoolctl"), r"threadpoolctl 3\.2 or later"
    for module, words in ((old, later), (None, "threadpoolctl")):
        monkeypatch.setitem(sys.modules, "threadpoolctl", module)
        with pytest.raises(ImportError, match=words):
            gred.register_threadpoolctl()
