"""gred.lab names the mistakes in a user's rung, and survives whatever the rung does."""

import contextlib
import os
import re
import resource
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from labs import LAB, LADDER, RUNGS, found, line_of, saved
from thin import chosen

import gred
from gred.lab import checking, processes, worker

pytestmark = LAB
FAULTS, PLAIN = RUNGS / "faults.cuh", RUNGS / "plain_faults.cu"


@pytest.fixture(scope="module")
def faults():
    """Compile one rung with all mistakes, each for an array of its own length."""
    return gred.lab.compile(FAULTS, device="simulated")


def case(rung, size, **options):
    return checking.case(rung._build.form, size, 64, **options)


# By length: the kind, the remark at the reported line, and the text; None for correct lengths.
NAMED = {
    FAULTS: {
        101: ("race", "race", r"thread \d+ of block 0 stores shared element \d+, which thread"),
        102: ("bounds", "store out of bounds", "0 of block 0 stores shared element 64, of .* are"),
        103: ("bounds", "load out of bounds", "loads element 103, of which there are 103"),
        104: ("barrier", "and another", f"faults.cuh:{line_of(FAULTS, 'another barrier')}"),
        105: ("race", "race of blocks", "partial 0, which thread 0 of block 0 .* nothing orders"),
        106: ("endless", "endless loads", "not to terminate"),
        107: ("race", "race in a warp", r"shared element \d+, which thread .* no barrier"),
        108: ("unwritten", "unwritten partial", "loads partial 0, which is uninitialized"),
        109: ("race", "race of stores", "1 of block 0 stores shared element 0, which thread 0"),
        110: ("alignment", "misaligned load", "not a multiple of the access's size"),
        111: ("barrier", "early return", "23 have ended, thread 41 among them"),
        112: ("missing", None, "partial 1"),
        113: ("answer", None, "instead of"),
        **dict.fromkeys((1, 64, 100, 114, 1000)),
    },
    PLAIN: {
        101: ("race", "race of stores", ""),
        102: ("unwritten", "uninitialized", ""),
        103: ("bounds", "out of bounds", ""),
        105: ("bounds", "beyond shared memory", ""),
        107: ("race", "scalar", ""),
        108: ("race", "tree", ""),
        109: ("answer", None, ""),
        **dict.fromkeys((64, 1000)),
        106: ("crash", "null pointer", ""),  # the last, as it ends the process
    },
}
# Other orders than forwards: in this one no thread reads what another stores later.
ORDERS = {(PLAIN, 108): "backwards"}


@pytest.fixture(scope="module")
def findings(faults):
    """Find the mistakes of both files, most of which a process survives."""
    rungs, told = {FAULTS: faults, PLAIN: gred.lab.compile(PLAIN, device="simulated")}, {}
    for path, named in NAMED.items():
        orders = {size: ORDERS.get((path, size), "forwards") for size in named}
        jobs = [case(rungs[path], size, order=order) for size, order in orders.items()]
        told |= {(path, n): one for n, one in zip(named, found(rungs[path], *jobs), strict=True)}
    return told


EVERY = {(path, size): what for path, named in NAMED.items() for size, what in named.items()}


@pytest.mark.parametrize("at", EVERY, ids=[what and what[1] for what in EVERY.values()])
def test_a_mistake_is_named_with_its_line(findings, at):
    path, finding = at[0], findings[at]
    if not EVERY[at]:
        assert finding is None
        return
    kind, remark, text = EVERY[at]
    line = line_of(path, remark) if remark else None
    assert (finding.kind, finding.line) == (kind, line)
    assert finding.file == (str(path) if remark else None)
    assert re.search(text, finding.text)
    assert (f"{path.name}:{line}: " in str(finding)) == bool(remark)


def test_a_race_is_found_in_every_order_of_threads(faults):
    jobs = [case(faults, size, order=order) for size in (101, 107) for order in checking.ORDERS]
    assert [finding.kind for finding in found(faults, *jobs)] == ["race"] * 6


