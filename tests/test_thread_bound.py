"""gred.threads sets how many threads a call has, and tells; the system knows how many there are."""

import os

import numpy as np
import pytest
from processes import printed
from reference import EVERY_TYPE
from samples import takes

import gred

CORES = len(os.sched_getaffinity(0))
LONG = 1 << 22

several = pytest.mark.skipif(gred.threads() < 2, reason="one thread is all there may be here")


@pytest.fixture(autouse=True)
def as_before():
    before = gred.threads()
    yield
    assert gred.threads(before) == before


def alone(code: str, **environment: str) -> str:
    """Run code in a process that has done nothing before, with `tasks` to count its threads."""
    start = "import os, numpy as np, gred\ntasks = lambda: len(os.listdir('/proc/self/task'))\n"
    return printed(start + code, **environment).strip()


def test_there_are_no_more_than_cores():
    assert 1 <= gred.threads() <= CORES
    assert gred.threads(10**9) == gred.threads(2**100) == gred.threads() <= CORES


def test_it_tells_what_was_set():
    for n in range(1, gred.threads() + 1):
        assert gred.threads(n) == n
        assert gred.threads() == n
    assert gred.threads(np.int8(1)) == 1


@pytest.mark.parametrize("n", [0, -1, -(2**70)])
def test_fewer_than_one_are_refused(n):
    with pytest.raises(ValueError, match="at least 1"):
        gred.threads(n)


@pytest.mark.parametrize("n", [1.0, "2", True, [1], np.float64(2)], ids=repr)
def test_what_is_no_integer_is_refused(n):
    with pytest.raises(TypeError, match="integer"):
        gred.threads(n)


def test_one_thread_starts_no_other():
    code = f"x = np.ones({LONG})\nbefore = tasks()\ngred.threads(1)\n"
    assert alone(code + "gred.sum(x); gred.max(x)\nprint(tasks() - before)") == "0"


@several
def test_a_bound_can_be_lifted():
    code = f"x = np.ones({LONG})\nbefore = tasks()\nmost = gred.threads()\ngred.threads(1)\n"
    code += "gred.sum(x)\ngred.threads(most)\n"
    code += "for _ in range(20): gred.sum(x)\nprint(tasks() - before >= 1)"
    assert alone(code) == "True"


@several
def test_the_environment_is_still_asked():
    assert alone("print(gred.threads())", OMP_NUM_THREADS="1") == "1"
    assert alone("print(gred.threads(5))", OMP_NUM_THREADS="1") == "1"


def test_a_forked_child_keeps_the_bound():
    code = "gred.threads(1)\ngred.sum(np.ones(10**6))\n"
    code += "if (child := os.fork()) == 0: os._exit(gred.threads() + 10)\n"
    assert alone(code + "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))") == "11"


def test_explain_tells_it():
    x = np.ones(LONG)
    gred.threads(1)
    assert "threads" not in str(gred.explain(x))
    if CORES > 1 and gred.threads(2) == 2:
        assert "2 threads" in str(gred.explain(x))


@several
@pytest.mark.parametrize("name", [reduction.name for reduction in gred.reductions()])
def test_every_type_of_a_long_array_is_shared_and_of_a_short_one_is_not(name):
    gred.threads(2)
    for dtype in EVERY_TYPE:
        if takes(name, dtype):
            long, short = np.zeros(LONG, dtype), np.zeros(16, dtype)
            assert "2 threads" in str(gred.explain(long, name)), dtype
            assert "threads" not in str(gred.explain(short, name)), dtype


def test_results_are_the_same_bits():
    x = np.random.default_rng(3).standard_normal(LONG + 17).astype(np.float32)
    most = gred.threads()
    found = []
    for n in {1, 2, most}:
        gred.threads(n)
        found.append((gred.sum(x), gred.var(x), gred.argmax(x), gred.norm(x)))
    assert all(other == found[0] for other in found)


@several
def test_calls_have_the_threads_that_they_began_with():
    """Memory for each of them is taken before all have a part in the work."""
    code = """
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
    assert alone(code) == "True"
