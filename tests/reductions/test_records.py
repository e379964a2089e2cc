"""What gred reports about itself is true, complete and well presented."""

import copy
import math
import numbers
import os
import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from devices import BEST
from hostile import Refuses
from inputs import block_sizes, shown
from processes import printed
from reference import EVERY_TYPE
from samples import quietly
from truths import FIELDS

import gred
from gred.testing import SimulatedArray

LADDER = """recursive halving neighbored neighbored_less interleaved unroll2 unroll4 unroll8
unroll_warps2 unroll_warps8 complete_unroll8 template_unroll8 shared_modulo shared_strided
shared_sequential shared_first_add shared_last_warp shared_complete shared_grid_stride shuffle
shuffle_vector atomic last_block cooperative bulk cluster cub"""
ALIASES = {"global": "interleaved", "shared": "shared_sequential", "reduce5": "shared_grid_stride"}


def test_methods_come_in_climbing_order():
    methods = gred.methods()
    assert isinstance(methods, tuple)
    assert [m.name for m in methods] == LADDER.split()
    assert [m.number for m in methods] == [None, *range(25), None]


@pytest.mark.parametrize("method", gred.methods(), ids=lambda method: method.name)
def test_a_method_is_described(method):
    assert isinstance(method, gred.Method)
    for text in (method.title, method.idea, method.source):
        assert text.strip().splitlines() == [text]
    alone = {"recursive": {"host"}, "cub": {"cuda"}}
    assert set(method.devices) == alone.get(method.name, {"simulated", "cuda"})
    if method.name in alone:
        assert (method.block_sizes, method.default_block_size) == ((), None)
        return
    assert method.block_sizes == (32, 64, 128, 256, 512, 1024)
    assert method.default_block_size in method.block_sizes
    late = method.name in ("bulk", "cluster")
    assert method.compute_capability == ("9.0" if late else None)


def test_aliases_are_other_names():
    assert {alias: m.name for m in gred.methods() for alias in m.aliases} == ALIASES
    for alias, name in ALIASES.items():
        assert gred.kernel_time([1.0], method=alias, device="simulated", samples=1).method == name


def test_a_rung_without_a_device_goes_to_the_best_one():
    for method, device in (("shuffle", BEST), ("auto", "host"), ("recursive", "host")):
        timed = gred.kernel_time(np.arange(10), method=method, samples=1, cold=False)
        assert timed.device == device


def test_devices_are_there_and_described():
    devices = gred.devices()
    assert isinstance(devices, tuple)
    gpus = [f"cuda:{n}" for n in range(len(devices) - 2)]
    assert [d.name for d in devices] == ["host", "simulated", *gpus]
    for device in devices:
        assert isinstance(device, gred.Device)
        assert gred.sum([1, 2, 3], device=device.name) == 6
        assert device.title == device.title.strip() != ""
        assert device.memory > 2**20
        if device.name in gpus:
            assert re.fullmatch(r"\d+\.\d", device.compute_capability)
            assert device.bandwidth > 10**9
            assert device.units >= 1
            assert device.l2_cache > 0
        else:
            assert (device.compute_capability, device.bandwidth) == (None, None)
            assert device.units == len(os.sched_getaffinity(0))
            assert device.l2_cache >= 0


def rows_of(shown):
    """Return the cells of an HTML table, in which every tag must be closed."""
    rows = ElementTree.fromstring(shown._repr_html_()).iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in rows]


@pytest.mark.parametrize("records", [gred.methods(), gred.devices()], ids=["methods", "devices"])
def test_records_are_tuples_that_print_as_a_table(records):
    lines, rows = repr(records).splitlines(), rows_of(records)
    assert len({len(row) for row in rows}) == 1
    for record, line, row in zip(records, lines[1:], rows[1:], strict=True):
        for text in (record.name, record.title):
            assert text in line
            assert any(text in cell for cell in row)
    assert records == tuple(records)
    assert hash(records) == hash(tuple(records))
    first = records[0]
    assert first._asdict()["name"] == first.name
    assert first.name in repr(first)


