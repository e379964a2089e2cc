"""CUB's reproducible sums, `gpu_to_gpu`: rounded, but alike on every GPU.

They came with CCCL 3.1, after CUDA 13.0. Newer headers than a toolkit's are the pip package
`nvidia-cuda-cccl`, or wherever the environment variable GRED_CCCL says; nvcc compiles them where it
is measured.
"""

import ctypes
import os
import site
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from measures.compiled import compiled

NAME = "CUB, gpu_to_gpu"
HEADER, VARIABLE = Path("cub", "device", "device_reduce.cuh"), "GRED_CCCL"
TYPES = ("float32", "float64")
# What CUB works in is kept from call to call, and a sum for the host is stored into its memory.
SOURCE = r"""
#include <cub/device/device_reduce.cuh>
#include <cuda/execution>
#include <cuda/stream>

namespace
{

struct workspace {
    static inline void *kept = nullptr;
    static inline size_t size = 0;

    void *allocate_sync(size_t bytes, size_t = 0)
    {
        if (bytes > size) {
            cudaFree(kept);
            if (cudaMalloc(&kept, bytes) != cudaSuccess)
                kept = nullptr;
            size = kept ? bytes : 0;
        }
        return kept;
    }

    void *allocate(cuda::stream_ref, size_t bytes, size_t = 0)
    {
        return allocate_sync(bytes);
    }

    void deallocate_sync(void *, size_t, size_t = 0) noexcept {}

    void deallocate(cuda::stream_ref, void *, size_t, size_t = 0) noexcept {}

    bool operator==(const workspace &) const
    {
        return true;
    }

    bool operator!=(const workspace &) const
    {
        return false;
    }
};

template <class T>
int sum(const void *values, long long n, void *result, void *stream)
{
    namespace execution = cuda::execution;
    const auto environment = cuda::std::execution::env{
        cuda::stream_ref{static_cast<cudaStream_t>(stream)},
        execution::require(execution::determinism::gpu_to_gpu),
        cuda::std::execution::prop{cuda::mr::__get_memory_resource_t{}, workspace{}}};
    return cub::DeviceReduce::Sum(static_cast<const T *>(values), static_cast<T *>(result), n,
                                  environment);
}

template <class T>
int sum_for_host(const void *values, long long n, double *answer)
{
    static T *const result = [] {
        T *pinned = nullptr;
        return cudaMallocHost(&pinned, sizeof *pinned) == cudaSuccess ? pinned : nullptr;
    }();
    const int error = result ? sum<T>(values, n, result, nullptr) : cudaErrorMemoryAllocation;
    if (error)
        return error;
    const int failed = cudaStreamSynchronize(nullptr);
    *answer = *result;
    return failed;
}

} // namespace

extern "C" {

int sum_float32(const void *values, long long n, void *result, void *stream)
{
    return sum<float>(values, n, result, stream);
}

int sum_float64(const void *values, long long n, void *result, void *stream)
{
    return sum<double>(values, n, result, stream);
}

int sum_for_host_float32(const void *values, long long n, double *answer)
{
    return sum_for_host<float>(values, n, answer);
}

int sum_for_host_float64(const void *values, long long n, double *answer)
{
    return sum_for_host<double>(values, n, answer);
}
}
"""


def candidates() -> Iterator[Path]:
    """List the folders of headers that may be there: the one that is named, then packages'."""
    if named := os.environ.get(VARIABLE):
        yield Path(named)
    for packages in dict.fromkeys((*sys.path, *site.getsitepackages(), site.getusersitepackages())):
        yield from sorted(Path(packages or ".", "nvidia").glob("*/include/cccl"))


def headers() -> Path | None:
    return next((folder for folder in candidates() if has_such_sums(folder)), None)


def has_such_sums(folder: Path) -> bool:
    """Look for the word in the header of reductions."""
    header = folder / HEADER
    return header.is_file() and "gpu_to_gpu" in header.read_text(errors="replace")


def compiled_sums() -> Any:
    """Compile the sums; None where there are no headers, or no compiler."""
    found = headers()
    return compiled(SOURCE, (found,)) if found else None


def checked(error: int) -> None:
    if error:
        raise RuntimeError(f"CUB fails with {error}")


def queued(library: Any, array: Any, out: Any, stream: Any) -> Callable[[], None]:
    """Sum an array of CuPy's into another on a stream."""
    call = partial(
        getattr(library, f"sum_{array.dtype}"),
        ctypes.c_void_p(array.data.ptr), ctypes.c_longlong(array.size),
        ctypes.c_void_p(out.data.ptr), ctypes.c_void_p(stream.ptr),
    )  # fmt: skip
    return lambda: checked(call())


def answered(library: Any, array: Any) -> Callable[[], float]:
    """Sum an array of CuPy's, and wait for the sum."""
    answer = ctypes.c_double()
    call = partial(
        getattr(library, f"sum_for_host_{array.dtype}"),
        ctypes.c_void_p(array.data.ptr), ctypes.c_longlong(array.size), ctypes.byref(answer),
    )  # fmt: skip

    def sum_of_it() -> float:
        checked(call())
        return answer.value

    return sum_of_it
