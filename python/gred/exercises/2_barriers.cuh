/* Exercise 2, barriers: a tree of neighboring pairs in shared memory, level by level.
 *
 * Each level reads values that other threads wrote in the previous level, without waiting for them:
 * __syncthreads() is missing, in one or several places. Every thread of a block must reach each
 * barrier.
 *
 * Launched like shared_modulo. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void barriers(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const uint64_t start = uint64_t(blockIdx.x) * blockDim.x;
    const unsigned tid = threadIdx.x;
    const shared<state_of<Fold>> x = block_memory<state_of<Fold>>();

    /* The hole: who waits, and where? */
    x[tid] = tid < n - start ? load<Fold>(data, start + tid) : Fold::identity();
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (tid % (2 * stride) == 0)
            x[tid] = Fold::merge(x[tid], x[tid + stride]);
    }
    store_partial(partials, x[0]);
}

} // namespace KERNELS
