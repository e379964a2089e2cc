/* Rung 15, shared_last_warp: rung 14, with the last warp on its own.
 *
 * From 64 elements down only one warp has work; its levels need barriers of that warp, not of the
 * block. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void shared_last_warp(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_two_tiles<Fold>(data, n);
    fold_sequential<Fold>(x, 2 * warp_size);
    fold_last_warp<Fold>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