# ---- hostility ----

# Mistakes that end by themselves may take their time.
SOON, PATIENT = 2.0, 600.0
HOSTILE = {
    201: (SOON, "time", "2 seconds", "no end"),
    203: (PATIENT, "fork", "another process", None),
    204: (PATIENT, "exit", "status 3", None),
    205: (PATIENT, "memory", "4 GiB", None),
    207: (SOON, "crash|time|exit", "SIGXFSZ|2 seconds|status", None),
    209: (PATIENT, "crash", "unreadable answer", None),
    210: (PATIENT, "crash", "SIGABRT.*: a word of shared memory", "aborts"),
    211: (PATIENT, "crash", processes.UNREADABLE, None),
    212: (PATIENT, "crash", "SIGKILL", None),
    217: (PATIENT, "crash", "SIGSEGV", "null pointer"),
    218: (PATIENT, "crash", "SIGSEGV", None),  # stopped before another thread's stack
}


@pytest.mark.parametrize("size", HOSTILE)
def test_python_goes_on_whatever_a_kernel_does(faults, monkeypatch, size):
    """The line that crashes or never ends is named, and no forked process is left."""
    monkeypatch.setattr(processes, "_ANSWER_NBYTES", 1 << 17)
    mark = f"GRED_LAB_TEST={os.getpid()} {time.time()}"
    monkeypatch.setenv(*mark.split("=", 1))
    seconds, kind, text, remark = HOSTILE[size]
    (finding,) = found(faults, case(faults, size), seconds=seconds)
    assert re.fullmatch(kind, finding.kind)
    assert re.search(text, finding.text)
    assert finding.case.startswith(f"{size} elements")
    if remark:
        assert (finding.file, finding.line) == (str(FAULTS), line_of(FAULTS, remark))
    until = time.monotonic() + 120
    while mark.encode() in environments() and time.monotonic() < until:
        time.sleep(0.05)
    assert mark.encode() not in environments()


def environments():
    """Return the environments of all processes that may be read."""
    all_of_them = b""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            all_of_them += path.read_bytes()
    return all_of_them


LIES = [
    *(5, {"result": [5]}, {"fault": ["no kind", None, 1, "text", []]}),
    *({"fault": ["race", 5, 1, "text", []]}, {"fault": ["race", "mine.cuh", {}, "text", []]}),
    {"fault": ["race", "mine.cuh", 1, ["text"], ["text"]]},
    *({"fault": ["race", "mine.cuh", 1, "text", stack]} for stack in ([[1]], {})),
]


def test_an_answer_of_another_form_is_one_more_finding_and_no_line_ends_python(faults, monkeypatch):
    job = case(faults, 5)
    wrong = checking.Finding("answer", "3 instead of 4", None, None, 5, 64, "forwards")
    for lie in LIES:
        answer = processes.Answer(0, lie)
        finding = checking._finding_of(faults._build, job, answer)
        assert "unreadable answer" in str(finding)
        assert hash(finding)
        monkeypatch.setattr(checking, "_answers", lambda *_, answer=answer: [answer] * 2)
        assert checking._with_hint(faults._build, job, wrong) == wrong
    for line in (b"[" * 200_000, b"1" * 10_000, b"{}", b"\xff", b"null"):
        answer = processes._read(line, 1, 0)
        assert (answer.failure, answer.text) == ("crash", processes.UNREADABLE)


def test_what_is_counted_and_timed_is_not_taken_on_trust(faults, monkeypatch):
    """Malformed answers raise, and an array that a kernel deletes is no problem."""

    def answers(asked, _):
        Path(asked["jobs"][0]["array"]).unlink()
        return [said]

    monkeypatch.setattr(processes, "answers", answers)
    for answer in (None, 5, {}, {"told": 1}, {"told": [], "launches": [[]]}, "gone"):
        said, text = processes.Answer(0, answer), "its process gave an unreadable answer"
        if answer == "gone":
            said, text = processes.Answer(0, None, "crash", "gone"), "a crash: gone"
        for ask in (faults.counters, faults.accesses, faults.kernel_time):
            with pytest.raises(RuntimeError, match=f"faults: {text}"):
                ask(np.ones(5, np.int32))


