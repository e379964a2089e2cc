/* Rung 18, shuffle: warp shuffles instead of a tree in shared memory.
 *
 * Lanes of a warp read each other's registers: five shuffles fold a warp, one word of shared memory
 * a warp carries its result over, and five more fold those. One barrier of the block is left. */
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
