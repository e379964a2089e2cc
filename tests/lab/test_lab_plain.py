"""gred.lab takes kernels in ordinary CUDA: they are checked, counted and timed as the ladder's."""

from pathlib import Path

import numpy as np
import pytest
from labs import LAB, RUNGS, compile_error, found, line_of, saved

import gred
from gred.lab import edges
from gred.lab.form import form_of

pytestmark = LAB
FAULTS = RUNGS / "plain_faults.cu"

TREE = """#include <cuda_runtime.h>
// a block's tree
__global__ void reduce(const float *in, float *out, int n)
{
    __shared__ float tile[256];
    int tid = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[tid] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            tile[tid] += tile[tid + s];
        __syncthreads();
    }
    if (tid == 0)
        out[blockIdx.x] = tile[0];
}
"""
TYPES = """// launched like shared_first_add
template <class T, unsigned int blockSize>
__global__ void reduce3(T *g_idata, T *g_odata, unsigned int n)
{
    extern __shared__ T sdata[];
    unsigned int tid = threadIdx.x, i = blockIdx.x * (blockSize * 2) + threadIdx.x;
    T sum = i < n ? g_idata[i] : 0;
    if (i + blockSize < n)
        sum += g_idata[i + blockSize];
    sdata[tid] = sum;
    __syncthreads();
    for (unsigned int s = blockSize / 2; s > 0; s >>= 1) {
        if (tid < s)
            sdata[tid] = sum = sum + sdata[tid + s];
        __syncthreads();
    }
    if (tid == 0) g_odata[blockIdx.x] = sum;
}
"""
ATOMIC = """
__global__ void total(const int *in, int *out, size_t n)
{
    int sum = 0;
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        sum += in[i];
    for (int bits = 16; bits > 0; bits >>= 1)
        sum += __shfl_xor_sync(0xffffffff, sum, bits);
    __shared__ int all;
    if (threadIdx.x == 0)
        all = 0;
    __syncthreads();
    if (threadIdx.x % warpSize == 0)
        atomicAdd(&all, sum);
    __syncthreads();
    if (threadIdx.x == 0)
        atomicAdd(out, all);
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    sources = {"tree": TREE, "types": TYPES, "atomic": ATOMIC}
    paths = {name: saved(folder, source, f"{name}.cu") for name, source in sources.items()}
    return {name: gred.lab.compile(path, device="simulated") for name, path in paths.items()}


@pytest.mark.parametrize("name", ["tree", "types", "atomic"])
def test_an_ordinary_kernel_that_is_right_is_said_to_be(compiled, name):
    assert compiled[name].check().right


# Of 1000 ones in blocks of 256, the barriers of all passes' blocks, and shuffles and atomics.
COUNTED = {
    "tree": ("float32", (4 + 1) * 9, 0, 0),
    "types": ("int64", (2 + 1) * 9, 0, 0),
    "atomic": ("int32", 4 * 2, 4 * 8 * 5, 4 * 8 + 4),
}


@pytest.mark.parametrize("name", COUNTED)
def test_its_barriers_shuffles_and_atomics_are_counted(compiled, name):
    dtype, barriers, shuffles, atomics = COUNTED[name]
    counted = compiled[name].counters(np.ones(1000, dtype), block_size=256)
    total = counted.total
    found = (total.block_barriers, total.shuffle_requests, total.atomic_requests)
    assert (counted.result, *found) == (1000, barriers, shuffles, atomics)
    assert {Path(line.file).name for line in total.lines} == {f"{name}.cu"}


def test_it_is_drawn_and_timed(compiled):
    a = np.ones(100, np.float32)
    assert compiled["tree"].accesses(a).svg().startswith("<svg")
    assert compiled["tree"].kernel_time(a, samples=1).result == 100


def test_an_array_of_another_type_is_refused(compiled):
    with pytest.raises(ValueError, match="reduce sums float32; got an array of int32"):
        compiled["tree"].counters(np.ones(5, np.int32))


MISTAKES = [
    (101, "race", "race of stores"),
    (102, "unwritten", "uninitialized"),
    (103, "bounds", "out of bounds"),
    (104, "barrier", "early return"),
    (105, "bounds", "beyond shared memory"),
    (107, "race", "scalar"),
    (108, "race", "tree"),
    (109, "answer", None),
    (64, None, None),
    (1000, None, None),
    (106, "crash", "null pointer"),  # the last, as it ends the process
]


@pytest.fixture(scope="module")
def findings():
    rung = gred.lab.compile(FAULTS, device="simulated")
    form = rung._build.form
    orders = {108: "backwards"}  # in which no thread reads first what another stores later
    jobs = [edges.case(form, size, 64, order=orders.get(size, "forwards")) for size, *_ in MISTAKES]
    return dict(zip([size for size, *_ in MISTAKES], found(rung, *jobs), strict=True))


@pytest.mark.parametrize(("size", "kind", "remark"), MISTAKES)
def test_a_mistake_is_named_with_the_ordinary_kernels_line(findings, size, kind, remark):
    finding = findings[size]
    assert (finding and finding.kind) == kind
    if remark:
        assert (finding.file, finding.line) == (str(FAULTS), line_of(FAULTS, remark))


def test_a_type_error_is_said_in_cudas_words(tmp_path):
    wrong = "float *p = tile[tid];\n    if (tid == 0)\n        out"
    path = saved(tmp_path, TREE.replace("if (tid == 0)\n        out", wrong), "mine.cu")
    said = compile_error(path, device="simulated")
    first, source, *_ = said.splitlines()
    assert first.startswith(f"{path}:15:")
    assert "from 'float' to non-scalar type 'float *'" in first or "'float *'" in first
    assert "float *p = tile[tid];" in source
    assert said.count("error:") == 1


@pytest.mark.parametrize(
    ("there", "instead", "message"),
    [
        ("{", "{ f<<<1, 2>>>(in);", "line 4 is host code"),
        ("// a", "int main() {} //", "line 2 is host code"),
        ("tile[256]", "tile[16][16]", "line 5: of shared memory"),
        ("const float *in", "const char *in", "one of int, long long"),
        ("const float *in", "const double *in", "one of int, long long"),
        (", int n", "", "its form is one of"),
    ],
)
def test_what_is_not_understood_is_refused_with_a_reason(tmp_path, there, instead, message):
    path = saved(tmp_path, TREE.replace(there, instead, 1), "mine.cu")
    with pytest.raises(ValueError, match=message):
        gred.lab.compile(path, device="simulated")


@pytest.mark.parametrize(
    ("there", "instead", "sizes"),
    [
        ("", "", (256,)),
        ("tile[256]", "tile[32]", (32, 64, 256, 1024)),
        ("tile[256]", "tile[B]; constexpr int B = 128;", (128,)),
        ("a block", "launched like shared_sequential, blocks of 512", (512,)),
        ("__shared__ float tile[256]", "extern __shared__ float tile[]", (32, 64, 256, 1024)),
        ("__global__ void", "__global__ void __launch_bounds__(64)", (256,)),
    ],
)
def test_blocks_are_as_long_as_shared_arrays(there, instead, sizes):
    form = form_of(TREE.replace(there, instead, 1), None, None)
    assert form.block_sizes == sizes
    assert (form.like, form.data_blocks) == ("shared_sequential", 1)
