/* Results that stay on the device, and the counting that a mean under a mask needs. */
#pragma once

#include "warp.cuh"

#include "common/finish.h"

namespace KERNELS
{

/* One thread. `counted` is the device's own count of what took part, null where the host knows. */
__global__ void finish_on_device(global<const unsigned char> folded, struct finish how,
                                 global<const uint64_t> counted, enum element out_type,
                                 global<unsigned char> out)
{
    if (counted)
        how.count = *counted;
    const union scalar result = finish_result(&how, scalar_load(folded, how.accumulator));
    scalar_store(out, scalar_convert(result, how.type, out_type), out_type);
}

/* Adds to *counted the elements that the mask lets through. */
__global__ void count_selected(global<const layout> from, uint64_t n,
                               global<unsigned long long> counted)
{
    const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
    int64_t count = 0;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads)
        count += from->mask[place_of(from, from->dimensions, i).mask] != 0;
    count = warp_fold<sum>(count);
    if (threadIdx.x % warp_size == 0)
        atomicAdd(counted, static_cast<unsigned long long>(count));
}

} // namespace KERNELS
