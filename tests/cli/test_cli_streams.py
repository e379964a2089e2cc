"""What the command does with its streams, be they closed, unread, full or narrow, and its files."""

import contextlib
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from functools import partial

import pytest

import gred
from gred.cli import console, ladder, options, record

pytestmark = pytest.mark.unsanitized

# As `-m gred`, but caches stay as they are between samples, since emptying them takes a second.
WARM = """
import functools, sys, gred
gred.kernel_time = functools.partial(gred.kernel_time, cold=False)
gred.read_limit = functools.partial(gred.read_limit, cold=False)
from gred.cli.command import main
sys.exit(main())
"""
PROGRAMS = {"rich": WARM, "plain": f"import sys; sys.modules['rich'] = None{WARM}"}
FEW = (
    *("--size", "700", "--device", "simulated", "--time"),
    *("--methods", "halving,shuffle,recursive"),
)
SWEEP = (
    *("sweep", "--device", "simulated", "--sizes", "64", "--block-sizes", "32"),
    *("--samples", "2", "--methods", "neighbored,atomic"),
)
VERSUS = (
    *("versus", "--device", "host", "--peers", "numpy", "--samples", "2", "--sizes", "64"),
    *("--reductions", "sum", "--types", "int8", "--layouts", "flat"),
)
COUNTERS = ("counters", "--size", "5000", "--block-size", "64", "--methods", "shuffle")
WIDTHS = (20, 32, 60, 80, 100)

either = pytest.mark.parametrize("program", PROGRAMS)


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    """Work in an empty folder, with warm caches."""
    monkeypatch.chdir(tmp_path)
    for measured in ("kernel_time", "read_limit"):
        monkeypatch.setattr(gred, measured, partial(getattr(gred, measured), cold=False))


def run(program, *arguments, shell='exec "$@"', unread=()):
    """Run the command by way of a shell, which can redirect; nobody reads `unread` streams."""
    reader, writer = os.pipe()
    os.close(reader)
    streams = {name: writer if name in unread else subprocess.PIPE for name in ("stdout", "stderr")}
    try:
        line = ["sh", "-c", shell, "sh", sys.executable, "-c", PROGRAMS[program], *arguments]
        return subprocess.run(line, text=True, timeout=900, **streams)
    finally:
        os.close(writer)


def keeps_every_row(path, methods=("recursive", "halving", "shuffle")):
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert [row["method"] for row in kept["rows"]] == list(methods)
    return True


@pytest.mark.parametrize(
    ("program", "closed"),
    [("rich", ">&-"), ("plain", "2>&-"), ("plain", ">&- 2>&-"), ("rich", "<&- >&- 2>&-")],
)
def test_closed_streams_change_neither_status_nor_files(program, closed, tmp_path):
    done = run(program, *FEW, "--json", "kept.json", shell=f'exec "$@" {closed}')
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert keeps_every_row(tmp_path / "kept.json")
    assert ("3 answers right" in done.stdout) == (closed == "2>&-")


@either
def test_a_refusal_help_and_progress_need_no_reader(program):
    assert run(program, "--size", "0", shell='exec "$@" 2>&-').returncode == 2
    done = run(program, "--help", shell='exec "$@" >&-')
    assert (done.returncode, done.stderr) == (0, "")
    done = run(program, *FEW, unread=("stderr",))
    assert done.returncode == 0
    assert "all 3 answers right" in done.stdout


BOTH = ("stdout", "stderr")


@pytest.mark.parametrize(
    ("program", "arguments", "unread", "lines"),
    [
        ("rich", FEW, ("stdout",), None),
        ("plain", FEW, BOTH, None),
        ("rich", (*FEW, "--json", "kept.json"), BOTH, 3),
        ("plain", (*FEW, "--json", "kept.json"), ("stdout",), 3),
        ("rich", (*SWEEP, "--csv", "kept.csv"), ("stdout",), 3),
        ("plain", (*VERSUS, "--csv", "kept.csv"), ("stdout",), 3),
        ("rich", ("--help",), ("stdout",), None),
        ("rich", (*FEW, "--json", "-"), ("stdout",), None),
    ],
)
def test_a_closed_pipe_ends_the_command_as_sigpipe_would_once_files_are_written(
    program, arguments, unread, lines, tmp_path
):
    """All rows are there, though nobody reads on."""
    done = run(program, *arguments, unread=unread)
    assert done.returncode == 141
    assert not any(words in (done.stderr or "") for words in ("Traceback", "rror", "BrokenPipe"))
    if lines and "--json" in arguments:
        assert keeps_every_row(tmp_path / "kept.json")
    elif lines:
        assert len((tmp_path / "kept.csv").read_text(encoding="utf-8").splitlines()) == lines


