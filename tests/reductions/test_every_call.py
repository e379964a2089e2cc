"""What every function that takes arrays promises; calls.py has all of them.

What results are, of arrays whose elements lie one after the other, is tested for each by itself.
"""

import itertools
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from calls import (
    CALLS,
    LAYOUTS,
    OF_THE_HOST,
    OTHERS,
    REDUCTIONS,
    RUNGS,
    check,
    drawn,
    every_call,
    lie,
    places_of,
    results,
)
from reference import BFLOAT16, COMPLEX, EVERY_TYPE
from thin import chosen

import gred

REAL = [dtype for dtype in EVERY_TYPE if dtype not in COMPLEX]


def whole(arrays):
    """Copy arrays to memory of their own, one element after the other in this byte order."""
    return [np.array(one, one.dtype.newbyteorder("="), order="C") for one in arrays]


def outcome(name, arrays):
    """Give the results, or the error where numbers of a type have none."""
    try:
        return results(name, arrays)
    except TypeError as error:
        return type(error)


@every_call
def test_a_layout_changes_no_result(name):
    types = EVERY_TYPE if name in REDUCTIONS else REAL  # complex numbers have few calls
    every = itertools.product(places_of(name), LAYOUTS | OF_THE_HOST)
    every = [(*case, dtype) for case in chosen(every, name) for dtype in chosen(types, name, case)]
    for place, layout, dtype in every:
        if place in ("simulated", "cuda") and layout in OF_THE_HOST:
            continue
        if dtype == BFLOAT16 and "byte order" in layout:
            continue
        arrays = CALLS[name].of((LAYOUTS | OF_THE_HOST)[layout](drawn(name, dtype)))
        want = outcome(name, whole(arrays))
        if want is TypeError:
            with pytest.raises(TypeError):
                results(name, lie(arrays, place), place)
        else:
            check(name, results(name, lie(arrays, place), place), want)


@every_call
def test_a_limited_workspace_changes_no_result(name):
    """There is room for an element, for some, for most; what cannot go in pieces says so."""
    every = itertools.product(places_of(name), LAYOUTS, (1, 2000, 20_000))
    for place, layout, limit in chosen(every, name, "limit"):
        dtype = "i2" if layout == "as it is" else "f8"
        arrays = CALLS[name].of(LAYOUTS[layout](drawn(name, dtype)))
        want = results(name, whole(arrays))
        with gred.workspace_limit(limit):
            try:
                check(name, results(name, lie(arrays, place), place), want)
            except MemoryError:
                assert name in OTHERS, "arrays go in pieces"


def bytes_of(arrays):
    return b"".join(one.tobytes() for one in arrays)


@every_call
def test_inputs_are_never_written_and_need_not_be_writable(name):
    for place, layout in itertools.product(places_of(name), ("as it is", "columns backwards")):
        arrays = CALLS[name].of(LAYOUTS[layout](drawn(name, "f8")))
        before, there = bytes_of(arrays), lie(arrays, place)
        for one in arrays:
            one.flags.writeable = False
        results(name, there, place)
        results(name, lie(arrays, place), place)
        if name in RUNGS and place != "brought":
            method = CALLS[name].run.keywords["method"]
            gred.kernel_time(there[0], method=method, samples=2, warmup=0, cold=False)
        assert bytes_of(map(np.asarray, arrays)) == before


@every_call
def test_no_threads_and_no_order_of_them_change_a_bit(name, threads_as_before):
    """But for `atomic`, which adds in the order that blocks come in."""
    for place in places_of(name):
        shape = (500, 1003) if place == "host" else (70, 311)
        x, made = np.random.default_rng(2).normal(size=shape), set()
        x = np.repeat(x, 2, 1)[:, ::2] if len(name) % 2 else x
        arrays = lie(CALLS[name].of(x), place)
        orders = (("forwards",), ("backwards",), ("shuffled", 1))
        for threads, order in zip((1, 2, 16), orders, strict=True):
            gred.threads(threads)
            with gred.thread_order(*order):
                made.add(bytes_of(results(name, arrays, place)))
        if place == "host":
            with ThreadPoolExecutor(3) as pool:
                made |= set(map(bytes_of, pool.map(partial(results, name), [arrays] * 3)))
        assert len(made) == 1 or "atomic" in name
