"""What gred says about itself is true, complete, and good to look at."""

import inspect
import os
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from inputs import OPS

import gred

LADDER = """recursive halving neighbored neighbored_less interleaved unroll2 unroll4 unroll8
unroll_warps2 unroll_warps8 complete_unroll8 template_unroll8 shared_modulo shared_strided
shared_sequential shared_first_add shared_last_warp shared_complete shared_grid_stride shuffle
shuffle_vector atomic last_block cooperative bulk cluster cub"""
ALIASES = {"global": "interleaved", "shared": "shared_sequential", "reduce5": "shared_grid_stride"}


def test_methods_come_in_climbing_order():
    methods = gred.methods()
    assert isinstance(methods, tuple)
    assert " ".join(m.name for m in methods) == " ".join(LADDER.split())
    assert [m.number for m in methods] == [None, *range(25), None]


@pytest.mark.parametrize("method", gred.methods(), ids=lambda method: method.name)
def test_a_method_is_described(method):
    assert isinstance(method, gred.Method)
    for text in (method.title, method.idea, method.source):
        assert text
        assert text == text.strip()
        assert "\n" not in text
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
    described = {alias: m.name for m in gred.methods() for alias in m.aliases}
    assert described == ALIASES
    array = np.random.default_rng(4).normal(size=5001).astype(np.float32)
    for alias, name in ALIASES.items():
        for op in OPS:
            one, other = (
                getattr(gred, op)(array, method=m, device="simulated") for m in (alias, name)
            )
            assert one.tobytes() == other.tobytes()
        assert gred.kernel_time(array, method=alias, device="simulated", samples=1).method == name


def test_a_rung_without_a_device_goes_to_the_best_one():
    best = "cuda:0" if any(d.name == "cuda:0" for d in gred.devices()) else "simulated"
    timed = gred.kernel_time(np.arange(10), method="shuffle", samples=1, cold=False)
    assert timed.device == best
    assert gred.kernel_time(np.arange(10), samples=1, cold=False).device == "host"
    assert gred.kernel_time([1], method="recursive", samples=1, cold=False).device == "host"


def test_devices_are_there():
    devices = gred.devices()
    assert isinstance(devices, tuple)
    names = [d.name for d in devices]
    assert names[:2] == ["host", "simulated"]
    assert names[2:] == [f"cuda:{n}" for n in range(len(devices) - 2)]
    for name in names:
        assert gred.sum([1, 2, 3], device=name) == 6


@pytest.mark.parametrize("described", gred.devices(), ids=lambda device: device.name)
def test_a_device_is_described(described):
    assert isinstance(described, gred.Device)
    assert described.title
    assert described.title == described.title.strip()
    assert described.memory > 2**20
    if described.name.startswith("cuda"):
        assert re.fullmatch(r"\d+\.\d", described.compute_capability)
        assert described.bandwidth > 10**9
        assert described.units >= 1
        assert described.l2_cache > 0
    else:
        assert (described.compute_capability, described.bandwidth) == (None, None)
        assert described.units == len(os.sched_getaffinity(0))
        assert described.l2_cache >= 0


every_table = pytest.mark.parametrize(
    "records", [gred.methods(), gred.devices()], ids=["methods", "devices"]
)


class Table(HTMLParser):
    """Reads a table's rows, and checks that every tag is closed in turn."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows = [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@every_table
def test_records_print_as_a_table(records):
    lines = repr(records).splitlines()
    assert len(lines) == 1 + len(records)
    for record, line in zip(records, lines[1:], strict=True):
        assert record.name in line
        assert record.title in line
    rows = Table(records._repr_html_()).rows
    assert len(rows) == 1 + len(records)
    assert len({len(row) for row in rows}) == 1
    for record, row in zip(records, rows[1:], strict=True):
        assert any(record.name in cell for cell in row)
        assert any(record.title in cell for cell in row)


@every_table
def test_records_are_plain_tuples_otherwise(records):
    assert records == tuple(records)
    assert hash(records) == hash(tuple(records))
    first = records[0]
    assert first._asdict()["name"] == first.name
    assert first.name in repr(first)


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
    if info["cuda"] is None:
        assert info["architectures"] == ()
    else:
        assert re.fullmatch(r"\d+\.\d+", info["cuda"])
        assert info["architectures"]
        assert all(re.fullmatch(r"\d{2,3}[a-z]?|ptx", a) for a in info["architectures"])


# ---- names and documents ----

FUNCTIONS = (*OPS, "methods", "devices", "build_info")
FUNCTIONS += ("kernel_time", "read_limit", "launch_limit", "thread_order")


def test_all_names_are_there():
    assert set(FUNCTIONS) <= set(gred.__all__)
    assert sorted(gred.__all__) == sorted(set(gred.__all__))
    for name in gred.__all__:
        assert hasattr(gred, name)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_say_what_comes_back_and_what_is_raised(name):
    function = getattr(gred, name)
    text = inspect.getdoc(function)
    sections = re.findall(r"^(\w+)\n-{3,}$", text, re.MULTILINE)
    parameters = inspect.signature(function).parameters
    if name != "thread_order":
        assert "Returns" in sections
    if parameters:
        assert "Raises" in sections
        assert "Parameters" in sections
        described = text.split("Parameters\n", 1)[1]
        for parameter in parameters:
            assert re.search(rf"^[\w, ]*\b{parameter}\b[\w, ]*( :|$)", described, re.MULTILINE)


def test_the_modules_have_docstrings():
    assert gred.__doc__.strip()
    assert gred._core.__doc__.strip()
