"""A user's rung is compiled for a GPU, its mistakes there are reported, and it is timed there."""

import ctypes
import os
import re
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import labs
import numpy as np
import pytest
from devices import GPU_IS_HERE
from labs import LADDER, RUNGS, saved
from processes import output_of

import gred
from gred import _core
from gred.lab import building, checking, processes
from gred.lab.building import Build
from gred.lab.form import form_of

pytestmark = [pytest.mark.unsanitized, pytest.mark.usefixtures("patient_lab")]
FAULTS = RUNGS / "gpu_faults.cuh"
SOURCE = FAULTS.read_text(encoding="utf-8")
NVCC = building.find_nvcc(os.environ, sys.path)
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="there is no nvcc here")


def for_hopper(path):
    """Return the build of a rung for a GPU that need not be here."""
    text = path.read_text(encoding="utf-8")
    return Build(path, text, form_of(text, None, None), building.Gpu("cuda:0", "90", NVCC))


# ---- without a GPU ----


@needs_nvcc
def test_a_rung_in_whatever_folder_is_compiled_for_one_architecture(tmp_path):
    folder = tmp_path / "a, b; 'c' $d"
    folder.mkdir()
    saved(folder, "#define THERE\n", "piece.cuh")
    text = (LADDER / "18_shuffle.cuh").read_text(encoding="utf-8")
    path = saved(folder, f'#include "piece.cuh"\n#ifdef THERE\n{text}\n#endif\n')
    build = for_hopper(path)  # its folder lives as long as it does
    library = build.compiled("cuda")
    assert ctypes.CDLL(str(library)).lab_flat
    if shutil.which("cuobjdump"):
        listed = output_of(["cuobjdump", "--list-elf", library])
        assert set(re.findall(r"sm_\w+", listed)) == {"sm_90"}


@needs_nvcc
def test_nvccs_words_are_of_the_users_file(tmp_path):
    wrong = SOURCE.replace("__trap();", "__trapp();")
    path = saved(tmp_path, wrong, "mine, of today.cuh")
    build = for_hopper(path)
    build.compiled("counting")  # this kind lacks the line
    with pytest.raises(gred.lab.CompileError) as caught:
        build.compiled("cuda")
    line = wrong[: wrong.index("__trapp")].count("\n") + 1
    assert str(caught.value).startswith(f"{path}:{line}: error: ")
    assert "__trapp" in str(caught.value)
    assert "entries.cuh" not in str(caught.value)


def test_the_first_gpu_is_compiled_for_and_without_nvcc_one_error_says_so(monkeypatch):
    """GPUs are faked, and nvcc is found or not."""
    host = gred.devices()[0]
    here = [host._replace(name=name, compute_capability="9.0") for name in ("cuda:0", "cuda:1")]
    monkeypatch.setattr(gred, "devices", lambda: here)
    monkeypatch.setattr(gred, "launch_limit", lambda *_, **__: gred.LaunchLimit(None, "cuda:0"))
    monkeypatch.setattr(building, "find_nvcc", lambda *_: Path("/some/bin/nvcc"))
    found = building.gpu_named(None)
    assert found == building.gpu_named("cuda") == ("cuda:0", "90", Path("/some/bin/nvcc"))
    assert "-gencode=arch=compute_90,code=sm_90" in found.command()
    monkeypatch.setattr(building, "find_nvcc", lambda *_: None)
    with pytest.raises(RuntimeError, match="nvcc, which was not found in CUDA_HOME"):
        gred.lab.compile(FAULTS, device="cuda")
    assert gred.lab.compile(FAULTS).gpu is None


def test_a_device_that_runs_no_rungs_or_is_not_here_and_a_rung_without_a_substitute_are_refused():
    for name in ("host", "gpu", "cuda:-1"):
        with pytest.raises(ValueError, match="device"):
            gred.lab.compile(FAULTS, device=name)
    if not GPU_IS_HERE:
        with pytest.raises(RuntimeError, match="device 'cuda': no GPU is available"):
            gred.lab.compile(FAULTS, device="cuda")
    for where in (("host", "shuffle", 8), ("simulated", "none", 8), ("simulated", "shuffle", 0)):
        said = f"there is no rung '{where[1]}' of {where[2]} data"
        with pytest.raises(ValueError, match=said):
            _core.substitute(*where, 0, 0, 0)


def failed(error):
    return processes.Answer(0, None, "failed", f"CudaError: something ({error})")


