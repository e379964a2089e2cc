/* Exercise 2, barriers: neighbours pair up in shared memory, level by level.
 *
 * A level reads what the level before it has written, and other threads have written it. Nobody
 * waits for them yet: __syncthreads() is missing, in one place or in several. Every thread of a
 * block has to come to each of them.
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
