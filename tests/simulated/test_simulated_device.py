"""The simulated device finds mistakes in kernels, warns of long runs, and can be interrupted."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from thin import of_selection
from toy_kernels import toy_kernels

import gred
from gred.testing import SimulatedArray

DONE, FAILED = 0, 1
FORWARDS, BACKWARDS, SHUFFLED = range(3)
SEEDS = range(of_selection(20, 20, 4))
EVERY_ORDER = [(FORWARDS, 0), (BACKWARDS, 0), *((SHUFFLED, seed) for seed in SEEDS)]
BLOCK = 256
RIGHT = BLOCK * (BLOCK - 1) // 2


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return toy_kernels("faulty.cpp", tmp_path_factory.mktemp("kernels"))


@pytest.fixture
def run(kernels):
    """Run a kernel; return its status, message and results. A hang fails the test."""

    def run(name, order=FORWARDS, seed=0, *, grid=3):
        results, message = (ctypes.c_uint * grid)(), ctypes.create_string_buffer(1000)
        sizes = ctypes.c_uint64(grid), BLOCK, order, ctypes.c_uint64(seed)
        answer = []

        def launch():
            text = message, ctypes.c_size_t(len(message))
            answer.append(kernels.run_kernel(name.encode(), *sizes, results, *text))

        thread = threading.Thread(target=launch, daemon=True)
        thread.start()
        thread.join(600)
        assert not thread.is_alive(), f"{name} hangs"
        return answer[0], message.value.decode(), list(results)

    return run


@pytest.mark.parametrize("name", ["tree", "copies", "neighbours", "one copy"])
def test_a_kernel_with_its_barriers_is_right_in_every_order(run, name):
    for order, seed in EVERY_ORDER:
        assert run(name, order, seed) == (DONE, "", [0 if name == "one copy" else RIGHT] * 3)


# Kernels with too few barriers, and the order that hides this, if any.
RACES = {
    "tree without barriers": BACKWARDS,
    "tree without a warp's": BACKWARDS,
    "copies that nobody waits for": FORWARDS,
    "copies onto what is in use": BACKWARDS,
    "neighbours not begun": None,
    "neighbours not awaited": None,
}


@pytest.mark.parametrize("name", RACES)
def test_a_missing_barrier_is_caught_by_the_shuffled_order_of_which_a_seed_is_one(run, name):
    """In the order that hides it, a thread happens to run after those it reads from."""
    hidden = RACES[name]
    for order in (FORWARDS, BACKWARDS):
        if order == hidden:
            assert run(name, order) == (DONE, "", [RIGHT] * 3)
        elif hidden is None:
            assert run(name, order)[2] != [RIGHT] * 3
    results = [run(name, SHUFFLED, seed)[2] for seed in range(20)]
    assert results.count([RIGHT] * 3) <= (0 if hidden is None else 2)
    if name == "tree without barriers":
        assert results == [run(name, SHUFFLED, seed)[2] for seed in range(20)]
        assert len({*map(tuple, results)}) > 10


# Kernels that wait forever or that no GPU would run, and words of the error.
ERRORS = {
    "half a shuffle": "shuffle",
    "half a cluster": "cluster",
    "bytes that never come": "a barrier in shared memory.*no pending copy",
    "absent block": "grid",
    "a copy of no alignment": "multiples of 16",
    "a copy after the end": "ended before a bulk copy",
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_waits_in_vain_or_no_gpu_would_take_is_an_error_and_no_hang(run, name):
    """Other runs are unaffected. gred.lab's tests cover threads that miss a block's barrier."""
    if name == "absent block" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("a cooperative grid of two blocks needs two cores")
    for order, seed in [(BACKWARDS, 0)] if name == "a copy after the end" else EVERY_ORDER[:5]:
        status, message, _ = run(name, order, seed, grid=2 if name == "absent block" else 3)
        assert status == FAILED
        assert re.search(ERRORS[name], message)
        assert run("tree") == (DONE, "", [RIGHT] * 3)


LONG = """
import os, sys, signal, warnings
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
import gred
signal.signal(signal.SIGINT, signal.default_int_handler)
warnings.simplefilter("always")
array = np.zeros(2**26, np.int32)
options = {"method": "neighbored", "block_size": 1024, "dtype": np.int32, "device": "simulated"}
columns = np.broadcast_to(np.float32(1), (20, 2**26))
rows = np.broadcast_to(array[:4], (2**33, 4)).T
for call in sys.argv[1:]:
    try:
        with gred.thread_order("shuffled"):
            exec(call)
        print("finished")
    except BaseException as error:
        print(type(error).__name__, flush=True)
    assert gred.sum(array[:1000], **options) == 0
print("and goes on")
"""
LONG_CALLS = (
    "gred.sum(array, **options)",
    "gred.kernel_time(array, samples=1, warmup=0, **options)",
    "gred.kernel_time(array[:2**20], samples=10**4, **options)",
    'gred.sum(columns, axis=0, device="simulated")',
    'gred.var(rows, axis=1, mean=np.zeros((4, 1)), device="simulated")',
)
WITH_AN_ERROR = 'warnings.simplefilter("error"); gred.sum(array, **options)'


@pytest.mark.unsanitized
def test_a_long_run_warns_with_an_estimate_and_ctrl_c_ends_it():
    """The warning may be turned into an error."""
    command = [sys.executable, "-c", LONG, *LONG_CALLS, WITH_AN_ERROR]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as child:
        patience = threading.Timer(900, child.kill)
        patience.start()
        for call in LONG_CALLS:
            warning = child.stderr.readline()
            assert "RuntimeWarning" in warning, call
            assert int(re.search(r"(\d+) s", warning)[1]) >= 10, call
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "KeyboardInterrupt\n", call
        out, err = child.communicate()
        patience.cancel()
    assert out == "RuntimeWarning\nand goes on\n", err


@pytest.mark.parametrize("axis", [0, 1])
def test_a_trial_along_axes_leaves_no_trace(axis):
    """With so many elements, a part of them is tried first."""
    x = SimulatedArray(np.arange(9 << 20).reshape(-1, 9) % 251, np.float32)
    x = x if axis == 0 else x.T
    right, out = x.get(), SimulatedArray(np.zeros(9), np.float64)
    least, greatest = gred.minmax(x, axis)
    np.testing.assert_array_equal(least.to_numpy(), right.min(axis))
    np.testing.assert_array_equal(greatest.to_numpy(), right.max(axis))
    sums = right.sum(axis, np.float64)
    gred.sum(x, axis, out=out)
    np.testing.assert_allclose(out.get(), sums, rtol=1e-5)
    exact = gred.sum(x, axis, method="exact").to_numpy()
    np.testing.assert_array_equal(exact, sums.astype(np.float32))
    about = SimulatedArray(np.full((1, 9) if axis == 0 else (9, 1), 7.0))
    spread = gred.var(x, axis, mean=about, where=right > 3, device="simulated")
    hidden = np.where(right > 3, right.astype(np.float64), np.nan)
    np.testing.assert_allclose(spread.to_numpy(), np.nanmean((hidden - 7.0) ** 2, axis), rtol=1e-4)


def test_a_short_run_does_not_warn(recwarn):
    gred.sum(range(10_000), method="neighbored", device="simulated")
    assert not recwarn.list