def test_who_has_closed_its_pipe_may_take_its_time_to_end(tmp_path):
    late = ["sh", "-c", "sleep 1; exit 3"]
    with open(tmp_path / "words", "w+b") as words, subprocess.Popen(late) as child:
        told = processes._failure_of(child, words, time.monotonic() + PATIENT)
    assert told == ("exit", "it exited with status 3", ())


def test_a_check_raises_nothing_where_an_exercise_fails_as_it_is_counted(faults, monkeypatch):
    gone = processes.Answer(0, None, "exit", "gone")
    monkeypatch.setattr(faults, "name", "tail")
    monkeypatch.setattr(checking, "check", lambda _: gred.lab.Report([]))
    monkeypatch.setattr(processes, "answers", lambda *_: [gone])
    (finding,) = faults.check()
    assert (finding.kind, finding.text) == ("failed", "tail: an exit: gone")


@pytest.mark.parametrize(
    ("size", "text"),
    [
        *((size, "an exit: .* status 3") for size in (204, 214, 215, 216)),
        (209, "unreadable answer"),
    ],
)
def test_threads_that_exit_at_once_end_the_process_once_and_counting_raises(faults, size, text):
    with pytest.raises(RuntimeError, match=f"faults: .*{text}"):
        faults.counters(np.ones(size, np.int32), block_size=32)


# ---- rungs of the ladder as a user's own ----


@pytest.mark.parametrize("name", ["08_unroll_warps8", "21_last_block"])
def test_the_ladders_rungs_are_right_and_counted_and_drawn_as_in_the_ladder(name):
    rung = gred.lab.compile(LADDER / f"{name}.cuh")
    assert rung.like == rung.name == name[3:]
    assert rung.check().right
    a, options = np.arange(5000, dtype=np.float32), {"block_size": 128, "multiprocessors": 3}
    own, theirs = rung.counters(a, **options), gred.counters(a, method=rung.name, **options)
    assert own[:6] == theirs[:6]
    assert (own.result, own.total[:-1]) == (theirs.result, theirs.total[:-1])
    files, of_ladder = ({Path(o.file).name for o in one.total.lines} for one in (own, theirs))
    assert files == of_ladder
    a, options = np.arange(100, dtype=np.int32), {"block_size": 32}
    own, theirs = rung.accesses(a, **options), gred.accesses(a, method=rung.name, **options)
    for one, other in zip(own.passes, theirs.passes, strict=True):
        assert [access[:9] for access in one.accesses] == [access[:9] for access in other.accesses]
    assert own.svg() == theirs.svg()


def test_a_rung_gets_a_few_cores_however_many_there_are_since_each_takes_addresses(monkeypatch):
    asked, limits = [], {}
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(200)))
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cores: asked.extend(cores))
    monkeypatch.setattr(resource, "setrlimit", limits.__setitem__)
    worker._limit_resources({"device": "simulated", "memory": 1 << 32, "seconds": 5})
    assert asked == [*range(8)]
    assert limits[resource.RLIMIT_AS] == (1 << 32, 1 << 32)


@pytest.mark.parametrize("later", ["unwritten", "race"])
def test_what_lies_past_an_arrays_end_is_no_second_fault_of_its_line(later):
    first, case = ("mine.cuh", 20), (897, 256, "shuffled")
    known = {("bounds", *first): checking.Finding("bounds", "", *first, *case)}
    told = [(later, *first), ("bounds", *first), (later, "mine.cuh", 21), ("barrier", *first)]
    findings = [checking.Finding(kind, "", file, line, *case) for kind, file, line in told]
    assert [checking._is_known(each, known) for each in findings] == [True, True, False, False]
    unread = {(later, *first): findings[0]}
    assert not checking._is_known(findings[1], unread)


