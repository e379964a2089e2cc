/* Add the counts of a warp's threads to one in memory. */
#pragma once

#include "../reductions/sum.cuh"
#include "../warp.cuh"

namespace KERNELS
{

/* Called by all threads of a warp. */
__device__ __forceinline__ void add_count(global<unsigned long long> counted, uint64_t count)
{
    const int64_t total = warp_fold<sum<int64_t>>(int64_t(count));
    if (threadIdx.x % warp_size == 0)
        atomicAdd(counted, static_cast<unsigned long long>(total));
}

} // namespace KERNELS
