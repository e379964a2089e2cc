/* Rung 18, shuffle: warp shuffles instead of a tree in shared memory.
 *
 * Lanes read each other's registers. Five shuffles reduce a warp, each warp stores its result in
 * shared memory, and five more shuffles reduce those. One block barrier remains. */
#pragma once

#include "../warp.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void shuffle(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    store_partial(partials, block_fold<Fold>(fold_grid_stride<Fold>(data, n)));
}

} // namespace KERNELS
