/* Rung 12, shared_strided: rung 11 without the divergence.
 *
 * Packed threads take the pairs, as on rung 2. Their elements lie 2 * stride apart, so the lanes of
 * a warp meet in the same banks of shared memory and wait for each other: on a recent chip this
 * costs more than the divergence did. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void shared_strided(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_tile<Fold>(data, n);
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        const unsigned i = 2 * stride * threadIdx.x;
        if (i < blockDim.x)
            x[i] = Fold::merge(x[i], x[i + stride]);
        __syncthreads();
    }
    store_partial(partials, x[0]);
}

} // namespace KERNELS
