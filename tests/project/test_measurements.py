"""Kernel times and read limits say what was measured, and refuse what cannot be."""

import warnings

import numpy as np
import pytest
from devices import BEST
from hostile import Refuses
from inputs import block_sizes, shown
from processes import printed

import gred
from gred.testing import SimulatedArray

ARRAY = np.arange(1, 1001)
DEVICES = ("device", "'host'", "'simulated'", "'cuda'", "'cuda:N'")
NAMES, ON_ONE = {"cuda": "cuda:0"}, {"method": "neighbored"}


def quickly(a=ARRAY, **options):
    return gred.kernel_time(a, samples=2, warmup=0, cold=False, **options)


def test_a_kernel_time_says_what_was_run_which_can_be_asked_for_again(device, method):
    default = next((m.default_block_size for m in gred.methods() if m.name == method), None)
    is_rung = block_sizes(method) != (None,)
    for block_size in (None, 32, 1024) if is_rung else (None,):
        timed = quickly(method=method, device=device, block_size=block_size)
        assert (timed.nbytes, timed.result) == (ARRAY.nbytes, 500500)
        assert timed.device == NAMES.get(device, device)
        if device == "host":
            assert (timed.block_size, timed.method) == (None, method)
            np.testing.assert_array_equal(timed.seconds, timed.first_pass)
        else:
            assert timed.method == ("last_block" if method == "auto" else method)
        if is_rung:
            assert timed.block_size == (block_size or default)
            assert 1 <= timed.grid <= -(-len(ARRAY) // timed.block_size)
            assert timed.passes >= 1
        again = quickly(method=timed.method, device=timed.device, block_size=timed.block_size)
        assert (again.method, again.block_size) == (timed.method, timed.block_size)


def test_the_default_is_twenty_samples_of_a_sum():
    timed = gred.kernel_time(ARRAY, cold=False)
    assert isinstance(timed, gred.KernelTime)
    assert (len(timed.seconds), len(timed.first_pass), timed.result) == (20, 20, 500500)


@pytest.mark.parametrize("nbytes", [1024, 1025, 4096 + 8, 2**16 + 16])
def test_limits_say_what_was_read_or_launched(device, nbytes):
    limits = [gred.read_limit(device, nbytes, samples=3, cold=False)]
    assert isinstance(limits[0], gred.ReadLimit)
    assert limits[0].nbytes == nbytes
    if device == "host":  # which launches nothing
        assert limits[0].block_size is None
    else:
        assert limits[0].grid >= 1
        assert limits[0].block_size in (32, 64, 128, 256, 512, 1024)
        limits.append(gred.launch_limit(device, samples=3))
        assert isinstance(limits[1], gred.LaunchLimit)
    for limit in limits:
        assert (limit.seconds.shape, limit.seconds.dtype) == ((3,), np.float64)
        assert (limit.seconds > 0).all()
        assert limit.device == NAMES.get(device, device)
    assert gred.read_limit(nbytes=nbytes, samples=1, cold=False).device == BEST


@pytest.mark.unsanitized  # what is freed, a sanitizer keeps
def test_caches_are_flushed_with_more_memory_than_they_have_unless_they_may_be_warm():
    code = """
    import re, gred
    def most():
        return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) >> 10
    gred.read_limit("host", 2**20, samples=1, cold=False)
    before = most()
    gred.read_limit("host", 2**20, samples=1, cold=False)
    warm = most()
    gred.read_limit("host", 2**20, samples=1)
    print(warm - before < 4 and most() - warm > 4)
    """
    assert printed(code) == "True\n"


TIME, READ, LAUNCH = gred.kernel_time, gred.read_limit, gred.launch_limit
COUNT, SEE, PREDICT = gred.counters, gred.accesses, gred.roofline
FEW, COLUMNS = np.ones(3, np.float32), SimulatedArray(np.ones((4, 4)))[:, ::2]
# Of a call's arguments and options, the error and words of what it says.
REFUSED = [
    (TIME, (FEW, "median"), {}, ValueError, ("op", "'sum'", "reductions()", "'median'")),
    (TIME, (FEW, "\ud800"), {}, ValueError, ("op",)),
    (TIME, (FEW, 3), {}, TypeError, ("op", "3")),
    *((TIME, (FEW,), {"samples": n}, ValueError, ("samples", str(n))) for n in (0, -1, 10**30)),
    *((TIME, (FEW,), {"samples": n}, TypeError, ("samples", str(n))) for n in (2.5, True)),
    (TIME, (FEW,), {"samples": Refuses()}, ZeroDivisionError, ()),
    (TIME, (FEW,), {"warmup": -1}, ValueError, ("warmup", "-1")),
    (TIME, (FEW,), {"warmup": "x"}, TypeError, ("warmup", "'x'")),
    (TIME, ([],), {}, ValueError, ("a", "empty")),
    (TIME, (FEW,), {"dtype": object}, TypeError, ("dtype",)),
    (TIME, (FEW,), {"axis": 0}, TypeError, ("axis",)),
    (READ, ("tpu",), {}, ValueError, DEVICES),
    (READ, (3,), {}, TypeError, DEVICES),
    *((READ, ("host", n), {}, ValueError, ("nbytes", str(n))) for n in (0, -1, 2**63)),
    (READ, ("host", 2**64), {}, ValueError, ("nbytes", "from 1024 to", str(2**64))),
    (READ, ("simulated", 10**30), {}, ValueError, ("nbytes",)),
    *((READ, ("host", n), {}, MemoryError, ("memory",)) for n in (2**63 - 1, 2**62)),
    (READ, ("host", 1e6), {}, TypeError, ("nbytes", "1000000.0")),
    (READ, ("host", Refuses()), {}, ZeroDivisionError, ()),
    (LAUNCH, ("host",), {}, ValueError, ("'host' launches nothing",)),
    (READ, ("simulated",), {"samples": 0}, ValueError, ("samples", "0")),
    (LAUNCH, ("simulated",), {"samples": 0}, ValueError, ("samples", "0")),
    (LAUNCH, ("simulated",), {"samples": "x"}, TypeError, ("samples",)),
    (COUNT, (FEW, "prod"), {}, ValueError, ("sums and means alone",)),
    (COUNT, (FEW,), {"method": "exact"}, ValueError, ("has no counters; rungs 0 to 24 have",)),
    (COUNT, (FEW,), {"method": "recursive"}, ValueError, ("does not run on 'simulated'",)),
    (COUNT, (FEW,), {"method": "host"}, ValueError, ("method 'host' does not exist",)),
    (COUNT, (FEW,), {"block_size": 16}, ValueError, ("block_size",)),
    (COUNT, ("text",), {}, TypeError, ("a",)),
    (COUNT, (FEW,), {"dtype": np.float64}, ValueError, ("float32 in float64",)),
    (COUNT, (FEW[:0],), {}, ValueError, ("a is empty: there is nothing to count",)),
    (COUNT, (FEW,), {"multiprocessors": 0}, ValueError, ("from 1 to 1024; got 0",)),
    (COUNT, (FEW,), {"multiprocessors": True}, TypeError, ("must be an integer; got True",)),
    (COUNT, (COLUMNS,), {}, ValueError, ("one after the other",)),
    *((PREDICT, (n,), {}, ValueError, (f"from 1 to 2**40; got {n}",)) for n in (0, 2**40 + 1)),
    (PREDICT, (2**40,), ON_ONE, ValueError, ("choose a larger block_size",)),
    *((PREDICT, (n,), {}, TypeError, (f"must be an integer; got {n}",)) for n in (1.5, True)),
    (PREDICT, (9,), {"method": "cub"}, ValueError, ("'cub' does not run on 'simulated'",)),
    (PREDICT, (9,), {"dtype": "U3"}, ValueError, ("dtype must be int32, ", "got 'U3'")),
    (PREDICT, (9,), {"dtype": bool}, ValueError, ("dtype must be int32, ", "bool")),
    (PREDICT, (9,), {"block_size": 33}, ValueError, ("33",)),
    (PREDICT, (9,), {"device": "simulated"}, ValueError, ("got 'simulated'", "an H200's")),
]
REFUSED += [(SEE, *refused) for call, *refused in REFUSED if call is COUNT]


@pytest.mark.parametrize(("call", "args", "more", "error", "words"), REFUSED, ids=shown)
def test_what_cannot_be_measured_counted_or_predicted_is_refused(call, args, more, error, words):
    with pytest.raises(error) as caught:
        call(*args, **more)
    assert caught.type is error
    assert all(word in str(caught.value) for word in words), str(caught.value)


COMPLEX, ENDLESS = np.ones(3, np.complex64), np.broadcast_to(np.int8(1), 2**36)
LOST = np.exceptions.ComplexWarning
WARNED = [
    (LOST, lambda: gred.sum(COMPLEX, dtype=float)),
    (LOST, lambda: gred.kernel_time(COMPLEX, dtype=float, samples=1)),
    (RuntimeWarning, lambda: gred.sum(ENDLESS, **ON_ONE, device="simulated")),  # of a long run
    (RuntimeWarning, lambda: gred.kernel_time(ENDLESS, **ON_ONE, device="simulated")),
    (RuntimeWarning, lambda: gred.read_limit("simulated", 2**26, samples=10**6)),
]


@pytest.mark.parametrize(("category", "call"), WARNED)
def test_a_warning_points_to_the_call(category, call, monkeypatch):
    """A long run ends there, because showing the warning fails."""
    heard = []

    def show(message, category, filename, lineno, *_):
        heard.append((category, filename, lineno))
        raise KeyboardInterrupt

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        with pytest.raises(KeyboardInterrupt):
            call()
    assert heard == [(category, __file__, call.__code__.co_firstlineno)]