def test_what_cuda_says_is_told_as_a_kind_of_mistake():
    build = SimpleNamespace(line_at=lambda frames: None)
    job = {"size": 1, "block_size": 32, "order": "forward"}
    errors = {"IllegalAddress": "bounds", "MisalignedAddress": "alignment"}
    errors["LaunchFailure"] = "crash"
    answers = [(failed(f"cudaError{error}"), kind) for error, kind in errors.items()]
    for answer, kind in (*answers, (processes.Answer(0, None, "time", "not done"), "time")):
        assert checking._finding_of(build, job, answer).kind == kind


@pytest.fixture(scope="module")
def pretending():
    """A rung that uses the simulated device as a GPU."""
    rung = gred.lab.compile(LADDER / "13_shared_sequential.cuh", device="simulated")
    rung.gpu = "simulated"
    return rung


def test_a_rung_runs_where_it_is_compiled_for(pretending, monkeypatch):
    monkeypatch.setattr(pretending, "gpu", None)
    for device in ("cuda", "host"):
        with pytest.raises(ValueError, match="is compiled for simulated; got"):
            pretending.kernel_time(np.ones(5), device=device)
    asked = []
    monkeypatch.setattr(pretending, "gpu", "cuda:1")
    monkeypatch.setattr(pretending, "_run", lambda _what, _a, how, kind: asked.append((how, kind)))
    for device in (None, "cuda", "simulated"):
        with pytest.raises(RuntimeError, match="unreadable answer"):  # nothing was measured
            pretending.kernel_time(np.ones(5), device=device)
    told = [(how["device"], kind) for how, kind in asked]
    assert told == [("cuda:1", "cuda"), ("cuda:1", "cuda"), ("simulated", "plain")]


def test_a_gpu_is_asked_where_every_access_is_right(pretending, monkeypatch):
    monkeypatch.setattr(pretending._build, "gpu", building.Gpu("cuda:1", "90", NVCC))
    asked, wrong = [], [failed("cudaErrorIllegalAddress")]

    def answers(_, jobs):
        asked.append(
            {(job["kind"], job.get("device"), job["size"], job["block_size"]) for job in jobs}
        )
        right = [processes.Answer(k, {"result": checking.truth(job)}) for k, job in enumerate(jobs)]
        return right + wrong

    monkeypatch.setattr(checking, "_answers", answers)
    assert pretending.check()[0].kind == "bounds"
    assert {kind for kind, *_ in asked[0]} == {"check"}
    wrong.clear()
    assert pretending.check().right
    accesses, results = asked[1:]
    assert {place[:2] for place in results} == {("answer", "cuda:1")}
    assert {place[2:] for place in results} == {place[2:] for place in accesses}


def test_a_rung_stands_in_the_ladders_table_with_its_time(
    pretending, screen, monkeypatch, tmp_path
):
    monkeypatch.setattr("gred.lab.rung._SAMPLES", 2)
    a = np.arange(100, dtype=np.float32)
    table = gred.lab.ladder(pretending, a, timed=a[:50], block_size=64)
    assert [row.number for row in table[13:16]] == [13, None, 14]
    for row in table:
        assert (row.time.nbytes, row.time.result, row.time.block_size) == (200, 1225, 64)
        assert row.counters.result == 4950
        assert row.share > 0
    heads, *lines = repr(table).splitlines()
    assert "us on the GPU" in heads
    assert all(line.endswith("%") for line in lines)
    # The command's table has it, too.
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(gred.lab, "compile", lambda *_, **__: pretending)
    monkeypatch.setattr(pretending, "check", lambda: gred.lab.Report([]))
    drawing = tmp_path / "times.svg"
    wanted = "--methods", "13,14", "--size", "4096", "--dtype", "float32", "--plot", drawing
    out = screen("lab", "mine.cuh", *wanted)
    assert "accesses; all edge cases on simulated" in out
    assert "all 3 answers right" in out
    times = out[out.index("device  simulated") : out.index("time: median")].splitlines()
    assert [line.split()[0] for line in times if "shared_" in line] == ["13", "-", "14"]
    assert drawing.stat().st_size > 1000


# ---- on a GPU ----


@pytest.fixture(scope="module")
def faults():
    """One rung with all mistakes, each for its own length."""
    return gred.lab.compile(FAULTS, device="cuda")


@pytest.fixture
def gpu_goes_on():
    """After any kernel, this process's own calls are right."""
    yield
    assert gred.sum(np.arange(100003), device="cuda") == 100003 * 50001


