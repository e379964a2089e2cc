/* The words that kernels are written in.
 *
 * Kernels are compiled twice: by nvcc for a GPU, and by the host's C++ compiler for the simulated
 * device, where simulated/words.h gives CUDA's words a meaning. What they have in common with the
 * host's loops, the folds above all, is compiled a third time for those, with cpu/words.h. All
 * compilations end up in one module, so each lives in a namespace of its own, which every kernel
 * file opens as `namespace KERNELS`.
 *
 * Memory is named by where it lies: `global<T>` and `shared<T>` are plain pointers, but where
 * somebody counts: the ladder's rungs are compiled once more for the simulated device, with
 * pointers that do (simulated/counting.h). */
#pragma once

#include <math.h>
#include <stdint.h>

#ifdef __CUDACC__
#define KERNELS cuda_kernels
#elif defined(GRED_HOST_LOOPS)
#include "cpu/words.h"
#define KERNELS GRED_HOST_LOOPS
#else
#ifdef GRED_COUNTING
#define KERNELS counting_kernels
#else
#define KERNELS simulated_kernels
#endif
#include "simulated/words.h"
#endif

namespace KERNELS
{

constexpr unsigned warp_bits = 5, warp_size = 1u << warp_bits;
constexpr unsigned whole_warp = 0xffffffff;

#ifndef GRED_COUNTING

template <class T>
using global = T *;

template <class T>
using shared = T *;

/* The same memory, as elements of another type. */
template <class To, class From>
__host__ __device__ __forceinline__ To *seen_as(From *memory)
{
    return reinterpret_cast<To *>(memory);
}

template <class T>
__host__ __device__ __forceinline__ uintptr_t address_of(T *memory)
{
    return reinterpret_cast<uintptr_t>(memory);
}

#endif

/* A number that the compiler knows nothing of: what depends on it is made where it is asked for. */
__device__ __forceinline__ unsigned not_known(unsigned x)
{
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(x));
#endif
    return x;
}

/* The first of n places that is not before what is looked for: those that are come first. */
template <class Count, class Before>
__host__ __device__ __forceinline__ Count partition_point(Count n, Before is_before)
{
    Count first = 0;
    while (first < n) {
        const Count middle = first + (n - first) / 2;
        if (is_before(middle))
            first = middle + 1;
        else
            n = middle;
    }
    return first;
}

#ifdef __CUDACC__

/* A kernel's parameter that is large, or read at places that are known at run time only: all
 * threads read it where the launch has put it. */
#define SHARED_PARAMETER(T) const __grid_constant__ T

/* The block's shared memory, as many bytes as the launch asked for. Its contents are undefined at
 * first. */
template <class T>
__device__ __forceinline__ shared<T> block_memory()
{
    extern __shared__ __align__(16) unsigned char bytes[];
    return reinterpret_cast<T *>(bytes);
}

/* Every thread of every block waits here, once for each `arrived` of a launch, which has to be
 * cooperative: only then are all blocks sure to run at the same time. Blocks count themselves on
 * `arrived`, which is 0 before and wraps around to 0 when the last one is there; that is what the
 * others wait for. CUDA's own cooperative groups do much the same, in a header that is slow to
 * compile. */
__device__ __forceinline__ void grid_barrier(global<unsigned> arrived)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicInc(arrived, gridDim.x - 1) != gridDim.x - 1)
            while (*static_cast<volatile unsigned *>(arrived) != 0)
                ;
        __threadfence();
    }
    __syncthreads();
}

/* A store that the host sees, whole. */
__device__ __forceinline__ void store_for_host(uint64_t *at, uint64_t word)
{
    *static_cast<volatile uint64_t *>(at) = word;
}

#elif !defined(GRED_HOST_LOOPS)

#define SHARED_PARAMETER(T) const T &

template <class T>
shared<T> block_memory()
{
    return shared<T>(static_cast<T *>(simulator_shared_memory()));
}

#endif

} // namespace KERNELS
