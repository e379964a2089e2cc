/* Rung 17, shared_grid_stride: each thread processes as many elements as the array requires.
 *
 * The grid is about as large as the device can hold and traverses the array in a grid-stride loop,
 * two elements per thread and step. The tree, which costs latency but no bandwidth, runs once per
 * block instead of once per 2 * Block elements. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array, unsigned Block>
__global__ void shared_grid_stride(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = make_tile(fold_grid_stride<Fold>(data, n));
    fold_complete<Fold, Block>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
