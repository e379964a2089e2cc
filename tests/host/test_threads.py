"""Python's threads may reduce at once, others go on while one does, and Ctrl-C ends a long run."""

import contextvars
import itertools
import sys
import sysconfig
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from calls import CALLS, check, drawn, lie, places_of, results, told
from processes import printed
from samples import silenced
from thin import chosen

import gred


def test_other_threads_go_on_while_one_reduces():
    """Only a core that has let go of the interpreter leaves this thread a chance to count.

    One that is busy elsewhere may miss it, so there are more reductions until it has counted.
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
    """A thread that starts afresh runs forwards; one that copies the context runs as this one."""

    def look():
        return gred._core.thread_order.get(None)

    def looked(*call):
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(*call).result()

    with gred.thread_order("backwards"):
        here, fresh = look(), looked(look)
        copied = looked(contextvars.copy_context().run, look)
    after = look()
    assert copied == here != after
    if not getattr(sys.flags, "thread_inherit_context", False):
        assert fresh == after


# ---- mixed ----

WRONG = [([], {}, ValueError), (np.zeros(3), {"method": "none"}, ValueError)]
WRONG += [(np.zeros(3), {"dtype": "O"}, TypeError), (["text"], {}, TypeError)]


def go_through(jobs, seed):
    """Call what a program could mix, of shared arrays, in an order of its own."""
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
        for place in places_of(name):
            if place != "brought":
                arrays = lie(CALLS[name].of(x), place)
                jobs.append((name, arrays, results(name, arrays, place)))
    with silenced(), ThreadPoolExecutor(16) as pool:
        list(pool.map(partial(go_through, jobs), range(16), timeout=900))


# ---- Ctrl-C ----

# Late is who goes on for a second and works all the while: others may be at work, too.
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
neighbored = dict(method="neighbored", block_size=1024, device="simulated")
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
    "simulated": lambda: again(gred.sum, big, **neighbored),
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


# ---- other signals, and free threads ----

LONG = {"simulated": (2**20, 'method="neighbored", device="simulated"'), "host": (2**27, "")}


@pytest.mark.parametrize(("n", "how"), LONG.values(), ids=LONG)
def test_a_handler_that_returns_lets_a_run_go_on(n, how):
    """Some of the signals may have come beside the run: it grows until enough have not."""
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


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL in any case"
)
def test_a_free_threaded_python_stays_free():
    assert printed("import gred, sys; print(sys._is_gil_enabled())") == "False\n"
