"""The command with closed, unread, full and narrow streams, and its files."""

import io
import json
import os
import re
import subprocess
import sys

import pytest
from test_cli import FEW, SIMULATED
from test_cli_rungs import LADDER

import gred
from gred.cli import console, record

# As `-m gred`, but with warm caches, since emptying them between samples takes a second.
WARM = """
import functools, sys, gred
gred.kernel_time = functools.partial(gred.kernel_time, cold=False)
gred.read_limit = functools.partial(gred.read_limit, cold=False)
from gred.cli.command import main
sys.exit(main())
"""
PLAIN = "import sys; sys.modules['rich'] = sys.modules['matplotlib'] = None"
PROGRAMS = {"rich": WARM, "plain": PLAIN + WARM}
SWEEP = ("sweep", *SIMULATED, "--sizes", "64", "--block-sizes", "32")
SWEEP += ("--samples", "2", "--methods", "neighbored,atomic")
VERSUS = ("versus", "--device", "host", "--peers", "numpy", "--samples", "2", "--sizes", "64")
VERSUS += ("--reductions", "sum", "--types", "int8", "--layouts", "flat")
COUNTERS = ("counters", "--size", "5000", "--block-size", "64", "--methods", "shuffle")
KEPT, TABLE = (*FEW, "--json", "kept.json"), ("--csv", "kept.csv")
OUT, ERR = "stdout", "stderr"


@pytest.fixture(params=["rich", "plain"])
def program(request, monkeypatch):
    """Run with rich and matplotlib, or with neither."""
    if request.param == "plain":
        for module in ("rich", "matplotlib"):
            monkeypatch.setitem(sys.modules, module, None)
    return request.param


def run(program, *arguments, shell='exec "$@"', unread=()):
    """Run the command through a shell, which can redirect; `unread` streams are closed pipes."""
    reader, writer = os.pipe()
    os.close(reader)
    streams = {name: writer if name in unread else subprocess.PIPE for name in (OUT, ERR)}
    try:
        line = ["sh", "-c", shell, "sh", sys.executable, "-c", PROGRAMS[program], *arguments]
        return subprocess.run(line, text=True, timeout=900, **streams)
    finally:
        os.close(writer)


def keeps_every_row(path):
    methods = [row["method"] for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]
    return methods == ["recursive", "halving", "shuffle"]


# How streams are lost, in the shell or as closed pipes, and the exit status. A closed pipe ends the
# command as SIGPIPE would, after files are written.
LOST = [
    ("plain", KEPT, "2>&-", (), 0),
    ("rich", KEPT, "<&- >&- 2>&-", (), 0),
    ("plain", KEPT, ">/dev/full", (), 2),
    ("rich", ("--size", "0"), "2>&-", (), 2),
    ("rich", ("--help",), ">&-", (), 0),
    ("plain", FEW, "", (ERR,), 0),
    ("rich", KEPT, "", (OUT, ERR), 141),
    ("rich", (*SWEEP, *TABLE), "", (OUT,), 141),
    ("plain", (*VERSUS, *TABLE), "", (OUT,), 141),
    ("rich", (*FEW, "--json", "-"), "", (OUT,), 141),
]


@pytest.mark.parametrize(("program", "arguments", "shell", "unread", "status"), LOST)
def test_a_lost_stream_is_no_traceback_and_loses_no_file(
    program, arguments, shell, unread, status, tmp_path
):
    done = run(program, *arguments, shell=f'exec "$@" {shell}', unread=unread)
    assert done.returncode == status, done.stderr
    assert not re.search("Traceback|rror|BrokenPipe|Exception", done.stderr or "")
    assert ("gred: standard output: [Errno 28]" in (done.stderr or "")) == ("full" in shell)
    if "kept.json" in arguments:
        assert keeps_every_row(tmp_path / "kept.json")
    if "kept.csv" in arguments:
        assert len((tmp_path / "kept.csv").read_text(encoding="utf-8").splitlines()) == 3
    heard = "--time" in arguments and OUT not in unread and shell in ("", "2>&-")
    assert heard == ("3 answers right" in (done.stdout or ""))


def test_a_file_that_fails_late_leaves_the_table_and_an_error(screen, command, tmp_path):
    status, out, err = command(*FEW, "--json", "/dev/full")
    assert status == 2
    assert "all 3 answers right" in out
    assert "wrote" not in out
    assert err.splitlines()[-1] == "gred: /dev/full: No space left on device"
    assert "3 answers right" in screen(*FEW, "--json", "./-")
    assert keeps_every_row(tmp_path / "-")


