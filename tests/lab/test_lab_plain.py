"""gred.lab takes kernels in ordinary CUDA: they are checked, counted and timed as the ladder's."""

import re
from pathlib import Path

import numpy as np
import pytest
from labs import LAB, compile_error, saved

import gred
from gred.lab.form import form_of

pytestmark = LAB

PAGE = Path(__file__).parents[2] / "docs/your-own-rung.md"
(SHOWN,) = re.findall(r"```cpp\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
TREE = f"#include <cuda_runtime.h>\n// a block's tree\n{SHOWN}"
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
# Of 1000 ones in blocks of 256, the barriers of all passes' blocks, and shuffles and atomics.
RIGHT = {
    "tree": (TREE, "float32", (4 + 1) * 9, 0, 0),
    "types": (TYPES, "int64", (2 + 1) * 9, 0, 0),
    "atomic": (ATOMIC, "int32", 4 * 2, 4 * 8 * 5, 4 * 8 + 4),
}


@pytest.mark.parametrize("name", RIGHT)
def test_an_ordinary_kernel_is_checked_counted_drawn_and_timed(tmp_path, name):
    source, dtype, *counts = RIGHT[name]
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


def test_a_type_error_is_said_in_cudas_words(tmp_path):
    wrong = "float *p = tile[tid];\n    if (tid == 0)\n        out"
    path = saved(tmp_path, TREE.replace("if (tid == 0)\n        out", wrong), "mine.cu")
    said = compile_error(path, device="simulated")
    first, source, *_ = said.splitlines()
    assert first.startswith(f"{path}:15:")
    assert "'float *'" in first
    assert "float *p = tile[tid];" in source
    assert said.count("error:") == 1


@pytest.mark.parametrize(
    ("there", "instead", "sizes"),  # of blocks, or why it is refused
    [
        ("{", "{ f<<<1, 2>>>(in);", "line 4 is host code"),
        ("tile[256]", "tile[16][16]", "line 5: of shared memory"),
        ("const float *in", "const char *in", "one of int, long long"),
        (", int n", "", "its form is one of"),
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
