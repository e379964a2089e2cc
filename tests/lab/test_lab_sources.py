"""A rung's source: what compiles, what is refused, and how mistakes in it are reported.

Kernels in ordinary CUDA are also checked, counted and timed.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from labs import LAB, LADDER, PAGE, compile_error, saved

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
COMPILES = f'{LIKE_SHUFFLE}#include "../warp.cuh"\nnamespace KERNELS {{{RIGHT}}}'


def test_what_does_not_compile_is_told_in_the_compilers_words(tmp_path):
    path = saved(tmp_path, f'{LIKE_SHUFFLE}#include "../warp.cuh"\n{RIGHT}')  # in no namespace
    said = compile_error(path)
    assert re.match(rf"{path}:\d:\d+: error: ", said)
    assert "entries.cuh" not in said
    said = compile_error(saved(tmp_path, f"#error \x1b]0;mine\x07 \x1b[31mred\n{COMPILES}"))
    assert "red" in said
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", said)  # no terminal control sequences


(SHOWN,) = re.findall(r"```cpp\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
TREE = f"#include <cuda_runtime.h>\n// a block's tree\n{SHOWN}"
ODD = COMPILES.replace("{\n    ", "{\n    struct what {} odd;\n    ")
# The file and its source, a replacement in it, and the line and words of the error.
WRONG = [
    ("mine.cuh", ODD, "<Fold>(data, n)", "<Fold>(odd, n)", 8, "no matching", "store_partial"),
    ("mine.cuh", ODD, "store", "int k = odd; store", 8, "cannot convert", "store_partial"),
    ("mine.cu", TREE, "if (tid =", "float *p = tile[tid]; if (tid =", 15, "'float *'", "float *p"),
]


@pytest.mark.parametrize(("name", "source", "there", "wrong", "line", "text", "shown"), WRONG)
def test_a_type_error_is_said_once_at_the_files_line(
    tmp_path, name, source, there, wrong, line, text, shown
):
    path = saved(tmp_path, source.replace(there, wrong), name)
    said = compile_error(path, device="simulated")
    assert said.startswith(f"{path}:{line}:")
    assert text in said
    assert shown in said.splitlines()[1]
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
def test_a_compiler_is_bounded_and_leaves_nothing(tmp_path, monkeypatch, given, what):
    left = tmp_path / "left"
    left.mkdir()
    os.mkfifo(tmp_path / "never.cuh")
    monkeypatch.setenv("TMPDIR", str(left))
    given(building, _FILE_NBYTES=1 << 20, _MEMORY_KIB=1 << 20)
    if what == "time":
        given(building, _SECONDS=1)
    said = compile_error(saved(tmp_path, f"{MUCH[what]}\n{COMPILES}"))
    assert ("not finish within 1 seconds" in said) == (what == "time")
    assert len(said) < 5000
    assert list(left.iterdir()) == []


def like(rung):
    return f"/* launched like {rung} */{RIGHT}"


REFUSED = {
    "": "found none",
    RIGHT * 2: "found mine, mine",
    RIGHT: "the launch of mine is unknown",
    like("nothing"): "'nothing' is not a rung",
    like("cluster"): "rungs 0 to 22 can",
    like("shuffle").replace("class Array", "int Array"): "the supported forms are",
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
    """With quadratic time, a million characters would take hours."""
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
    with pytest.raises(ValueError, match="too many for a rung"):
        gred.lab.compile(saved(tmp_path, " " * (2 << 20)))
    monkeypatch.setenv("CXX", "no-such-compiler -x")
    with pytest.raises(RuntimeError, match=r"no-such-compiler.* not found; install"):
        gred.lab.compile(LADDER / "03_interleaved.cuh")
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"no c\+\+, g\+\+ or clang\+\+ was found; install"):
        gred.lab.compile(LADDER / "03_interleaved.cuh")


TYPES = """// launched like shared_first_add
template <class T, unsigned int blockSize>
__global__ void reduce3(T *g_idata, T *g_odata, unsigned int n)
{
    extern __shared__ T sdata[];
    unsigned int tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + threadIdx.x;
    T sum = (i < n ? g_idata[i] : 0) + (i + blockSize < n ? g_idata[i + blockSize] : 0);
    sdata[tid] = sum;
    __syncthreads();
    for (unsigned int s = blockSize / 2; s > 0; s >>= 1) {
        if (tid < s) sdata[tid] = sum = sum + sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = sum;
}
"""
ATOMIC = """
__global__ void total(const int *in, int *out, size_t n)
{
    __shared__ int all;
    int sum = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += in[i];
    for (int bits = 16; bits > 0; bits >>= 1)
        sum += __shfl_xor_sync(0xffffffff, sum, bits);
    if (threadIdx.x == 0) all = 0;
    __syncthreads();
    if (threadIdx.x % warpSize == 0) atomicAdd(&all, sum);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, all);
}
"""
# For 1000 ones in blocks of 256: barriers of the blocks of all passes, shuffles and atomics.
SUMS = {"tree": (TREE, "float32", (4 + 1) * 9, 0, 0), "types": (TYPES, "int64", (2 + 1) * 9, 0, 0)}
SUMS["atomic"] = (ATOMIC, "int32", 4 * 2, 4 * 8 * 5, 4 * 8 + 4)


@pytest.mark.parametrize("name", SUMS)
def test_an_ordinary_kernel_is_checked_counted_drawn_and_timed(tmp_path, name):
    source, dtype, *counts = SUMS[name]
    rung = gred.lab.compile(saved(tmp_path, source, f"{name}.cu"), device="simulated")
    assert rung.check().right
    counted = rung.counters(np.ones(1000, dtype), block_size=256)
    total = counted.total
    found = [total.block_barriers, total.shuffle_requests, total.atomic_requests]
    assert [counted.result, *found] == [1000, *counts]
    assert {Path(line.file).name for line in total.lines} == {f"{name}.cu"}
    if name == "tree":
        assert rung.accesses(np.ones(100, dtype)).svg().startswith("<svg")
        assert rung.kernel_time(np.ones(100, dtype), samples=1).result == 100
        with pytest.raises(ValueError, match="reduce sums float32; got an array of int32"):
            rung.counters(np.ones(5, np.int32))


@pytest.mark.parametrize(
    ("there", "instead", "sizes"),  # sizes of blocks, or the reason for the refusal
    [
        ("{", "{ f<<<1, 2>>>(in);", "line 4 is host code"),
        ("tile[256]", "tile[16][16]", "line 5: shared memory"),
        ("const float *in", "const char *in", "one of int, long long"),
        (", int n", "", "the supported forms are"),
        ("", "", (256,)),
        ("tile[256]", "tile[32]", (32, 64, 256, 1024)),
        ("tile[256]", "tile[B]; constexpr int B = 128;", (128,)),
        ("a block", "launched like shared_sequential, blocks of 512", (512,)),
        ("__shared__ float tile[256]", "extern __shared__ float tile[]", (32, 64, 256, 1024)),
        ("__global__ void", "__global__ void __launch_bounds__(64)", (256,)),
    ],
)
def test_a_form_is_understood_or_refused(tmp_path, there, instead, sizes):
    source = TREE.replace(there, instead, 1)
    if isinstance(sizes, str):
        path = saved(tmp_path, source, "mine.cu")
        with pytest.raises(ValueError, match=sizes):
            gred.lab.compile(path, device="simulated")
    else:
        form = form_of(source, None, None)
        assert (form.like, form.data_blocks) == ("shared_sequential", 1)
        assert form.block_sizes == sizes
