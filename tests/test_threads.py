"""Python's threads may reduce at once, others go on while one does, and Ctrl-C ends a long run."""

import contextvars
import os
import signal
import sys
import sysconfig
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from inputs import ELEMENT_TYPES, OPS, methods_on, reduce
from processes import printed
from reference import COMPLEX, EVERY_TYPE, agrees, truth

import gred
from gred.testing import SimulatedArray


def test_many_threads_at_once_are_all_right(device):
    """Each thread has its own array, op and type, so that an answer that got mixed up shows."""
    methods = methods_on(device)

    def work(number):
        random = np.random.default_rng(number)
        for turn in range(10):
            given = ELEMENT_TYPES[(number + turn) % len(ELEMENT_TYPES)]
            op = OPS[turn % len(OPS)] if given.kind in "iu" else "sum"
            array = random.integers(0, 100, 3000 + 100 * number).astype(given)
            method = methods[(7 * number + turn) % len(methods)]
            got = reduce(op, array, method=method, device=device)
            assert agrees(got, truth(op, array)), f"{op} by {method}"
        return number

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(24))) == list(range(24))


def test_an_array_may_be_shared_among_threads(device):
    array = np.arange(200_000)
    expected = array.sum()
    with ThreadPoolExecutor(4) as pool:
        sums = list(pool.map(lambda _: gred.sum(array, device=device), range(20)))
    assert set(sums) == {expected}


def test_other_threads_go_on_while_one_reduces():
    """Only a core that has let go of the interpreter leaves this thread a chance to count.

    One that is busy elsewhere may miss it, so there are more reductions until it has counted.
    """
    array = np.ones(200_000, np.int32)
    turns, ended = [], threading.Event()

    def work():
        patience = time.monotonic() + 60
        try:
            while len(turns) <= 3 and time.monotonic() < patience:
                gred.sum(array, method="neighbored", block_size=1024, device="simulated")
        finally:
            ended.set()

    worker = threading.Thread(target=work)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(3600)
    try:
        worker.start()
        while not ended.is_set():
            time.sleep(0.001)
            if not ended.is_set():
                turns.append(1)
        worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert len(turns) > 3


def test_the_order_of_threads_belongs_to_its_own_context():
    """A thread that starts afresh runs forwards; one that copies the context runs as this one."""
    seen = {}

    def look(name):
        seen[name] = gred._core.thread_order.get(None)

    with gred.thread_order("backwards"):
        context = contextvars.copy_context()
        for target, name in ((look, "fresh"), (lambda n: context.run(look, n), "copied")):
            thread = threading.Thread(target=target, args=(name,))
            thread.start()
            thread.join()
        look("here")
    look("after")
    assert seen["copied"] == seen["here"] != seen["after"]
    if not getattr(sys.flags, "thread_inherit_context", False):
        assert seen["fresh"] == seen["after"]


# ---- long and mixed ----

SECONDS, WORKERS, LEAST = 1, 16, 64


def jobs():
    """Make all kinds of calls that a program could mix, each with its own right answer."""
    random = np.random.default_rng(8)
    rungs = [name for name in methods_on("simulated") if name != "cooperative"]
    for number, dtype in enumerate(EVERY_TYPE):
        x = (random.integers(0, 2, 4000) * (1 + number % 3)).astype(dtype).reshape(40, 100)
        swapped = (
            x if dtype.itemsize == 1 or dtype.kind == "V" else x.astype(x.dtype.newbyteorder())
        )
        ops = ("sum", "max") if dtype.kind in "fcV" else OPS
        for turn, op in enumerate(ops):
            for view in (x, x.T, x[::2, ::3], swapped):
                right = truth(op, view)
                yield op, view, {}, right
                mask = np.arange(view.size).reshape(view.shape) % 3 > 0
                if op == "sum":
                    yield op, view, {"where": mask}, truth(op, view, where=mask)
            if dtype not in COMPLEX:
                rung = rungs[(3 * number + turn) % len(rungs)]
                yield op, x[:, ::7], {"method": rung, "device": "simulated"}, truth(op, x[:, ::7])
                yield op, SimulatedArray(x[:4]), {"method": rung}, truth(op, x[:4])
    yield "sum", list(range(100)), {}, truth("sum", np.arange(100))
    yield "sum", np.zeros(3), {"method": "none"}, ValueError
    yield "max", np.zeros(0), {}, ValueError
    yield "sum", np.zeros(3), {"dtype": "O"}, TypeError