def test_files_are_tried_first_and_unchanged(monkeypatch, refused, command, tmp_path):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    for name in ("kernel_time", "read_limit"):
        monkeypatch.setattr(gred, name, interrupted)
    (tmp_path / "out" / "sweep.csv").mkdir(parents=True)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "old.json").write_text("old", encoding="utf-8")
    for path in ("loop", "x" * 300):
        refused(*FEW, "--json", path)
    refused(*SWEEP, "--out", "out")
    for name in ("old.json", "new.json"):
        status, _, err = command(*FEW, "--json", name)
        assert (status, err.splitlines()[-1]) == (130, "interrupted")
    assert {path.name for path in tmp_path.iterdir()} == {"old.json", "loop", "out"}
    assert (tmp_path / "old.json").read_text(encoding="utf-8") == "old"


def test_a_named_pipe_is_opened_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    done = run("rich", *FEW, shell='cat pipe > kept.json & "$@" --json pipe || kill $!; wait')
    assert done.returncode == 0
    assert keeps_every_row(tmp_path / "kept.json")


@pytest.mark.parametrize(
    ("arguments", "begin", "shown"),
    [
        ((*FEW, "--json", "-"), "{", "all 3 answers right"),
        ((*SWEEP, "--json", "-"), "{", "neighbored"),
        ((*SWEEP, "--csv", "-"), "number,method,", "neighbored"),
        ((*VERSUS, "--csv", "-"), "reduction,dtype,", "gred is faster"),
        ((*COUNTERS, "--json", "-"), "{", "lanes"),
    ],
)
def test_a_file_on_standard_output_is_all_that_goes_there(
    program, arguments, begin, shown, command, tmp_path
):
    status, out, err = command(*arguments)
    assert status == 0
    assert out.startswith(begin)
    assert begin != "{" or json.loads(out)["rows"]
    assert shown in err
    assert "wrote" not in out + err
    assert not any(tmp_path.iterdir())


@pytest.fixture
def shown_in(program, screen, monkeypatch):
    """Return a command's output at some width, with rich or without."""

    def shown(width, *arguments):
        monkeypatch.setattr(console.Stream, "columns", lambda _: width)
        out = screen(*arguments)
        assert "…" not in out
        assert program == "rich" or "─" not in out
        return out

    return shown


@pytest.mark.parametrize("width", [20, 32, 60, 80, 100])
@pytest.mark.parametrize("arguments", [FEW, (*SWEEP, "--time", *TABLE)], ids=["ladder", "sweep"])
def test_tables_are_readable_in_any_width(arguments, width, shown_in):
    table = [line for line in shown_in(width, *arguments).splitlines() if line.split()]
    for method in ("neighbored", "atomic") if "sweep" in arguments else ("halving", "shuffle"):
        place = next(k for k, line in enumerate(table) if method in line.split())
        entry = " ".join(table[place : place + (1 if "right" in table[place] else 3)])
        assert "right" in entry
        assert {"ns", "us", "ms", "s"} & {*entry.split()}


ROOFLINE = ("roofline", "--methods", "1,22", "--measured", LADDER)
UNTIMED = (*SIMULATED, "--methods", "0,12,13,cluster", "--size", "5000")


@pytest.mark.parametrize("arguments", [UNTIMED, (*UNTIMED, "--time"), ROOFLINE, COUNTERS])
@pytest.mark.parametrize("width", [80, 100, 120])
def test_lines_fit_into_the_columns(width, arguments, shown_in, monkeypatch):
    monkeypatch.setattr(record.platform, "release", lambda: "a-kernel " * 9)
    assert max(map(len, shown_in(width, *arguments).splitlines())) <= width


def test_all_counts_are_explained(shown_in):
    out = shown_in(100, "counters", "--size", "2**14", "--methods", "1,12")
    head, _, below = out[out.index("method") :].partition("\n")
    titles = re.split(r"  +", head)
    assert len(set(titles)) == len(titles)
    _, _, legend = below.partition("\n\n")
    told = [part.split(":")[0] for part in " ".join(legend.split()).split("; ")]
    assert told == [title for title in titles if title not in ("#", "method", "passes")]


def test_output_is_as_wide_as_columns_says_or_the_terminal(monkeypatch):
    for given, width in (("64", 64), ("0", 100), ("wide", 100), ("", 100)):
        monkeypatch.setenv("COLUMNS", given)
        assert console.Stream(io.StringIO()).columns() == width
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((20, 40)))
    assert console.Stream(sys.stdout).columns() == 20
