"""The thread pool, the mailbox and the simulated memory's list, compiled as small programs.

Sanitizers can check them there, without Python. All tests skip without a C compiler.
"""

import ctypes
import functools
import itertools
import os
import sys
import sysconfig
from pathlib import Path

import pytest
from capsules import structure
from processes import output_of
from toy_kernels import build, library, needs_compiler

SOURCES = ("tests/threads/pool.c", "csrc/threads/threads.c", "csrc/threads/shared_job.c")
SOURCES += ("csrc/cpu/chunk.c", "csrc/cpu/folding.c", "csrc/cpu/tiles.c")
SOURCES += ("csrc/common/processor.c", "csrc/common/layout.c", "csrc/common/scratch.c")
PYTHON = f"-I{sysconfig.get_path('include')}"
# The gathering code is not linked, and the program's own processor_cores takes precedence.
LINKED = ("-no-pie", "-Wl,--unresolved-symbols=ignore-in-object-files", "-Wl,-z,muldefs")
NO_LIMIT = 2**32 - 1

# The programs are compiled with or without sanitizers of their own.
pytestmark = [needs_compiler, pytest.mark.unsanitized]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compile the program with these flags, once; skip if their sanitizer is not available."""

    @functools.cache
    def compile_it(*flags: str) -> Path:
        target = tmp_path_factory.mktemp("threads") / "pool"
        nothing = target.with_suffix(".c")
        nothing.write_text("int main(void) { return 0; }\n")
        sanitizers = [flag for flag in flags if "sanitize" in flag]
        if sanitizers and build(target, *sanitizers, nothing):
            pytest.skip("this compiler has no such sanitizer")
        problem = build(target, "-g", "-O1", "-pthread", PYTHON, *flags, *SOURCES, "-lm", *LINKED)
        assert not problem, problem
        return target

    return compile_it


def run(*words) -> str:
    """Run a program with the default number of threads."""
    environment = {name: text for name, text in os.environ.items() if name != "OMP_NUM_THREADS"}
    environment["TSAN_OPTIONS"] = "halt_on_error=1"
    return output_of(words, env=environment)


STRICT = ("-Wall", "-Wextra", "-Werror")
THREAD, MEMORY = ("-fsanitize=thread",), ("-fsanitize=address,undefined",)
TRIALS = [
    *((trial, STRICT) for trial in ("callers", "held up", "brief", "threads", "forks")),
    # A sum needs every element; a reduction that stops early skips those after the deciding one.
    *((trial, THREAD) for trial in ("callers", "held up", "brief", "folds")),
    *((trial, MEMORY) for trial in ("callers", "held up", "threads")),
]


@pytest.mark.parametrize(("trial", "flags"), TRIALS)
def test_pool(compiled, trial, flags):
    """Every piece is processed once, by all threads or a few, wherever others are held up.

    With a sanitizer, no two threads race and all memory is freed.
    """
    run(compiled(*flags), trial)


# ---- control groups ----

OF_VERSION_1 = ("cpu/a/cpu.cfs_quota_us: 250000", "cpu/a/cpu.cfs_period_us: 50000")
OF_VERSION_1 += ("cpu/cpu.cfs_quota_us: -1", "cpu/cpu.cfs_period_us: 100000")
OF_VERSION_1 += ("m/cpu.max: 100000 100000",)
NESTED = ("a/cpu.max: 200000 100000", "a/b/cpu.max: max 100000", "a/b/c/cpu.max: 900000 100000")
GROUPS = {  # the process's groups, files with their contents, and cores
    "none": ("", (), NO_LIMIT),
    "no limit": ("0::/a\n", ("a/cpu.max: max 100000",), NO_LIMIT),
    "three cores": ("0::/a\n", ("a/cpu.max: 300000 100000",), 3),
    "three and a half": ("0::/a\n", ("a/cpu.max: 350000 100000",), 3),
    "half a core": ("0::/a\n", ("a/cpu.max: 50000 100000",), 1),
    "the group around it": ("0::/a/b/c\n", NESTED, 2),
    "a container's root": ("0::/\n", ("cpu.max: 400000 100000",), 4),
    "a path from outside": ("0::/docker/f00\n", ("cpu.max: 400000 100000",), 4),
    "version 1": ("3:memory:/m\n2:cpuacct,cpu:/a\n", OF_VERSION_1, 5),
    "another controller": ("2:cpuset:/a\n", ("cpu/a/cpu.max: 100000 100000",), NO_LIMIT),
    "nonsense": ("0::/a\n\n::\n:\nx\n", ("a/cpu.max: 1e999 nan",), NO_LIMIT),
    "a path too long": ("0::/" + "a/" * 5000 + "\n", ("cpu.max: 200000 100000",), 2),
}


@pytest.fixture(scope="module")
def processor(tmp_path_factory):
    made = library(tmp_path_factory.mktemp("processor") / "made.so", "csrc/common/processor.c")
    made.cgroup_cores.restype = ctypes.c_uint
    return made


@pytest.mark.parametrize(("lines", "files", "cores"), GROUPS.values(), ids=GROUPS.keys())
def test_the_quota_of_a_control_group_is_kept(processor, tmp_path, lines, files, cores):
    texts = {"proc/self/cgroup": lines}
    for name, text in (line.split(": ") for line in files):
        texts[f"sys/fs/cgroup/{name}"] = f"{text}\n"
    for name, text in texts.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert processor.cgroup_cores(os.fsencode(tmp_path)) == cores
    assert processor.cgroup_cores(b"") >= 1  # the process's own group


# ---- the mailbox ----


WORDS, TAG = ctypes.POINTER(ctypes.c_uint64), ctypes.c_uint32
LENGTH, FLAG = ctypes.c_size_t, ctypes.c_bool
Mailbox = structure("Mailbox", words=WORDS, on_device=WORDS, tag=TAG, bytes=LENGTH, pending=FLAG)
Ending = structure("Ending", mailbox=WORDS, tag=TAG, out=ctypes.c_void_p, divisor=ctypes.c_double)


@pytest.fixture(scope="module")
def posts(tmp_path_factory):
    made = library(tmp_path_factory.mktemp("mailbox") / "mailbox.so", "csrc/run/mailbox.c")
    made.mailbox_next.restype = Ending
    made.mailbox_next.argtypes = (ctypes.POINTER(Mailbox), ctypes.c_size_t)
    made.mailbox_read.restype = made.mailbox_is_pending.restype = ctypes.c_bool
    return made


def test_a_result_is_there_with_its_last_word_and_is_not_an_earlier_launchs(posts):
    words = (ctypes.c_uint64 * 556)()  # POSTED_BYTES_MAX in words of 4 bytes
    mailbox = Mailbox(words=words, on_device=words)

    def post(ending, k, half):
        ending.mailbox[k] = ending.tag << 32 | half

    def read(count):
        halves = (ctypes.c_uint32 * count)()
        return list(halves) if posts.mailbox_read(ctypes.byref(mailbox), halves) else None

    def is_pending():
        return posts.mailbox_is_pending(ctypes.byref(mailbox))

    assert not is_pending()
    for launch, order in enumerate(itertools.permutations(range(3))):
        ending = posts.mailbox_next(mailbox, 12)
        for k in order:
            assert is_pending()
            assert read(3) is None
            post(ending, k, 10 * launch + k)
        if launch != 1:
            assert read(3) == [10 * launch + k for k in range(3)]
        assert not is_pending()
    earlier, later = (posts.mailbox_next(mailbox, 4) for _ in range(2))
    post(earlier, 0, 1)
    assert is_pending()
    post(later, 0, 2)
    assert read(1) == [2]
    # When tags wrap around, older words are not taken for new ones.
    words[0] = words[1] = 1 << 32 | 7
    mailbox.tag = 2**32 - 1
    again = posts.mailbox_next(mailbox, 8)
    assert again.tag == 1
    assert read(2) is None
    post(again, 1, 8)
    assert read(2) is None
    mailbox.pending = False  # given up
    assert not is_pending()


# ---- the simulated memory's list of blocks ----


def test_a_forked_childs_threads_make_one_lock_between_them(tmp_path):
    """Run without Python, whose own lock could keep the threads apart."""
    files = ("tests/native/forked_memory.c", "csrc/simulated/memory.c")
    name = library(tmp_path / "memory.so", *files)._name
    code = f"import ctypes; print(ctypes.CDLL({name!r}).fork_children(120))"
    assert run(sys.executable, "-c", code) == "0\n"