def is_right(op, a, options, right) -> bool:
    if not isinstance(right, type):
        return agrees(reduce(op, a, **options), right)
    try:
        reduce(op, a, **options)
    except right:
        return True
    return False


def test_sixteen_threads_are_right_for_seconds():
    """Every thread goes through all jobs in an order of its own; they share the arrays."""
    work = list(jobs())
    for job in work:
        assert is_right(*job), job
    end = time.monotonic() + SECONDS
    wrong, done = [], []

    def go(number):
        random = np.random.default_rng(number)
        count = 0
        while (count < LEAST or time.monotonic() < end) and not wrong:
            job = work[random.integers(len(work))]
            try:
                if not is_right(*job):
                    wrong.append(job)
            except BaseException as error:
                wrong.append((job, error))
            count += 1
        done.append(count)

    threads = [threading.Thread(target=go, args=(number,)) for number in range(WORKERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(900)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong, wrong[0]
    assert len(done) == WORKERS
    assert min(done) >= LEAST


# ---- forks ----


FORKING = """
import os, signal, threading, time, warnings
import numpy as np
import gred
import gred.several  # else a thread would first import it: of that Python has locks of its own
from gred.testing import SimulatedArray

warnings.simplefilter("ignore")
x = np.arange(300_000.0)[::-2]
array = SimulatedArray(x[:5000])
halves, mask = x[:3000].astype(np.float16), x > 1000

def all_right():
    assert gred.sum(x) == x.sum()
    assert gred.sum(x, where=mask) == x[mask].sum()
    assert gred.max(halves) == halves.max()
    assert gred.sum(x[:5000], method="recursive") == x[:5000].sum()
    assert gred.sum(x[:5000], method="unroll2", device="simulated") == x[:5000].sum()
    assert gred.sum(array) == x[:5000].sum()
    assert gred.sum([array, array, array]) == 3 * x[:5000].sum()

def in_a_child():
    child = os.fork()
    if not child:
        signal.alarm(300)
        status = 1
        try:
            all_right()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_reduces_whatever_its_parent_has_done():
    out = printed(
        FORKING,
        """
        in_a_child()
        all_right()
        in_a_child()
        all_right()
        print("all right")
        """,
    )
    assert out == "all right\n"


@pytest.mark.unsanitized  # the sanitizers' own locks are not let go of in a child, either
def test_a_child_may_be_forked_while_other_threads_reduce():
    """What those threads hold at that moment, nobody lets go of in the child."""
    out = printed(
        FORKING,
        """
        over = threading.Event()
        def busy():
            while not over.is_set():
                all_right()
        threads = [threading.Thread(target=busy) for _ in range(3)]
        for thread in threads:
            thread.start()
        end = time.monotonic() + 8
        for _ in range(10):
            in_a_child()
            if time.monotonic() > end:
                break
        over.set()
        for thread in threads:
            thread.join()
        all_right()
        print("all right")
        """,
    )
    assert out == "all right\n"


# ---- threads that are small, few, or not to be had ----

FEW = """
import os, resource, threading
import ml_dtypes
import numpy as np
import gred

x = np.arange(300_000) % 1000
mask = np.arange(x.size) % 3 > 0
single, half = x.astype(np.float32), x.astype(np.float16)
cases = {
    "flat": (gred.sum, x, {}, x.sum()),
    "strided": (gred.sum, x[::2], {}, x[::2].sum()),
    "of two dimensions": (gred.max, x.reshape(300, 1000)[::3, ::7], {}, 994),
    "converted": (gred.sum, half, {"dtype": np.float64}, x.sum()),
    "converted, strided": (gred.sum, single[::2], {"dtype": complex}, x[::2].sum()),
    "masked": (gred.sum, x, {"where": mask}, x[mask].sum()),
    "converted, masked": (gred.sum, half, {"dtype": float, "where": mask}, x[mask].sum()),
    "big-endian": (gred.sum, x.astype(">c16"), {}, x.sum()),
    "mean": (gred.mean, x.astype(">i4")[::2], {}, x[::2].mean()),
    "mean, masked": (gred.mean, x.astype(np.complex64), {"where": mask}, x[mask].mean()),
    "bfloat16": (gred.max, x.astype(ml_dtypes.bfloat16)[::2], {}, 1000),
    "recursive": (gred.sum, x[::2], {"method": "recursive"}, x[::2].sum()),
}
wrong = []

def reduce_all():
    for name, (reduce, array, options, expected) in cases.items():
        got = reduce(array, **options)
        if not abs(got - expected) <= 1e-5 * abs(expected):
            wrong.append((name, got, expected))
"""


@pytest.mark.unsanitized  # a sanitizer's frames are larger
def test_a_thread_with_the_smallest_of_stacks_can_reduce():
    """Python's least stack is enough, as it is for NumPy."""
    code = """
    threading.stack_size(65536)
    for _ in range(2):
        thread = threading.Thread(target=reduce_all)
        thread.start()
        thread.join()
    print(wrong or "all right")
    """
    assert printed(FEW, code) == "all right\n"


def test_the_stacks_of_openmp_do_not_matter():
    """What that variable says is for other libraries."""
    told = printed(FEW, "reduce_all()\nprint(wrong or 'all right')", OMP_STACKSIZE="16k")
    assert told == "all right\n"


@pytest.mark.unsanitized  # a sanitizer starts a thread of its own
def test_where_no_thread_can_be_started_fewer_reduce():
    """The superuser may always start one, so this is a user who owns nothing else."""
    code = """
    if os.geteuid() == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
        except OSError:
            pass
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    before = len(os.listdir("/proc/self/task"))
    try:
        threading.Thread(target=print).start()
        print("the limit does not bind")
    except RuntimeError:
        reduce_all()
        print(wrong or "all right", len(os.listdir("/proc/self/task")) - before)
    """
    out = printed(FEW, code, OPENBLAS_NUM_THREADS="1")
    if "bind" in out:
        pytest.skip("this system does not limit threads")
    assert out == "all right 0\n"


THREADS_STARTED = """
import os
if AFFINITY:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:AFFINITY])
import numpy as np, gred
x = np.ones(5_000_000)
before = len(os.listdir("/proc/self/task"))
gred.sum(x[:60_000])
assert len(os.listdir("/proc/self/task")) == before, "small work starts none"
for _ in range(3):
    assert gred.sum(x) == 5_000_000
print(len(os.listdir("/proc/self/task")) - before)
"""


def threads_started(asked: str | None = None, *, affinity: int = 0) -> int:
    """Count the threads that a large reduction leaves beside the caller's."""
    variables = {"OMP_NUM_THREADS": asked} if asked else {}
    dropped = ("OMP_NUM_THREADS",)
    return int(printed(f"AFFINITY = {affinity}", THREADS_STARTED, dropped=dropped, **variables))


def quota() -> float:
    """Tell how many cores the control group allows, in version 2 of its interface."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return float("inf")
    return float("inf") if limit == "max" else max(1, int(limit) // int(period))


@pytest.mark.unsanitized  # a sanitizer starts a thread of its own
def test_threads_are_at_most_as_many_as_the_cores_that_may_be_used():
    cores = min(len(os.sched_getaffinity(0)), quota())
    assert 0 <= threads_started() < cores
    assert threads_started("1") == threads_started("1,4") == 0
    assert threads_started("1000") < cores
    assert threads_started("many") < cores
    assert threads_started(affinity=1) == 0
    if gred.threads() > 1:
        assert threads_started("2") == 1


@pytest.mark.unsanitized  # it is about many threads, and much to add
def test_a_sum_has_the_same_bits_whoever_adds_it():
    """One thread or as many as there are, for one caller and for several at once."""
    code = """
    from concurrent.futures import ThreadPoolExecutor
    import numpy as np, gred
    x = np.random.default_rng(1).standard_normal(3_000_001, dtype=np.float32)
    views = [(x, {}), (x[::-2], {}), (x, {"where": x < 0.5}), (x, {"dtype": np.float64})]
    bits = [gred.sum(a, **options).tobytes().hex() for a, options in views]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            again = pool.map(lambda view: gred.sum(view[0], **view[1]).tobytes().hex(), views)
            assert list(again) == bits
    print(bits)
    """
    alone, together = (printed(code, OMP_NUM_THREADS=asked) for asked in ("1", "64"))
    assert alone == together


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
sent = []
def resident():
    pages = open("/proc/self/statm").read().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")
def interrupt():
    time.sleep(0.1)
    sent.append(time.monotonic())
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)
before = resident()
try:
    threading.Thread(target=interrupt, daemon=True).start()
    CALL
    print("finished")
except KeyboardInterrupt:
    seconds = time.monotonic() - sent[0]
    busy = (time.process_time() - sent[1]) / len(os.sched_getaffinity(0))
    print("late: %.2f s" % seconds if min(seconds, busy) > 1 else "in time")
assert resident() - before < 16 << 20, (before, resident())
assert gred.sum(big[:1000] + 1) == 1000
assert gred.sum(big[:1000] + 1, method="unroll8", device="simulated") == 1000
print("and goes on")
"""

LONG_CALLS = {
    "one element 2^36 times": "gred.sum(huge)",
    "rows with gaps": "gred.sum(rows)",
    "conversion": "gred.sum(huge, dtype=np.float64)",
    "halves": "gred.prod(np.broadcast_to(np.ones(1, np.float16), 2**36))",
    "complex in the other byte order": "gred.prod(swapped)",
    "complex order": "gred.max(overlapping)",
    "a mask": "gred.sum(huge.reshape(2**35, 2), where=mask)",
    "a mean": "gred.mean(huge)",
    "a segment": "gred.reduceat('sum', huge, [0])",
    "out": "gred.sum(huge, out=np.zeros(()))",
    "recursive": "while True: gred.sum(big, method='recursive')",
    "recursive, gathered": "while True: gred.sum(big[::2], method='recursive', dtype=np.float64)",
    "simulated": "while True: gred.sum(big, **neighbored)",
    "simulated, strided": "gred.sum(rows.T, device='simulated')",
    "simulated, stride 0": "gred.sum(huge, device='simulated')",
    "simulated array": "while True: gred.sum(stand_in, method='interleaved')",
    "measured": "gred.kernel_time(big, samples=10**6, cold=False)",
}


@pytest.mark.unsanitized
@pytest.mark.parametrize("call", LONG_CALLS.values(), ids=LONG_CALLS.keys())
def test_ctrl_c_ends_a_long_run_within_a_second(call):
    assert printed(INTERRUPTED.replace("CALL", call)) == "in time\nand goes on\n"


# ---- free threads ----


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL in any case"
)
def test_a_free_threaded_python_stays_free():
    assert printed("import gred, sys; print(sys._is_gil_enabled())") == "False\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_a_handler_that_returns_lets_a_host_run_go_on():
    code = """
    import signal, numpy as np, gred
    seen = []
    signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    before, n = 0, 2**27
    while len(seen) - before < 3 and n < 2**38:  # one of them may have come behind the run
        before, n = len(seen), 2 * n
        got = gred.sum(np.broadcast_to(np.ones(1, np.float32), n), dtype=np.float64)
        assert got == n
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert len(seen) - before >= 3
    """
    printed(code)
    assert signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, None)
