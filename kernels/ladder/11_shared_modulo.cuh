/* Rung 11, shared_modulo: the tree of rung 1, in shared memory.
 *
 * Each thread loads one element into the block's tile in shared memory, and the tree operates on
 * the tile. The array is read once and not written. Warps still diverge. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array, unsigned Block>
__global__ void shared_modulo(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_tile<Fold, Block>(data, n);
    const unsigned tid = threadIdx.x;
    for (unsigned stride = 1; stride < block_size<Block>(); stride *= 2) {
        if (tid % (2 * stride) == 0)
            x[tid] = Fold::merge(x[tid], x[tid + stride]);
        __syncthreads();
    }
    store_partial(partials, x[0]);
}

} // namespace KERNELS
