/* The upper bound for every reduction: a kernel that reads memory and does almost nothing else. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

/* Each block reads tiles of blockDim.x * Loads packs; a thread has `Loads` of 16 bytes in flight.
 * The words are combined by exclusive or, which costs less than the loads, and stored under a
 * condition that the compiler cannot rule out. */
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

} // namespace KERNELS