@either
def test_a_full_disk_is_said_in_one_line(program, tmp_path):
    done = run(program, *FEW, "--json", "kept.json", shell='exec "$@" >/dev/full')
    assert done.returncode == 2
    assert "gred: standard output: [Errno 28]" in done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert keeps_every_row(tmp_path / "kept.json")


def test_a_file_that_fails_late_leaves_the_table_and_an_error(screen, command, tmp_path):
    status, out, err = command(*FEW, "--json", "/dev/full")
    assert status == 2
    assert "all 3 answers right" in out
    assert "wrote" not in out
    assert err.splitlines()[-1] == "gred: /dev/full: No space left on device"
    out = screen(*FEW, "--json", "./-")
    assert keeps_every_row(tmp_path / "-")
    assert "3 answers right" in out


def ends(error):
    """Make a measurement that ends so."""

    def measured(*_arguments, **_settings):
        raise error

    return measured


def test_nothing_is_measured_for_a_file_that_cannot_be_written(monkeypatch, refused, tmp_path):
    for name in ("kernel_time", "read_limit"):
        monkeypatch.setattr(gred, name, ends(AssertionError("a measurement")))
    (tmp_path / "out" / "sweep.csv").mkdir(parents=True)
    (tmp_path / "loop").symlink_to("loop")
    for path in ("/proc/x.json", "loop", "x" * 300):
        refused(*FEW, "--json", path)
    refused(*SWEEP, "--json", "/proc/x.json")
    refused(*SWEEP, "--out", "out")


def test_looking_whether_a_file_can_be_written_changes_nothing(monkeypatch, command, tmp_path):
    monkeypatch.setattr(gred, "kernel_time", ends(KeyboardInterrupt()))
    (tmp_path / "old.json").write_text("old", encoding="utf-8")
    for name in ("old.json", "new.json"):
        assert command(*FEW, "--json", name)[0] == 130
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]
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
        ((*VERSUS, "--csv", "-"), "reduction,dtype,", "gred is ahead"),
        ((*COUNTERS, "--json", "-"), "{", "lanes"),
    ],
)
@pytest.mark.parametrize("rich", [True, False], ids=["rich", "plain"])
def test_a_file_on_standard_output_is_all_that_goes_there(
    arguments, begin, shown, rich, command, tmp_path, monkeypatch
):
    if not rich:
        monkeypatch.setitem(sys.modules, "rich", None)
    status, out, err = command(*arguments)
    assert status == 0
    assert out.startswith(begin)
    assert begin != "{" or json.loads(out)["rows"]
    assert shown in err
    assert "wrote" not in out + err
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "option", ["--size", "--seed", "--block-size", "--methods", "--dtype", "--device", "--json", ""]
)
@pytest.mark.parametrize("text", ["9" * 5000, "9 " * 2500, "99," * 1700])
def test_what_was_given_at_length_is_shortened(option, text, refused):
    err = refused(*filter(None, (option, text)))
    assert err.startswith("gred: ")
    assert len(err) < 1100
    assert "Exceeds" not in err


def test_the_most_samples_are_those_that_a_measurement_takes():
    with pytest.raises(ValueError, match=str(options.MOST_SAMPLES)):
        gred.kernel_time([1], samples=options.MOST_SAMPLES + 1)
    assert options.parse_samples(str(options.MOST_SAMPLES)) == options.MOST_SAMPLES


