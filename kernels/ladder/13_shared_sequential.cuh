/* Rung 13, shared_sequential: the stride starts at half the block size and is halved at each level.
 *
 * Consecutive threads access consecutive elements: no divergence and no bank conflicts. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array, unsigned Block>
__global__ void shared_sequential(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_tile<Fold, Block>(data, n);
    fold_sequential<Fold, Block>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
