/* Rung 15, shared_last_warp: rung 14, with the last levels performed by one warp.
 *
 * Once 64 elements are left, only one warp has work. Its levels need warp barriers instead of block
 * barriers. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array, unsigned Block>
__global__ void shared_last_warp(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_two_tiles<Fold, Block>(data, n);
    fold_sequential<Fold, Block>(x, 2 * warp_size);
    fold_last_warp<Fold, Block>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