# ---- exercises: each fails its check for the reason that it teaches, and its answer passes ----
# The answers are only here.

# What the check names in the unsolved exercise.
LACKS = {
    1: ("bounds", "loads element 1, of which there are 1"),
    2: ("unwritten", "shared element 1, which is uninitialized"),
    3: ("goal", "lanes"),
    4: ("goal", "bank conflicts"),
    5: ("answer", "element 32 is skipped"),
    6: ("race", "stores shared element"),
    7: ("race", "shared element 0"),
}
IDENTITY, PAIR = "Fold::identity()", "fold_pair<Fold>(data, n, i, blockDim.x)"
# What replaces what in the exercise's hole.
ANSWERS = {
    1: {"load<Fold>(data, i);": f"i < n ? load<Fold>(data, i) : {IDENTITY};"},
    2: {
        "for (unsigned stride": "__syncthreads();\nfor (unsigned stride",
        "x[tid + stride]);\n": "x[tid + stride]);\n__syncthreads();\n",
    },
    3: {
        "if (tid % (2 * stride) == 0)": "unsigned i = 2 * stride * tid;\nif (i < blockDim.x)",
        "x[tid] = Fold::merge(x[tid], x[tid + ": "x[i] = Fold::merge(x[i], x[i + ",
    },
    4: {
        "stride = 1; stride < blockDim.x; stride *=": "stride = blockDim.x / 2; stride; stride /=",
        "i = 2 * stride * threadIdx.x": "i = threadIdx.x",
        "i < blockDim.x": "i < stride",
    },
    5: {f"i < n ? load<Fold>(data, i) : {IDENTITY}": PAIR},
    6: {
        "x[tid] = value;\n": "x[tid] = value;\n__syncwarp();\n",
        "x[tid + stride]);\n": "x[tid + stride]);\n__syncwarp();\n",
    },
    7: {
        "of_warps[warp] = value;": "if (lane == 0)\nof_warps[warp] = value;\n__syncthreads();",
        "(of_warps[lane])": f"(lane < blockDim.x / warp_size ? of_warps[lane] : {IDENTITY})",
    },
}


def checked(source, folder):
    """Check a source for one finding."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checking, "FINDINGS_MAX", 1)
        return gred.lab.compile(saved(folder, source)).check()


@pytest.mark.parametrize("number", LACKS)
def test_an_exercise_says_what_it_lacks(number, tmp_path):
    source, (kind, text) = gred.lab.exercise(number).source, LACKS[number]
    report = checked(source, tmp_path)
    assert not report.right
    assert report[0].kind == kind
    assert text in report[0].text
    if kind != "answer":
        above = source.splitlines()[: report[0].line][-9:]
        assert "/* The hole" in "".join(above)


@pytest.mark.parametrize("number", chosen(ANSWERS))
def test_its_answer_is_right(number, tmp_path):
    head, hole = gred.lab.exercise(number).source.split("/* The hole", 1)
    for there, instead in ANSWERS[number].items():
        assert hole.count(there) == 1, there
        hole = hole.replace(there, instead)
    report = checked(f"{head}/* The hole{hole}", tmp_path)
    assert report.right, report


def test_there_are_seven_and_no_other_and_an_answer_is_never_overwritten(tmp_path):
    sheet = gred.lab.exercises()
    assert [one.number for one in sheet] == [*LACKS] == [*ANSWERS]
    assert all(one.name in one.source for one in sheet)
    for number in (0, 8, "1", None):
        with pytest.raises(ValueError, match="from 1 to 7"):
            gred.lab.exercise(number)
    path = saved(tmp_path, "my answer")
    with pytest.raises(FileExistsError):
        gred.lab.exercise(1).save(path)
    assert path.read_text(encoding="utf-8") == "my answer"
