"""Kernel times and read limits say what was measured, and refuse what cannot be."""

import warnings

import numpy as np
import pytest
from hostile import Refuses
from inputs import shown
from processes import printed

import gred

ARRAY = np.arange(1, 1001)
DEVICES = ("device", "'host'", "'simulated'", "'cuda'", "'cuda:N'")


def quickly(a, op="sum", **options):
    return gred.kernel_time(a, op, samples=2, warmup=0, cold=False, **options)


def test_a_kernel_time_says_what_was_run(device, rung):
    for block_size in (None, 32, 1024):
        timed = quickly(ARRAY, method=rung, device=device, block_size=block_size)
        default = next(m.default_block_size for m in gred.methods() if m.name == rung)
        assert timed.block_size == (block_size or default)
        assert timed.method == rung
        assert timed.device == ("cuda:0" if device == "cuda" else device)
        assert timed.nbytes == ARRAY.nbytes
        assert timed.result == 500500
        assert 1 <= timed.grid <= -(-len(ARRAY) // timed.block_size)
        assert timed.passes >= 1


def test_auto_says_what_it_was(device):
    timed = quickly(ARRAY, device=device)
    assert timed.method == ("auto" if device == "host" else "last_block")
    assert timed.result == 500500
    assert (timed.block_size is None) == (device == "host")


@pytest.mark.parametrize("method", ["auto", "recursive"])
def test_the_host_has_no_blocks(method):
    timed = quickly(ARRAY, method=method, device="host")
    assert (timed.block_size, timed.device, timed.method) == (None, "host", method)
    np.testing.assert_array_equal(timed.seconds, timed.first_pass)


def test_what_was_run_can_be_asked_for_again(device, method):
    timed = quickly(ARRAY, method=method, device=device)
    again = quickly(ARRAY, method=timed.method, device=timed.device, block_size=timed.block_size)
    assert (again.method, again.block_size) == (timed.method, timed.block_size)


def test_the_default_is_twenty_samples_of_a_sum():
    timed = gred.kernel_time(ARRAY, cold=False)
    assert len(timed.seconds) == len(timed.first_pass) == 20
    assert timed.result == 500500
    assert isinstance(timed, gred.KernelTime)


@pytest.mark.parametrize("nbytes", [1024, 1025, 4096 + 8, 2**16 + 16])
def test_a_read_limit_says_what_was_read(device, nbytes):
    limit = gred.read_limit(device, nbytes, samples=3, cold=False)
    assert isinstance(limit, gred.ReadLimit)
    assert limit.seconds.shape == (3,)
    assert limit.seconds.dtype == np.float64
    assert (limit.seconds > 0).all()
    assert limit.nbytes == nbytes
    assert limit.device == ("cuda:0" if device == "cuda" else device)
    if device == "host":
        assert limit.block_size is None
    else:
        assert limit.grid >= 1
        assert limit.block_size in (32, 64, 128, 256, 512, 1024)


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


def test_a_read_limit_of_no_device_is_of_the_best():
    best = "cuda:0" if any(d.name == "cuda:0" for d in gred.devices()) else "simulated"
    assert gred.read_limit(nbytes=2**16, samples=1).device == best


def test_a_launch_limit_is_of_launches(device):
    if device == "host":
        return  # which launches nothing
    limit = gred.launch_limit(device, samples=7)
    assert isinstance(limit, gred.LaunchLimit)
    assert (limit.seconds.shape, limit.seconds.dtype) == ((7,), np.float64)
    assert (limit.seconds > 0).all()
    assert limit.device == ("cuda:0" if device == "cuda" else device)


REFUSED = [
    (ValueError, ("op", "'sum'", "reductions()", "'median'"), (ARRAY, "median"), {}),
    (ValueError, ("op",), (ARRAY, "\ud800"), {}),
    (TypeError, ("op", "3"), (ARRAY, 3), {}),
    (TypeError, ("op", "None"), (ARRAY, None), {}),
    (ValueError, ("samples", "0"), (ARRAY,), {"samples": 0}),
    (ValueError, ("samples", "-1"), (ARRAY,), {"samples": -1}),
    (ValueError, ("samples",), (ARRAY,), {"samples": 10**30}),
    (TypeError, ("samples", "2.5"), (ARRAY,), {"samples": 2.5}),
    (TypeError, ("samples", "True"), (ARRAY,), {"samples": True}),
    (ValueError, ("warmup", "-1"), (ARRAY,), {"warmup": -1}),
    (TypeError, ("warmup", "'x'"), (ARRAY,), {"warmup": "x"}),
    (ValueError, ("a", "empty"), ([],), {}),
    (ValueError, ("method", "unroll8"), (ARRAY,), {"method": "unrol8"}),
    (ValueError, ("device",), (ARRAY,), {"device": "tpu"}),
    (ValueError, ("block_size",), (ARRAY,), {"method": "shuffle", "block_size": 48}),
    (TypeError, ("dtype",), (ARRAY,), {"dtype": object}),
    (TypeError, ("a:", "not supported"), (np.ones(3, np.longdouble),), {}),
    (TypeError, ("axis",), (ARRAY,), {"axis": 0}),
    (TypeError, (), (), {}),
    (TypeError, (), (ARRAY, "sum", "unroll8"), {}),
]
REFUSED_LAUNCHES = [
    (ValueError, ("'host' launches nothing",), ("host",), {}),
    (ValueError, ("samples",), ("simulated",), {"samples": 0}),
    (TypeError, ("samples",), ("simulated",), {"samples": "many"}),
]
REFUSED_LIMITS = [
    (ValueError, DEVICES, ("tpu",), {}),
    (TypeError, DEVICES, (3,), {}),
    (ValueError, ("nbytes", "0"), ("host", 0), {}),
    (ValueError, ("nbytes", "-1"), ("host", -1), {}),
    (ValueError, ("nbytes", "from 1024 to", str(2**64)), ("host", 2**64), {}),
    (ValueError, ("nbytes", str(2**63 - 1), str(2**63)), ("host", 2**63), {}),
    (ValueError, ("nbytes", str(-(2**63) - 1)), ("host", -(2**63) - 1), {}),
    (ValueError, ("nbytes",), ("simulated", 10**30), {}),
    (MemoryError, ("memory",), ("host", 2**63 - 1), {}),
    (MemoryError, ("memory",), ("host", 2**62), {}),
    (TypeError, ("nbytes", "1000000.0"), ("host", 1e6), {}),
    (ValueError, ("samples", "0"), ("host", 2**16), {"samples": 0}),
    (TypeError, ("samples",), ("host", 2**16), {"samples": "many"}),
]


@pytest.mark.parametrize(
    ("call", "error", "words", "arguments", "options"),
    [(gred.kernel_time, *row) for row in REFUSED]
    + [(gred.read_limit, *row) for row in REFUSED_LIMITS]
    + [(gred.launch_limit, *row) for row in REFUSED_LAUNCHES],
    ids=shown,
)
def test_a_measurement_checks_its_arguments(call, error, words, arguments, options):
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    assert caught.type is error
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_an_integers_own_error_is_the_callers():
    with pytest.raises(ZeroDivisionError):
        gred.read_limit("host", Refuses())
    with pytest.raises(ZeroDivisionError):
        gred.kernel_time(ARRAY, samples=Refuses())


@pytest.mark.parametrize("integer", [np.int16, np.uint64, np.array])
def test_counts_may_be_integers_of_numpys(integer):
    timed = gred.kernel_time(ARRAY, samples=integer(3), warmup=integer(0), cold=False)
    assert len(timed.seconds) == 3
    limit = gred.read_limit("host", integer(2048), samples=integer(1), cold=False)
    assert limit.nbytes == 2048


COMPLEX = np.ones(3, np.complex64)
LOST = {
    "sum": lambda: gred.sum(COMPLEX, dtype=float),
    "kernel_time": lambda: gred.kernel_time(COMPLEX, dtype=float, samples=1),
}
ENDLESS = np.broadcast_to(np.int8(1), 2**36)
SLOW = {
    "sum": lambda: gred.sum(ENDLESS, method="neighbored", device="simulated"),
    "kernel_time": lambda: gred.kernel_time(ENDLESS, method="neighbored", device="simulated"),
    "read_limit": lambda: gred.read_limit("simulated", 2**26, samples=10**6),
}


def assert_here(warning, call):
    """The warning is of the line that called gred, and of no other."""
    assert warning.filename == __file__
    assert warning.lineno == call.__code__.co_firstlineno


@pytest.mark.parametrize("call", LOST.values(), ids=LOST.keys())
def test_a_warning_of_types_points_to_the_call(call):
    with pytest.warns(np.exceptions.ComplexWarning, match="imaginary") as caught:
        call()
    assert_here(caught[0], call)


@pytest.mark.parametrize("call", SLOW.values(), ids=SLOW.keys())
def test_a_warning_of_a_long_run_points_to_the_call(call, monkeypatch):
    """The run ends there, because showing the warning fails."""
    shown = []

    def show(message, category, filename, lineno, *_):
        shown.append(warnings.WarningMessage(message, category, filename, lineno))
        raise KeyboardInterrupt

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        with pytest.raises(KeyboardInterrupt):
            call()
    assert issubclass(shown[0].category, RuntimeWarning)
    assert_here(shown[0], call)
