/* Exercise 6, last_warp: the last levels of the tree in one warp.
 *
 * From 64 elements on only the first warp is active, so no block barrier is needed there. But lanes
 * do not run in lockstep: without a warp barrier, __syncwarp(), a lane may read a value before
 * another lane has written it, or after it has been overwritten. Which accesses must it separate?
 * (A lane may keep its own value in a register; other lanes read it from x.)
 *
 * Launched like shared_last_warp. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void last_warp(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_two_tiles<Fold>(data, n);
    const unsigned tid = threadIdx.x;
    fold_sequential<Fold>(x, 2 * warp_size);
    if (tid < warp_size) {
        state_of<Fold> value = x[tid];
        if (blockDim.x > warp_size)
            value = Fold::merge(value, x[tid + warp_size]);

        /* The hole: what is missing here? */
        for (unsigned stride = warp_size / 2; stride > 0; stride /= 2) {
            x[tid] = value;
            if (tid < stride)
                value = Fold::merge(value, x[tid + stride]);
        }
        store_partial(partials, value);
    }
}

} // namespace KERNELS
