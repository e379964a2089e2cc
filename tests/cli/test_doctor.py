"""`python -m gred doctor`: a line for all that gred needs, with what to do where it is wrong."""

import re
from importlib import metadata

import numpy as np
import pytest
from devices import GPU_IS_HERE

import gred
from gred.cli import doctor

GPU = gred.Device("cuda:0", "a GPU", 108, 2**35, None, 2**25, "8.6")
SUM, VERSION = gred.sum, metadata.version


def burning(a, device):
    if device != "host":
        raise RuntimeError("it burns")
    return a.sum() + 1


def older(name):
    return "0.0.9" if name == "gred" else VERSION(name)


def built(*architectures, cuda="13.0"):
    return gred, "build_info", lambda: {"cuda": cuda, "architectures": architectures}


def with_gpu(*architectures):
    """Have a GPU listed which adds up rightly, and none that is here."""
    here = [one for one in gred.devices() if not one.name.startswith("cuda")]
    add = gred, "sum", lambda a, device: SUM(a, device=device.replace(GPU.name, "host"))
    return [(gred, "devices", lambda: (*here, GPU)), add, built(*architectures)]


DRIVEN = (doctor, "driver_version", lambda: "580.1")
NO_CODE, CACHE = {GPU.name: "GRED_CUDA_ARCHS=86"}, "cache of kernels"
DISABLED, UNWRITABLE = ("CUDA_CACHE_DISABLE", "1"), ("CUDA_CACHE_PATH", "/dev/null/x")
INSTRUCTIONS, THREADS = ("GRED_INSTRUCTIONS", "mmx"), ("OMP_NUM_THREADS", "many")
BURNT = {"sum on host": str(sum(range(100_003))), "sum on simulated": "it burns: please report it"}
# What is changed in the environment or in modules, and what is then wrong.
CASES = [
    ([], {}),
    ([INSTRUCTIONS], {"instructions": "GRED_INSTRUCTIONS=mmx.*unset it"}),
    ([THREADS], {"threads": "OMP_NUM_THREADS=many: that is no number.*unset it"}),
    ([(metadata, "version", older)], {"gred": "pip knows 0.0.9"}),
    ([(gred, "sum", burning)], BURNT),
    (with_gpu("86", "90"), {}),
    (with_gpu("89"), NO_CODE),
    (with_gpu("90a"), NO_CODE),
    ([*with_gpu("80"), DISABLED], {}),
    ([*with_gpu("80"), UNWRITABLE], {}),
    ([*with_gpu("ptx"), DISABLED], NO_CODE | {CACHE: "unset CUDA_CACHE_DISABLE"}),
    ([*with_gpu("ptx"), UNWRITABLE], NO_CODE | {CACHE: "CUDA_CACHE_PATH"}),
    ([DRIVEN, built(cuda=None)], {"driver": re.escape("gred[cuda13]")}),
    ([DRIVEN, built()], {"driver": "runs CUDA 13.0"}),
]


@pytest.mark.parametrize(("changed", "wrong"), CASES, ids=range(len(CASES)))
def test_what_is_wrong_is_a_problem_and_nothing_else(command, monkeypatch, changed, wrong):
    if GPU_IS_HERE and not any(change[1] == "devices" for change in changed):
        pytest.skip("the GPU that is here may have problems of its own")
    for name in ("OMP_NUM_THREADS", "GRED_INSTRUCTIONS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "1000")
    for change in changed:
        (monkeypatch.setenv if len(change) == 2 else monkeypatch.setattr)(*change)
    status, out, err = command("doctor")
    assert (status, err) == (bool(wrong), "")
    lines = [line.split(maxsplit=1) for line in out.splitlines()]
    checks = {text.split(": ")[0]: (mark, text) for mark, text in lines}
    named = {"gred", "Python", "platform", "libraries", "instructions", "threads", "driver"}
    named |= {"built for", CACHE, *(f"sum on {one.name}" for one in gred.devices())}
    assert named <= set(checks)
    assert f"numpy {np.__version__}" in checks["libraries"][1]
    assert {name for name, (mark, _) in checks.items() if mark == "problem"} == set(wrong)
    for name, words in wrong.items():
        assert re.search(words, checks[name][1])
