/* The vocabulary in which kernels are written.
 *
 * Kernels are compiled twice: by nvcc for a GPU, and by the host's C++ compiler for the simulated
 * device, where simulated/words.h defines CUDA's keywords and built-ins. Code that is shared with
 * the host's loops, mainly the folds, is compiled a third time for them, with cpu/words.h. All
 * compilations are linked into one module, so each has its own namespace, which every kernel file
 * opens as `namespace KERNELS`.
 *
 * Pointer types name the memory space: `global<T>` and `shared<T>` are plain pointers, except in
 * the extra compilation of the ladder's rungs for the simulated device in which pointers count
 * accesses (simulated/counting.h). */
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

/* A pointer to the same memory with another element type. */
template <class To, class From>
__host__ __device__ __forceinline__ To *pointer_cast(From *memory)
{
    return reinterpret_cast<To *>(memory);
}

template <class T>
__host__ __device__ __forceinline__ uintptr_t address_of(T *memory)
{
    return reinterpret_cast<uintptr_t>(memory);
}

#endif

/* Hide x's origin from the compiler, so that values are computed where they are used. */
__device__ __forceinline__ unsigned opaque_value(unsigned x)
{
#ifdef __CUDA_ARCH__
    asm volatile("" : "+r"(x));
#endif
    return x;
}

/* Binary search: the first of n places for which is_before, true until then, is false. */
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

/* A kernel parameter that is large or indexed at run time. All threads read it from constant
 * memory, without a copy per thread. */
#define SHARED_PARAMETER(T) const __grid_constant__ T

/* The block's dynamic shared memory, of the size given at launch; initially uninitialized. */
template <class T>
__device__ __forceinline__ shared<T> block_memory()
{
    extern __shared__ __align__(16) unsigned char bytes[];
    return reinterpret_cast<T *>(bytes);
}

/* Barrier for the whole grid. The launch must be cooperative, which guarantees that all blocks run
 * at the same time. Blocks increment `arrived`, which is 0 before the call and wraps around to 0
 * when the last block arrives; the others spin until then. CUDA's cooperative groups do much the
 * same, in a header that is slow to compile. */
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

/* An 8-byte store that the host sees as a whole. */
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