def test_a_description_is_a_value_that_names_and_prints_its_fields(device):
    x = np.array([[3.0, np.nan, 1.0], [9.0, -8.0, np.nan]])
    record = gred.describe(x, device=device)
    fields = [getattr(record, field) for field in FIELDS]
    assert fields == pytest.approx([4, 2, -8, 9, 1.25, 37.1875, 5], rel=1e-15)
    assert record.std == math.sqrt(record.var)
    assert all(isinstance(n, numbers.Integral) for n in (record.count, record.nans))
    for text in (str(record), repr(record), str(rows_of(record))):
        assert all(field in text for field in (*FIELDS, "37.18"))
    assert copy.copy(record) == record != gred.describe([1, 2, 4])
    with pytest.raises((AttributeError, TypeError)):
        record.mean = 3
    arrays = [np.ones(n, dtype) for dtype in EVERY_TYPE for n in (3, 0)]
    arrays += map(np.array, ([1e300, -1e-300, np.inf], [1 + 2j, -3e-5j], [2**63 - 1, -(2**63)]))
    for x in arrays:
        record = quietly("describe", x)
        assert all((str(record), repr(record), record._repr_html_()))


def test_a_report_of_a_bug_has_what_it_needs(capsys):
    facts = gred.show_config("dicts")
    assert gred.show_config() is None
    shown = capsys.readouterr().out
    assert all(fact in shown for fact in facts.values())
    assert facts["gred"].startswith(gred.__version__)
    assert f"numpy {np.__version__}" in facts["libraries"]
    assert facts["threads"] == str(gred.threads())
    assert all(device.name in facts["devices"] for device in gred.devices())
    assert facts["instructions"] in gred.explain(np.ones(1000)).array
    assert ("CUDA" in facts["built for"]) == (gred.build_info()["cuda"] is not None)
    with pytest.raises(ValueError, match="'stdout' or 'dicts'"):
        gred.show_config("yaml")


def test_build_info_says_how_it_was_built():
    info = gred.build_info()
    assert set(info) == {"cuda", "architectures"}
    assert (info["cuda"] is None) == (info["architectures"] == ())
    assert re.fullmatch(r"\d+\.\d+|None", str(info["cuda"]))
    assert all(re.fullmatch(r"\d{2,3}[a-z]?|ptx", a) for a in info["architectures"])


# ---- measurements, and invalid ones ----

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
    if device == "host":  # it launches no kernel
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


@pytest.mark.unsanitized  # a sanitizer delays freeing memory
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
# A call's arguments and options, the error and words of its message.
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
    (COUNT, (FEW, "prod"), {}, ValueError, ("sum and mean only",)),
    (COUNT, (FEW,), {"method": "exact"}, ValueError, ("has no counters; rungs 0 to 24 have",)),
    (COUNT, (FEW,), {"method": "recursive"}, ValueError, ("does not run on 'simulated'",)),
    (COUNT, (FEW,), {"method": "host"}, ValueError, ("method 'host' does not exist",)),
    (COUNT, (FEW,), {"block_size": 16}, ValueError, ("block_size",)),
    (COUNT, ("text",), {}, TypeError, ("a",)),
    (COUNT, (FEW,), {"dtype": np.float64}, ValueError, ("float32 in float64",)),
    (COUNT, (FEW[:0],), {}, ValueError, ("a is empty: there is nothing to count",)),
    (COUNT, (FEW,), {"multiprocessors": 0}, ValueError, ("from 1 to 1024; got 0",)),
    (COUNT, (FEW,), {"multiprocessors": True}, TypeError, ("must be an integer; got True",)),
    (COUNT, (COLUMNS,), {}, ValueError, ("a contiguous array",)),
    *((PREDICT, (n,), {}, ValueError, (f"from 1 to 2**40; got {n}",)) for n in (0, 2**40 + 1)),
    (PREDICT, (2**40,), ON_ONE, ValueError, ("choose a larger block_size",)),
    *((PREDICT, (n,), {}, TypeError, (f"must be an integer; got {n}",)) for n in (1.5, True)),
    (PREDICT, (9,), {"method": "cub"}, ValueError, ("'cub' does not run on 'simulated'",)),
    (PREDICT, (9,), {"dtype": "U3"}, ValueError, ("dtype must be int32, ", "got 'U3'")),
    (PREDICT, (9,), {"dtype": bool}, ValueError, ("dtype must be int32, ", "bool")),
    (PREDICT, (9,), {"block_size": 33}, ValueError, ("33",)),
    (PREDICT, (9,), {"device": "simulated"}, ValueError, ("got 'simulated'", "an H200")),
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
    (RuntimeWarning, lambda: gred.sum(ENDLESS, **ON_ONE, device="simulated")),  # a long run
    (RuntimeWarning, lambda: gred.kernel_time(ENDLESS, **ON_ONE, device="simulated")),
    (RuntimeWarning, lambda: gred.read_limit("simulated", 2**26, samples=10**6)),
]


@pytest.mark.parametrize(("category", "call"), WARNED)
def test_a_warning_points_to_the_call(category, call, monkeypatch):
    """A long run ends there, because showing the warning raises."""
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
