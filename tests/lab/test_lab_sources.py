"""A rung's source: what is compiled, what is refused, and what is said of a mistake in it."""

import os
import re
from pathlib import Path

import pytest
from labs import LAB, LADDER, compile_error, saved

import gred
from gred.lab import building
from gred.lab.form import form_of

pytestmark = LAB
RIGHT = """
template <class Fold, class Array>
__global__ void mine(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    store_partial(partials, fold_grid_stride<Fold>(data, n));
}
"""
LIKE_SHUFFLE = "// launched like shuffle\n"
IN_NO_NAMESPACE = f'{LIKE_SHUFFLE}#include "../warp.cuh"\n{RIGHT}'
COMPILES = f'{LIKE_SHUFFLE}#include "../warp.cuh"\nnamespace KERNELS {{{RIGHT}}}'


def test_what_does_not_compile_is_told_in_the_compilers_words(tmp_path):
    path = saved(tmp_path, IN_NO_NAMESPACE)
    said = compile_error(path)
    assert re.match(rf"{path}:\d:\d+: error: ", said)
    assert "entries.cuh" not in said
    said = compile_error(saved(tmp_path, f"#error \x1b]0;mine\x07 \x1b[31mred\n{COMPILES}"))
    assert "red" in said
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", said)  # no commands to a terminal


@pytest.mark.parametrize(
    ("there", "wrong", "text"),
    [
        ("fold_grid_stride<Fold>(data, n)", "fold_grid_stride<Fold>(odd, n)", "no matching"),
        ("store_partial", "int k = odd; store_partial", "cannot convert"),
    ],
)
def test_a_type_error_is_said_once_at_the_files_line(tmp_path, there, wrong, text):
    source = COMPILES.replace(there, wrong).replace("{\n    ", "{\n    struct what {} odd;\n    ")
    path = saved(tmp_path, source)
    said = compile_error(path, device="simulated")
    assert said.startswith(f"{path}:8:")
    assert text in said
    assert "store_partial" in said.splitlines()[1]
    assert (said.count("error:"), len(said.splitlines()) <= 4) == (1, True)
    assert not re.search(r"_kernels::|simulator_event|SIMULATOR|required from|\[with", said)


LEFT_OUT = """\
In file included from {path}:2:
kernels/grid_stride.cuh: In instantiation of 'state_of<Fold> fold_pair(Array) [with Fold = sum]':
kernels/grid_stride.cuh:30:51:   required from 'state_of<Fold> fold_grid_stride(Array, uint64_t) \
[with Fold = sum; Array = mine(pointer<const int>)::what]'
kernels/own_entries.cuh:68:16:   recursively required from 'struct simulated_thread<mine<sum> >'
kernels/own_entries.cuh:68:16:   required from 'const void* entry(unsigned int)'
kernels/grid_stride.cuh:18:44: error: no matching function for call to 'load<sum>(what&)'
   18 |     const state_of<Fold> first = load<Fold>(data, i);
"""


def test_a_frame_that_gxx_13_leaves_out_is_found_by_what_is_called_there(tmp_path):
    path, call = saved(tmp_path, COMPILES), RIGHT.splitlines()[4]
    said = building.first_error(LEFT_OUT.format(path=path), str(path)).splitlines()
    line = COMPILES.splitlines().index(call) + 1
    assert said[0] == f"{path}:{line}: error: no matching function for call to 'load<sum>(what&)'"
    assert said[1].endswith(call.strip())


MUCH = {
    "words": "#if __INCLUDE_LEVEL__ < 100\n#warning so much\n"
    + 2 * "#include __FILE__\n"
    + "#endif",
    "data": "__attribute__((used)) static char much[1 << 24] = {1};",
    "memory": '#include "/dev/zero"',
    "time": '#include "never.cuh"',
}


@pytest.mark.parametrize("what", MUCH)
def test_a_compiler_is_bounded_and_leaves_nothing(tmp_path, monkeypatch, what):
    left = tmp_path / "left"
    left.mkdir()
    os.mkfifo(tmp_path / "never.cuh")
    monkeypatch.setenv("TMPDIR", str(left))
    monkeypatch.setattr(building, "_FILE_NBYTES", 1 << 20)
    monkeypatch.setattr(building, "_MEMORY_KIB", 1 << 20)
    if what == "time":
        monkeypatch.setattr(building, "_SECONDS", 1)
    said = compile_error(saved(tmp_path, f"{MUCH[what]}\n{COMPILES}"))
    assert ("not done in 1 seconds" in said) == (what == "time")
    assert len(said) < 5000
    assert list(left.iterdir()) == []


def like(rung):
    return f"/* launched like {rung} */{RIGHT}"


REFUSED = {
    "": "found none",
    RIGHT * 2: "found mine, mine",
    RIGHT: "how is mine launched",
    like("nothing"): "'nothing' is no rung",
    like("cluster"): "rungs 0 to 22 can",
    like("shuffle").replace("class Array", "int Array"): "its form is",
    f"/* {RIGHT} */": "found none",
    f"/* {RIGHT}": "found none",
    like(f"shuffle, {10**11} data blocks"): f"to 1024; got {10**11}",
    like("shuffle, 0 data blocks"): "from 1 to 1024; got 0",
}


def test_a_source_of_another_form_is_refused_with_a_reason():
    for source, message in REFUSED.items():
        with pytest.raises(ValueError, match=message):
            form_of(source, None, None)


def test_reading_a_source_takes_a_time_in_proportion_to_it():
    """At a million characters the square would take hours."""
    for text in ("/* ", "template <class A> __global__ __launch_bounds__("):
        with pytest.raises(ValueError, match="found none"):
            form_of(text * (2**20 // len(text)), "sum", None)


def test_a_rung_says_how_it_is_launched():
    told, named = like("unroll8, 16 data blocks"), RIGHT.replace("mine", "unroll4")
    assert form_of(told, None, None)[2:4] == ("unroll8", 16)
    assert form_of(told, "shuffle", None)[2:4] == ("shuffle", 8)
    assert form_of(told, None, 2)[2:4] == ("unroll8", 2)
    assert form_of(named, None, None)[2:4] == ("unroll4", 4)
    for number in ("3", 2.5, True):
        with pytest.raises(TypeError, match="data_blocks must be an integer"):
            form_of(RIGHT, "shuffle", number)


def test_no_source_or_no_compiler_is_refused(monkeypatch, tmp_path):
    for path in (tmp_path / "nothing.cuh", tmp_path, Path("/dev/zero")):
        with pytest.raises(FileNotFoundError):
            gred.lab.compile(path)
    with pytest.raises(ValueError, match="no rung"):
        gred.lab.compile(saved(tmp_path, " " * (2 << 20)))
    monkeypatch.setenv("CXX", "no-such-compiler -x")
    with pytest.raises(RuntimeError, match=r"no-such-compiler.* not there; install"):
        gred.lab.compile(LADDER / "03_interleaved.cuh")
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"no c\+\+, g\+\+ or clang\+\+; install g\+\+"):
        gred.lab.compile(LADDER / "03_interleaved.cuh")
