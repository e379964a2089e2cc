/* Exercise 3, packed_threads: the pairs of exercise 2, assigned to consecutive threads.
 *
 * Every second thread works at the first level, every fourth at the next: fewer and fewer of a
 * warp's 32 lanes are active, but all warps run to the end. The result is right; lanes are wasted.
 * Assign the pairs to the first threads of the block, so that whole warps become idle.
 *
 * Launched like shared_strided. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void packed_threads(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_tile<Fold>(data, n);
    const unsigned tid = threadIdx.x;
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        /* The hole: which pair is this thread's? */
        if (tid % (2 * stride) == 0)
            x[tid] = Fold::merge(x[tid], x[tid + stride]);
        __syncthreads();
    }
    store_partial(partials, x[0]);
}

} // namespace KERNELS
