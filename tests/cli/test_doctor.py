"""`python -m gred doctor`: a line for all that gred needs, with what to do where it is wrong."""

from importlib import metadata

import numpy as np
import pytest

import gred
from gred.cli import doctor

pytestmark = pytest.mark.unsanitized

GPU = gred.Device("cuda:0", "a GPU", 108, 2**35, None, 2**25, "8.6")


@pytest.fixture
def found(command, monkeypatch):
    """Run it; each check by its name, with its mark, and the exit status."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("GRED_INSTRUCTIONS", raising=False)

    def run(**environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("COLUMNS", "1000")
        status, out, err = command("doctor")
        assert err == ""
        lines = [line.split(maxsplit=1) for line in out.splitlines()]
        return status, {text.split(": ")[0]: (mark, text) for mark, text in lines}

    return run


def problems(checks):
    return [text for mark, text in checks.values() if mark == "problem"]


@pytest.fixture
def with_gpu(monkeypatch):
    """Have a GPU listed, which adds up rightly, and none that is here."""
    listed = [one for one in gred.devices() if not one.name.startswith("cuda")]
    add = gred.sum
    monkeypatch.setattr(gred, "devices", lambda: (*listed, GPU))
    monkeypatch.setattr(
        gred, "sum", lambda a, device: add(a, device=device.replace(GPU.name, "host"))
    )

    def built(*architectures):
        kept = {"cuda": "13.0", "architectures": architectures}
        monkeypatch.setattr(gred, "build_info", lambda: kept)

    return built


def test_everything_is_looked_at_and_right_here(found):
    status, checks = found()
    named = {"gred", "Python", "platform", "libraries", "instructions", "threads", "driver"}
    named |= {"built for", "cache of kernels", *(f"sum on {one.name}" for one in gred.devices())}
    assert named <= set(checks)
    assert f"numpy {np.__version__}" in checks["libraries"][1]
    if not any(one.name.startswith("cuda") for one in gred.devices()):
        assert (status, problems(checks)) == (0, [])


def test_settings_that_mean_nothing_are_problems(found):
    status, checks = found(GRED_INSTRUCTIONS="mmx", OMP_NUM_THREADS="many")
    told = problems(checks)
    assert (status, len(told)) == (1, 2)
    assert all("unset it" in problem for problem in told)
    assert "GRED_INSTRUCTIONS=mmx" in told[0]
    assert "OMP_NUM_THREADS=many: that is no number" in told[1]


def test_a_wrong_sum_and_a_device_that_fails_are_problems(found, monkeypatch):
    def add(a, device):
        if device != "host":
            raise RuntimeError("it burns")
        return a.sum() + 1

    monkeypatch.setattr(gred, "sum", add)
    status, checks = found()
    assert status == 1
    assert str(sum(range(100_003))) in checks["sum on host"][1]
    assert "it burns: please report it" in checks["sum on simulated"][1]


def test_two_versions_at_once_are_a_problem(found, monkeypatch):
    true_version = metadata.version
    older = lambda name: "0.0.9" if name == "gred" else true_version(name)  # noqa: E731
    monkeypatch.setattr(metadata, "version", older)
    status, checks = found()
    assert status == 1
    assert "pip knows 0.0.9" in checks["gred"][1]


@pytest.mark.parametrize(
    ("architectures", "lacks"),
    [(("80",), False), (("86", "90"), False), (("89",), True), (("90a",), True), (("ptx",), True)],
)
def test_a_gpu_without_machine_code_is_a_problem(found, with_gpu, architectures, lacks):
    with_gpu(*architectures)
    status, checks = found()
    assert status == lacks
    assert (GPU.name in checks) == lacks
    assert not lacks or "GRED_CUDA_ARCHS=86" in checks[GPU.name][1]
    assert checks[f"sum on {GPU.name}"][0] == "ok"


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"CUDA_CACHE_DISABLE": "1"}, "unset CUDA_CACHE_DISABLE"),
        ({"CUDA_CACHE_PATH": "/dev/null/x"}, "CUDA_CACHE_PATH"),
    ],
)
def test_a_cache_is_looked_at_where_the_driver_compiles(found, with_gpu, environment, words):
    with_gpu("80")
    assert found(**environment)[1]["cache of kernels"][0] == "ok"
    with_gpu("ptx")
    mark, text = found(**environment)[1]["cache of kernels"]
    assert mark == "problem"
    assert words in text


@pytest.mark.parametrize(("built", "words"), [(None, "gred[cuda13]"), ("13.0", "runs CUDA 13.0")])
def test_a_driver_whose_gpus_are_not_used_is_a_problem(found, monkeypatch, built, words):
    if any(one.name.startswith("cuda") for one in gred.devices()):
        pytest.skip("its GPU is used")
    monkeypatch.setattr(doctor, "driver_version", lambda: "580.1")
    monkeypatch.setattr(gred, "build_info", lambda: {"cuda": built, "architectures": ()})
    status, checks = found()
    assert status == 1
    assert words in checks["driver"][1]