@pytest.fixture(params=[True, False], ids=["rich", "plain"])
def shown_in(request, screen, monkeypatch):
    """Show what a command does in so many columns, with rich or without."""
    if not request.param:
        monkeypatch.setitem(sys.modules, "rich", None)

    def shown(width, *arguments):
        monkeypatch.setattr(console.Stream, "columns", lambda _: width)
        out = screen(*arguments)
        assert "…" not in out
        return out

    return shown


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("arguments", [FEW, (*SWEEP, "--csv", "kept.csv")])
def test_tables_are_readable_in_any_width(arguments, width, shown_in):
    out = shown_in(width, *arguments)
    methods = ("neighbored", "atomic") if "sweep" in arguments else ("halving", "shuffle")
    table = [line for line in out.splitlines() if line.split() and not line.startswith("  time:")]
    for method in methods:
        place = next(k for k, line in enumerate(table) if method in line.split())
        entry = " ".join(table[place : place + (1 if "right" in table[place] else 3)])
        assert "right" in entry
        assert any(f" {unit} " in f"{entry} " for unit in ("ns", "us", "ms", "s"))
    if width >= 40:
        assert max(len(line) for line in table if "right" in line.split()) <= max(width, 40)


@pytest.mark.parametrize("width", [20, 60, 100, 200])
def test_a_comparison_is_readable_in_any_width(width, shown_in):
    out = shown_in(width, *VERSUS, "--csv", "kept.csv")
    table = out[out.index("slow") :]
    assert "NumPy" in table
    assert any(len(word) > 1 and word.endswith("x") and word[0].isdigit() for word in table.split())


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_counts_fit_into_the_columns_and_are_all_explained(width, shown_in, monkeypatch):
    monkeypatch.setattr(record.platform, "release", lambda: "a-kernel " * 9)
    out = shown_in(width, "counters", "--size", "2**14", "--methods", "1,12")
    assert width - 20 < max(map(len, out.splitlines())) <= width
    head, _, below = out[out.index("method") :].partition("\n")
    titles = re.split(r"  +", head)
    assert len(set(titles)) == len(titles)
    _, _, legend = below.partition("\n\n")
    told = [part.split(":")[0] for part in " ".join(legend.split()).split("; ")]
    assert told == [title for title in titles if title not in ("#", "method", "passes")]


def test_the_least_important_columns_go_first(monkeypatch):
    columns = ladder._columns(None, None, 1.0, None)
    rows = [["12", "shared", "512", "1.00 ms", "1 %", "5", "9 %", "#", "1x", "right"]]
    table, seen = console.Table(columns, rows), []
    for width in range(200, 20, -1):
        fitted = table.fitted(width)
        if fitted is None:
            break
        titles = [column.title for column in fitted.columns]
        assert {"method", "time", "answer"} <= set(titles)
        assert titles == [title for title in (c.title for c in columns) if title in titles]
        if not seen or seen[-1] != len(titles):
            seen.append(len(titles))
    assert seen == [10, 9, 8, 7, 6, 5, 4, 3]


@either
def test_a_terminal_of_20_columns_is_believed(program):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 20, 0, 0))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")}
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), slave)
    child = subprocess.Popen(
        [sys.executable, "-c", PROGRAMS[program], *FEW], env=environment, **streams
    )
    os.close(slave)
    seen = b""
    with contextlib.suppress(OSError):  # how a terminal says that nobody is left to write
        while some := os.read(master, 4096):
            seen += some
    os.close(master)
    assert child.wait(900) == 0
    text = seen.decode()
    table = text[text.index("device") :]
    assert "…" not in table
    assert all(word in table for word in ("answer", "right", "halving"))


@pytest.mark.parametrize(("given", "width"), [("64", 64), ("0", 100), ("wide", 100), ("", 100)])
def test_piped_output_is_as_wide_as_columns_says(given, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", given)
    assert console.Stream(io.StringIO()).columns() == width


def test_a_stream_that_is_lost_takes_the_rest_in_silence():
    full = io.StringIO()
    full.write = ends(OSError(28, "No space left on device"))
    patient = console.Stream(full, patient=True)
    patient.write("one")
    patient.flush()
    patient.patient = False
    for act in (patient.flush, lambda: patient.write("two")):
        with pytest.raises(console.OutputError) as caught:
            act()
        assert caught.value.__cause__.errno == 28
