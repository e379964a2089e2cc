"""What gred says about itself is true, complete, and good to look at."""

import copy
import math
import numbers
import os
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from devices import BEST
from reference import EVERY_TYPE
from samples import quietly
from truths import FIELDS

import gred

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
    """Read the cells of a table of HTML, all of whose tags must be closed in turn."""
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
