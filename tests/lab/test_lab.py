"""gred.lab names what is wrong with a rung of one's own, and lives through whatever it does."""

import contextlib
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from labs import LAB, LADDER, RUNGS, found, line_of

import gred
from gred.lab import checking, edges, processes

pytestmark = LAB
FAULTS = RUNGS / "faults.cuh"


@pytest.fixture(scope="module")
def faults():
    """One rung with all mistakes, each for an array of its own length."""
    return gred.lab.compile(FAULTS, device="simulated")


def case(rung, size, **options):
    return edges.case(rung._build.form, size, 64, **options)


@pytest.fixture(scope="module")
def findings(faults):
    """All mistakes that a process survives."""
    sizes = [*range(101, 114), 1, 64, 100, 1000]
    return dict(zip(sizes, found(faults, *(case(faults, size) for size in sizes)), strict=True))


# By length: the kind, the remark at the line that is named, and what is said.
NAMED = {
    101: ("race", "race", r"thread \d+ of block 0 stores shared element \d+, which thread"),
    102: ("bounds", "store out of bounds", r"0 of block 0 stores shared element 64, of .* are 64"),
    103: ("bounds", "load out of bounds", r"loads element 103, of which there are 103"),
    104: ("barrier", "and another", r"faults.cuh:\d+"),
    105: ("race", "race of blocks", r"partial 0, which thread 0 of block 0 .* nothing orders"),
    106: ("endless", "endless loads", r"never to end"),
    107: ("race", "race in a warp", r"shared element \d+, which thread .* no barrier"),
    108: ("unwritten", "unwritten partial", r"loads partial 0, which is uninitialized"),
    109: ("race", "race of stores", r"thread 1 of block 0 stores shared element 0, which thread 0"),
    110: ("alignment", "misaligned load", r"no multiple of the access's size"),
    111: ("barrier", "early return", r"23 have ended, thread 41 among them"),
    112: ("missing", None, r"partial 1"),
    113: ("answer", None, r"instead of"),
}


@pytest.mark.parametrize("size", NAMED, ids=[row[1] or row[0] for row in NAMED.values()])
def test_a_mistake_is_named_with_its_line(findings, size):
    finding, (kind, remark, text) = findings[size], NAMED[size]
    line = line_of(FAULTS, remark) if remark else None
    assert (finding.kind, finding.line) == (kind, line)
    assert finding.file == (str(FAULTS) if remark else None)
    assert re.search(text, finding.text)
    assert (f"faults.cuh:{line}: " in str(finding)) == bool(remark)


def test_the_other_of_two_barriers_is_named_too(findings):
    assert f"faults.cuh:{line_of(FAULTS, 'another barrier')}" in findings[104].text


def test_a_race_is_found_in_every_order_of_threads(faults):
    jobs = [case(faults, size, order=order) for size in (101, 107) for order in edges.ORDERS]
    assert [finding.kind for finding in found(faults, *jobs)] == ["race"] * 6


@pytest.mark.parametrize("size", [1, 64, 100, 1000])
def test_what_is_right_is_said_to_be_right(findings, size):
    assert findings[size] is None


# ---- hostility ----

# Those that have to end by themselves may take their time.
SOON, PATIENT = 2.0, 600.0
HOSTILE = {
    201: (SOON, "time", r"2 seconds", "no end"),
    202: (SOON, "crash|time", r"SIG(SEGV|BUS|ABRT)|cannot be read|2 seconds", None),
    203: (PATIENT, "fork", r"another process", None),
    204: (PATIENT, "exit", r"status 3", None),
    205: (PATIENT, "memory", r"4 GiB", None),
    206: (PATIENT, "crash", r"SIGABRT", "aborts"),
    207: (SOON, "crash|time|exit", r"SIGXFSZ|2 seconds|status", None),
    208: (PATIENT, "crash", r"SIGKILL", None),
    209: (PATIENT, "crash", r"cannot be read", None),
    210: (PATIENT, "crash", r"SIGABRT.*: a word of shared memory", None),
    217: (PATIENT, "crash", r"SIGSEGV", "null pointer"),
}