def found(rung, size, **options):
    """Run one length on the GPU in a separate process, and return the finding."""
    job = checking.case(rung._build.form, size, 64, order=f"on {rung.gpu}")
    return labs.found(rung, job | {"kind": "answer", "device": rung.gpu}, kind="cuda", **options)[0]


MISTAKES = {
    101: ("bounds", "cudaErrorIllegalAddress"),
    102: ("alignment", "cudaErrorMisalignedAddress"),
    103: ("crash", "cudaError"),
    104: ("time", "it did not finish within 1 seconds"),
    105: ("bounds|crash", "cudaError"),
    106: ("answer", r"-?\d+ instead of -?\d+"),
}


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu_goes_on")
@pytest.mark.parametrize("size", MISTAKES)
def test_a_mistake_on_a_gpu_is_told_and_python_goes_on(faults, monkeypatch, size):
    assert found(faults, 1000) is None
    kind, text = MISTAKES[size]
    if kind == "time":  # a kernel that never ends
        monkeypatch.setattr("gred.lab.building._GPU_START_SECONDS", 5)
    finding = found(faults, size, seconds=1.0 if kind == "time" else 600.0)
    assert re.fullmatch(kind, finding.kind)
    assert re.search(text, finding.text)
    assert finding.case == f"{size} elements, blocks of 64, on cuda:0"


@pytest.mark.gpu
@pytest.mark.usefixtures("gpu_goes_on")
def test_timing_a_rung_at_fault_raises(faults):
    with pytest.raises(RuntimeError, match="cudaErrorIllegalAddress"):
        faults.kernel_time(np.ones(101, np.float32), block_size=64)
    assert faults.kernel_time(np.ones(100, np.float32), block_size=64).result == 100


@pytest.mark.gpu
@pytest.mark.parametrize(
    "name", ["03_interleaved", "10_template_unroll8", "13_shared_sequential", "21_last_block"]
)
def test_the_ladders_rungs_are_right_on_a_gpu(name):
    rung = gred.lab.compile(LADDER / f"{name}.cuh", device="cuda")
    jobs = list(checking.cases_on(rung.gpu, rung._build.form))
    answers = list(checking._answers(rung._build, jobs))
    assert len(answers) == len(jobs) > 50
    for job, answer in zip(jobs, answers, strict=True):
        assert answer.failure == ""
        assert answer.answer["result"] == checking.truth(job), job


@pytest.mark.gpu
def test_a_check_goes_on_to_the_gpu_and_its_processs_memory_is_bounded_there_too(tmp_path):
    report = gred.lab.compile(saved(tmp_path, SOURCE.replace("case 106", "case 65"))).check()
    assert report[0].kind == "answer"
    assert "2 of 65 elements are skipped" in report[0].text
    assert (report[0].size, report[0].block_size, report[0].order) == (65, 32, "on cuda:0")
    path = saved(tmp_path, f"{SOURCE}\nchar *much = new char[1ull << 34];\n", "much.cuh")
    finding = found(gred.lab.compile(path, device="cuda"), 1000)
    assert (finding.kind, finding.text) == ("memory", "it needs more than 4 GiB of memory")


@pytest.mark.gpu
def test_a_rungs_time_on_a_gpu_is_that_of_the_ladders_own(screen):
    path = LADDER / "13_shared_sequential.cuh"
    rung = gred.lab.compile(path)
    a = np.random.default_rng(0).random(1 << 20, np.float32)
    own = rung.kernel_time(a, block_size=256, samples=7)
    theirs = gred.kernel_time(a, method=rung.name, block_size=256, device="cuda")
    assert own[2:] == theirs[2:]
    assert own.seconds.shape == (7,)
    assert (own.seconds >= own.first_pass).all()
    assert (own.first_pass > 0).all()
    few = gred.lab.compile(LADDER / "18_shuffle.cuh", data_blocks=16, device="cuda")
    assert few.kernel_time(np.ones(4096, np.int32), block_size=64).grid == 4
    out = screen("lab", path, "--device", "cuda", "--methods", "13", "--size", "65536")
    assert "accesses; all edge cases on cuda:0" in out
    assert "all 2 answers right" in out
    table = gred.lab.ladder(rung, np.ones(4096, np.float32), timed=np.ones(1 << 20, np.float32))
    assert {(row.time.device, row.time.result) for row in table} == {("cuda:0", 1 << 20)}
    assert all((row.time.seconds > 0).all() for row in table)
