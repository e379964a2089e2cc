/* Exercise 7, lanes: warp shuffles instead of a tree in shared memory.
 *
 * shuffle_down(value, k) returns the value of the lane that is k higher, from register to register;
 * warp_fold<Fold>(value) uses it five times, so that lane 0 has the result of its warp. The warps'
 * results remain to be combined: a word of shared memory for each, one barrier, and a reduction
 * by the first warp. A block has blockDim.x / warp_size warps, which may be fewer than 32.
 *
 * Launched like shuffle. */
#pragma once

#include "../warp.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void lanes(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> of_warps = block_memory<state_of<Fold>>();
    const unsigned lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    state_of<Fold> value = warp_fold<Fold>(fold_grid_stride<Fold>(data, n));

    /* The hole: who stores, who waits, and what do lanes take that have no warp? */
    of_warps[warp] = value;
    if (warp == 0)
        value = warp_fold<Fold>(of_warps[lane]);

    store_partial(partials, value);
}

} // namespace KERNELS