@pytest.mark.parametrize("size", HOSTILE)
def test_python_goes_on_whatever_a_kernel_does(faults, size):
    """And the line is named that it crashes or never ends in."""
    seconds, kind, text, remark = HOSTILE[size]
    (finding,) = found(faults, case(faults, size), seconds=seconds)
    assert re.fullmatch(kind, finding.kind)
    assert re.search(text, finding.text)
    assert finding.case.startswith(f"{size} elements")
    if remark:
        assert (finding.file, finding.line) == (str(FAULTS), line_of(FAULTS, remark))


@pytest.mark.parametrize(
    ("size", "seconds", "kind"),
    [(203, PATIENT, "fork"), (212, PATIENT, "crash"), (213, SOON, "time")],
)
def test_nothing_of_a_fork_is_left(faults, monkeypatch, size, seconds, kind):
    mark = f"GRED_LAB_TEST={os.getpid()} {time.time()}"
    monkeypatch.setenv(*mark.split("=", 1))
    (finding,) = found(faults, case(faults, size), seconds=seconds)
    assert finding.kind == kind
    until = time.monotonic() + 120
    while mark.encode() in b"".join(environments()) and time.monotonic() < until:
        time.sleep(0.05)
    assert mark.encode() not in b"".join(environments())


def environments():
    """Give the environments that processes were started with, as far as they may be looked at."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            yield path.read_bytes()


LIES = [
    *(5, {"result": [5]}, {"fault": ["no kind", None, 1, "text", []]}),
    *({"fault": ["race", 5, 1, "text", []]}, {"fault": ["race", "mine.cuh", {}, "text", []]}),
    *({"fault": ["race", "mine.cuh", 1, text, []]} for text in (["text"],)),
    *({"fault": ["race", "mine.cuh", 1, "text", stack]} for stack in ([[1]], {})),
]


@pytest.mark.parametrize("lie", LIES, ids=str)
def test_an_answer_of_another_form_is_one_more_finding(faults, lie):
    job = case(faults, 5)
    finding = checking._heard(faults._build, job, processes.Answer(0, lie))
    assert "cannot be read" in str(finding)
    assert hash(finding)
    wrong = checking.Finding("answer", "3 instead of 4", None, None, 5, 64, "forwards")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "_answers", lambda *_: [processes.Answer(0, lie)] * 2)
        assert checking._explained(faults._build, job, wrong) == wrong


def test_no_line_that_a_kernel_writes_ends_python():
    for line in (b"[" * 200_000, b"1" * 10_000, b"{}", b"\xff", b"null"):
        answer = processes._read(line, 1, 0)
        assert (answer.failure, answer.text) == ("crash", processes.UNREADABLE)


@pytest.mark.parametrize(
    "said", [None, 5, {}, {"told": 1}, {"told": [], "launches": [[]]}], ids=str
)
def test_what_is_counted_and_timed_is_not_taken_on_trust(faults, monkeypatch, said):
    monkeypatch.setattr(processes, "answers", lambda *_: [processes.Answer(0, said)])
    for ask in (faults.counters, faults.accesses, faults.kernel_time):
        with pytest.raises(RuntimeError, match="faults: what its process said cannot be read"):
            ask(np.ones(5, np.int32))


def test_a_line_without_an_end_is_not_waited_for(faults, monkeypatch):
    monkeypatch.setattr(processes, "_ANSWER_NBYTES", 1 << 17)
    (finding,) = found(faults, case(faults, 211))
    assert (finding.kind, finding.text) == ("crash", processes.UNREADABLE)


def test_who_has_closed_its_pipe_may_take_its_time_to_end(tmp_path):
    with (
        open(tmp_path / "words", "w+b") as words,
        subprocess.Popen(["sh", "-c", "sleep 1; exit 3"]) as child,
    ):
        told = processes._silence(child, words, time.monotonic() + PATIENT)
    assert told == ("exit", "it has left its process, with status 3", ())


def test_an_array_that_a_kernel_takes_away_is_not_missed(faults, monkeypatch):
    def answers(asked, _):
        Path(asked["jobs"][0]["array"]).unlink()
        return [processes.Answer(0, None, "crash", "gone")]

    monkeypatch.setattr(processes, "answers", answers)
    with pytest.raises(RuntimeError, match="faults: a crash: gone"):
        faults.counters(np.ones(5, np.int32))


def test_a_check_raises_nothing_where_an_exercise_fails_as_it_is_counted(faults, monkeypatch):
    monkeypatch.setattr(faults, "name", "tail")
    monkeypatch.setattr(checking, "check", lambda _: gred.lab.Report([]))
    monkeypatch.setattr(
        processes, "answers", lambda *_: [processes.Answer(0, None, "exit", "gone")]
    )
    (finding,) = faults.check()
    assert (finding.kind, finding.text) == ("failed", "tail: an exit: gone")


@pytest.mark.parametrize("size", [204, 214, 215, 216])
def test_threads_that_exit_at_once_end_the_process_once(faults, size):
    with pytest.raises(RuntimeError, match=r"faults: an exit: .* status 3"):
        faults.counters(np.ones(size, np.int32), block_size=32)


def test_counting_a_hostile_rung_raises(faults):
    with pytest.raises(RuntimeError, match=r"cannot be read"):
        faults.counters(np.ones(209, np.int32), block_size=64)


# ---- rungs of the ladder, as somebody's own ----


@pytest.fixture(scope="module", params=["08_unroll_warps8", "21_last_block"])
def shipped(request):
    """A rung of the ladder, in a file of somebody's own."""
    return gred.lab.compile(LADDER / f"{request.param}.cuh")


