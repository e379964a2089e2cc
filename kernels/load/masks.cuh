/* Count unmasked elements. */
#pragma once

#include "../vector.cuh"
#include "counted.cuh"

namespace KERNELS
{

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

} // namespace KERNELS
