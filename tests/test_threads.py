"""Python's threads may reduce at once, and others go on while one does."""

import contextvars
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from inputs import ELEMENT_TYPES, OPS, methods_on, reduce
from reference import agrees, truth

import gred


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
    """Only a core that has let go of the interpreter leaves this thread a chance to count."""
    array = np.ones(2_000_000, np.int32)
    began, ended = threading.Event(), threading.Event()

    def work():
        began.set()
        gred.sum(array, method="neighbored", block_size=1024, device="simulated")
        ended.set()

    worker = threading.Thread(target=work)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        worker.start()
        began.wait()
        turns = 0
        while not ended.is_set():
            time.sleep(0.001)
            turns += not ended.is_set()
        worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert turns > 3


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
