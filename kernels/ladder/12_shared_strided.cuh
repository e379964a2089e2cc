/* Rung 12, shared_strided: rung 11 without divergence.
 *
 * Consecutive threads process the pairs, as on rung 2. Their elements are 2 * stride apart, so the
 * lanes of a warp access the same shared memory banks, and the accesses are serialized. On recent
 * GPUs these bank conflicts cost more than the divergence did. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array, unsigned Block>
__global__ void shared_strided(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_tile<Fold, Block>(data, n);
    for (unsigned stride = 1; stride < block_size<Block>(); stride *= 2) {
        const unsigned i = 2 * stride * threadIdx.x;
        if (i < block_size<Block>())
            x[i] = Fold::merge(x[i], x[i + stride]);
        __syncthreads();
    }
    store_partial(partials, x[0]);
}

} // namespace KERNELS
