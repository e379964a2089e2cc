/* Exercise 7, lanes: no tree in shared memory.
 *
 * shuffle_down(value, k) gives a lane the value of the lane k further on, from register to
 * register; warp_fold<Fold>(value) does so five times, and lane 0 has the fold of its warp. What is
 * left is to combine the warps' values: a word of shared memory for each, one barrier, and
 * the first warp folds those. A block has blockDim.x / warp_size warps, which may be fewer than 32.
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
