"""The pool of threads and what folds with it, in small programs that a checker can watch.

That takes a C compiler; without one there is nothing to see here.
"""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
COMPILER = os.environ.get("CC", "gcc").split()
THREADS = ("csrc/threads/threads.c", "csrc/threads/shared_job.c")
POOL = (*THREADS, "csrc/common/process.c")
FOLDING = ("csrc/cpu/chunk.c", "csrc/cpu/folding.c", "csrc/cpu/tiles.c")
SOURCES = {
    "pool": ("tests/threads/pool.c", *POOL),
    "folding": ("tests/threads/folding.c", *FOLDING, *POOL),
    "quota": ("tests/threads/quota.c", "csrc/common/processor.c"),
}
# Loops and gathering are left out.
LEFT_OUT = ("-no-pie", "-Wl,--unresolved-symbols=ignore-in-object-files")
PYTHON = f"-I{sysconfig.get_path('include')}"
NO_LIMIT = 2**32 - 1
SKIPPED = 77  # as automake has it

pytestmark = [
    pytest.mark.skipif(not shutil.which(COMPILER[-1]), reason="there is no C compiler here"),
    pytest.mark.unsanitized,  # they are compiled with sanitizers, or without, by themselves
]


def build(target: Path, flags: tuple[str, ...], sources: tuple[str | Path, ...]) -> str:
    """Compile and link a program, and return what the compiler says if it cannot."""
    words = ["-std=c11", "-g", "-O1", "-Icsrc", "-pthread", *flags, *sources]
    command = [*COMPILER, *words, "-o", target, "-lm"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode else ""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Compile a program with these flags, once; without a sanitizer that it wants, skip."""
    made = {}

    def compile_it(name: str, *flags: str) -> Path:
        if (name, flags) not in made:
            target = tmp_path_factory.mktemp("threads") / name
            nothing = target.with_suffix(".c")
            nothing.write_text("int main(void) { return 0; }\n")
            sanitizers = tuple(flag for flag in flags if "sanitize" in flag)
            if sanitizers and build(target, sanitizers, (nothing,)):
                pytest.skip("this compiler has no such sanitizer")
            problem = build(target, flags, SOURCES[name])
            assert not problem, problem
            made[name, flags] = target
        return made[name, flags]

    return compile_it


def run(*words, **variables: str) -> str:
    """Run a program that decides by itself how many threads there are."""
    inherited = {name: text for name, text in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env={**inherited, **variables},
    )
    if done.returncode == SKIPPED:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


TRIALS = {
    "callers": "every piece is done once, however many call",
    "meeting": "all threads take part at once",
    "held up": "a caller waits for nobody who is held up in another's job",
    "sleep": "threads sleep between calls",
    "brief": "who sleeps is not woken for a brief job, but for many in a row",
    "threads": "threads compute as their caller does, have no signals and enough stack",
    "forks": "a forked child has threads of its own",
    "no right to start": "where no thread can be started the caller does it all",
}


@pytest.mark.parametrize("trial", TRIALS, ids=TRIALS.values())
def test_pool(compiled, trial):
    run(compiled("pool", "-Wall", "-Wextra", "-Werror"), trial)


@pytest.mark.parametrize("trial", ["callers", "meeting", "brief"])
def test_no_two_threads_of_the_pool_race(compiled, trial):
    program = compiled("pool", "-fsanitize=thread")
    run(program, trial, TSAN_OPTIONS="halt_on_error=1")


@pytest.mark.parametrize("trial", ["sums", "settling"])
def test_no_two_threads_that_fold_race(compiled, trial):
    """Where every element counts, and where one is enough and what lies behind is left alone."""
    program = compiled("folding", "-fsanitize=thread", PYTHON, *LEFT_OUT)
    run(program, trial, TSAN_OPTIONS="halt_on_error=1")


@pytest.mark.parametrize("trial", ["callers", "meeting", "threads"])
def test_the_pool_lets_go_of_its_memory(compiled, trial):
    run(compiled("pool", "-fsanitize=address,undefined"), trial)


# ---- the control group ----

GROUPS = {
    "none": ("", {}, NO_LIMIT),
    "no limit": ("0::/a\n", {"a/cpu.max": "max 100000"}, NO_LIMIT),
    "three cores": ("0::/a\n", {"a/cpu.max": "300000 100000"}, 3),
    "three and a half": ("0::/a\n", {"a/cpu.max": "350000 100000"}, 3),
    "half a core": ("0::/a\n", {"a/cpu.max": "50000 100000"}, 1),
    "the group around it": (
        "0::/a/b/c\n",
        {
            "a/cpu.max": "200000 100000",
            "a/b/cpu.max": "max 100000",
            "a/b/c/cpu.max": "900000 100000",
        },
        2,
    ),
    "a container's root": ("0::/\n", {"cpu.max": "400000 100000"}, 4),
    "a path from outside": ("0::/docker/f00\n", {"cpu.max": "400000 100000"}, 4),
    "version 1": (
        "3:memory:/m\n2:cpuacct,cpu:/a\n",
        {
            "cpu/a/cpu.cfs_quota_us": "250000",
            "cpu/a/cpu.cfs_period_us": "50000",
            "cpu/cpu.cfs_quota_us": "-1",
            "cpu/cpu.cfs_period_us": "100000",
            "m/cpu.max": "100000 100000",
        },
        5,
    ),
    "another controller": ("2:cpuset:/a\n", {"cpu/a/cpu.max": "100000 100000"}, NO_LIMIT),
    "nonsense": ("0::/a\n\n::\n:\nx\n", {"a/cpu.max": "1e999 nan"}, NO_LIMIT),
    "a path too long": ("0::/" + "a/" * 5000 + "\n", {"cpu.max": "200000 100000"}, 2),
}


@pytest.mark.parametrize(("lines", "files", "cores"), GROUPS.values(), ids=GROUPS.keys())
def test_the_quota_of_a_control_group_is_kept(compiled, tmp_path, lines, files, cores):
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "self" / "cgroup").write_text(lines)
    for name, text in files.items():
        path = tmp_path / "sys" / "fs" / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    assert int(run(compiled("quota"), tmp_path)) == cores


def test_the_quota_here_can_be_read(compiled):
    assert int(run(compiled("quota"))) >= 1
