/* Rung 2, neighbored_less: the same pairs as rung 1, with the threads packed.
 *
 * The first half of the threads take the pairs of the first level, the first quarter those of the
 * second: whole warps retire early, and divergence waits until less than a warp is left. The memory
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
