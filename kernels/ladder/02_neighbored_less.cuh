/* Rung 2, neighbored_less: the pairs of rung 1, assigned to consecutive threads.
 *
 * The first half of the threads process the first level, the first quarter the second level, and so
 * on. Whole warps go idle, and no warp diverges until less than one warp is active. The memory
 * accesses are still strided. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Fold>
__global__ void neighbored_less(global<state_of<Fold>> data, uint64_t n,
                                global<state_of<Fold>> partials)
{
    const slice<state_of<Fold>> x = own_slice(data, n, blockDim.x);
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned i = 2 * stride * threadIdx.x;
        if (i + stride < x.count)
            x.at[i] = Fold::merge(x.at[i], x.at[i + stride]);
        __syncthreads();
    }
    store_partial(partials, x.at[0]);
}

} // namespace KERNELS
