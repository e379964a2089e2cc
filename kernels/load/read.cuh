/* Small kernels that only read or write memory. */
#pragma once

#include "../vector.cuh"
#include "counted.cuh"

#include "common/kernel_arguments.h"

namespace KERNELS
{

/* The upper bound for every reduction: reads memory and does almost nothing else. Each block reads
 * tiles of blockDim.x * Loads packs; a thread has `Loads` of 16 bytes in flight. The words are
 * combined by exclusive or, which costs less than the loads, and stored under a condition that the
 * compiler cannot rule out. */
template <unsigned Loads>
__global__ void read(global<const pack<unsigned>> data, uint64_t n, global<unsigned> sink)
{
    const uint64_t tile = uint64_t(blockDim.x) * Loads;
    unsigned folded = 0;
    for (uint64_t start = blockIdx.x * tile; start < n; start += gridDim.x * tile) {
        pack<unsigned> loaded[Loads];
#pragma unroll
        for (unsigned k = 0; k < Loads; k++) {
            const uint64_t i = start + k * blockDim.x + threadIdx.x;
            loaded[k] = i < n ? data[i] : pack<unsigned>{};
        }
#pragma unroll
        for (unsigned k = 0; k < Loads; k++)
            folded ^= loaded[k].at[0] ^ loaded[k].at[1] ^ loaded[k].at[2] ^ loaded[k].at[3];
    }
    if (folded == 0x9e3779b9)
        *sink = folded;
}

/* Add the number of unmasked elements to *counted. */
__global__ void count_unmasked(SHARED_PARAMETER(layout) from, uint64_t n,
                               global<unsigned long long> counted)
{
    const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
    uint64_t count = 0;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads)
        count += from.mask[offsets_of(from, from.dimensions, i).mask] != 0;
    add_count(counted, count);
}

/* Write words given as a kernel argument: a graph keeps it, while host memory may be gone. Launched
 * with one block. */
__global__ void write(SHARED_PARAMETER(written_words) words, unsigned count,
                      global<uint64_t> target)
{
    if (threadIdx.x < count)
        target[threadIdx.x] = words.at[threadIdx.x];
}

} // namespace KERNELS