def test_the_ladders_rungs_are_right(shipped):
    assert shipped.like == shipped.name
    assert shipped.check().right


def test_counts_are_those_of_the_ladder(shipped):
    a = np.arange(5000, dtype=np.float32)
    own = shipped.counters(a, block_size=128, multiprocessors=3)
    theirs = gred.counters(a, method=shipped.name, block_size=128, multiprocessors=3)
    assert own.result == theirs.result
    assert own.total[:-1] == theirs.total[:-1]
    assert own[:6] == theirs[:6]
    files = ({Path(line.file).name for line in one.total.lines} for one in (own, theirs))
    assert next(files) == next(files)


def test_a_picture_is_drawn_from_the_same_accesses(shipped):
    a = np.arange(100, dtype=np.int32)
    own = shipped.accesses(a, block_size=32)
    theirs = gred.accesses(a, method=shipped.name, block_size=32)
    assert [len(one.accesses) for one in own.passes] == [len(one.accesses) for one in theirs.passes]
    for one, other in zip(own.passes[0].accesses, theirs.passes[0].accesses, strict=True):
        assert one[:9] == other[:9]
    assert own.svg() == theirs.svg()


def test_times_are_of_kernels_that_do_not_count():
    shipped = gred.lab.compile(LADDER / "03_interleaved.cuh", device="simulated")
    timed = shipped.kernel_time(np.ones(3000, np.int32), samples=2)
    assert timed.seconds.shape == (2,)
    assert (timed.method, timed.device, timed.result) == (shipped.name, "simulated", 3000)


def test_more_data_blocks_are_fewer_blocks():
    few = gred.lab.compile(LADDER / "18_shuffle.cuh", data_blocks=16)
    assert few.counters(np.ones(4096, np.int32), block_size=64).passes[0].blocks == 4


AFFINITY = """
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
static cpu_set_t set;
int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *asked)
{
    CPU_ZERO(&set);
    memcpy(&set, asked, bytes < sizeof set ? bytes : sizeof set);
    return 0;
}
int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *mask)
{
    if (CPU_COUNT(&set) == 0)
        for (int core = 0; core < 200; core++)
            CPU_SET(core, &set);
    memcpy(mask, &set, bytes < sizeof set ? bytes : sizeof set);
    return 0;
}
"""


def test_the_address_space_is_enough_on_a_machine_of_many_cores(tmp_path, monkeypatch):
    library = tmp_path / "affinity.so"
    command = [shutil.which("cc") or "gcc", "-shared", "-fPIC", "-xc", "-", "-o", library]
    subprocess.run(command, input=AFFINITY, text=True, check=True)
    rung = gred.lab.compile(LADDER / "18_shuffle.cuh")
    monkeypatch.setenv("LD_PRELOAD", str(library))
    assert rung.counters(np.ones(1 << 16, np.float32), block_size=128).result == 1 << 16
