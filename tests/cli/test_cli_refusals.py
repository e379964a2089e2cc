"""Invalid uses of `python -m gred` end with status 2 and one clear line, before any work."""

import shlex

import pytest
from scripts import BENCHMARKS

import gred
from gred.cli import contest, options, show

KEPT = BENCHMARKS / "results" / "nvidia-h200"
LADDER, SWEEP = KEPT / "ladder.json", KEPT / "sweep.json"
SIMULATED = "--device simulated"
HERE = shlex.quote(__file__)

REFUSED = {
    "": [
        ("--size 0", "at least 1"),
        ("--size many", "'many' is not a size"),
        ("--dtype int8", "int32"),
        ("--block-size 48", "48 is not a block size; choose from 32, 64"),
        ("--methods unrol8", "did you mean 'unroll8'?"),
        (f"--methods cub {SIMULATED}", "only on cuda"),
        ("--device tpu", "this machine has host, simulated"),
        ("--json no/such/folder.json", "there is no folder"),
        ("--siz 10", "--siz"),
        (f"--seed {2**64}", "2**64 - 1"),
        ("--json /proc/x.json", "--json /proc/x.json: cannot be written"),
        ("--plot -", "--plot -"),
        ("--plot ladder.docx", ".svg"),
        ("--json x.svg --plot x.svg", "--json and --plot both write to x.svg"),
        ("shwo 1", "'shwo' is not a command; did you mean 'show'?"),
        ("1", "'1' is not a command; choose from counters, doctor, explain, lab, "),
    ],
    "sweep": [
        ("--sizes 2**20:2**10", "not a range"),
        (f"--samples {options.MOST_SAMPLES + 1}", f"to {options.MOST_SAMPLES}"),
        ("--out /proc/x/y", "--out /proc/x/y: cannot be created"),
        ("--json - --csv -", "--json and --csv both write to standard output"),
        (f"--out {HERE}", "is a file"),
    ],
    "versus": [
        (SIMULATED, "no other library runs on simulated"),
        ("--peers ,", "contains no peer"),
        ("--reductions median", "'median' is not a reduction"),
        ("--sizes 1KiB:2**20", "mixes elements and bytes"),
        ("--sizes 3MB", "'3MB' is not a size; write bytes with B, KiB, MiB, GiB, TiB"),
        ("--sizes 100TiB --peers numpy --device host", "do not fit"),
        ("--types bool --reductions var", "nothing to compare"),
        ("--seconds 0", "'0' is not a whole number of seconds"),
    ],
    "counters": [
        ("--methods 30", "'30' is not a method; rungs are numbered from 0 to 24"),
        ("--size 4KiB", "'4KiB' is not a size; sizes are in elements, not bytes: write 1000000"),
        ("--multiprocessors 0", "'0' is not a whole number from 1 to 1024"),
    ],
    "explain": [
        ("", "the following arguments are required: METHOD"),
        ("cub", "'cub' cannot be explained; rungs 0 to 24 can"),
        ("unroll8,shuffle", "more than one method"),
    ],
    "roofline": [
        (SIMULATED, "only a GPU has a roofline"),
        ("--measured /nowhere", "No such file"),
        (f"--measured {HERE}", "Extra data"),
        (f"--methods 21 --measured {SWEEP}", "sweep.json: not a ladder of sums of"),
        (f"--methods 21 --measured {LADDER} --block-size 128", "none of these methods and block"),
        (f"--measured {LADDER} --device cuda", "pass only one"),
        (f"--size 5000 --block-size 64 --measured {LADDER}", "not a ladder of sums of 5000 int32"),
    ],
    "show": [
        ("cub", "'cub' cannot be drawn; rungs 0 to 24 can"),
        ("--all", "--all draws every rung: pass a folder as --out"),
        ("--all --out -", "standard output is not a folder"),
        ("1 --size 0", "'0' is out of range"),
        ("1 --size 2**20", f"too many to draw; at most {show.SIZE_MAX}"),
        ("1 --out rung.png", "--out rung.png: the name must end in .svg"),
    ],
    "lab": [
        ("--exercise 8", "from 1 to 7"),
        ("nothing.cuh", "there is no file"),
        ("--out mine.cuh", "pass --exercise"),
        ("mine.cuh --picture no-folder/mine.svg", "there is no folder no-folder"),
    ],
}
EVERY = {f"{job} {line}": words for job, lines in REFUSED.items() for line, words in lines}


@pytest.fixture(autouse=True)
def unmeasured(monkeypatch):
    def measured(*_, **__):
        raise AssertionError("a measurement")

    monkeypatch.setattr(contest.Stage, "__init__", measured)
    monkeypatch.setattr(gred, "kernel_time", measured)


@pytest.mark.parametrize("line", EVERY)
def test_what_cannot_be_done_is_said_in_one_clear_line(refused, line):
    err = refused(*shlex.split(line))
    assert EVERY[line] in err
    assert err.startswith("gred: ")


@pytest.mark.parametrize("option", ["--size", "--block-size", "--methods", "--json", ""])
@pytest.mark.parametrize("text", ["9" * 5000, "9 " * 2500, "99," * 1700], ids=len)
def test_what_was_given_at_length_is_shortened(refused, option, text):
    err = refused(*filter(None, (option, text)))
    assert err.startswith("gred: ")
    assert len(err) < 1100
    assert "Exceeds" not in err
