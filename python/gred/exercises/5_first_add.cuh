/* Exercise 5, first_add: the first addition while loading.
 *
 * At the first level of a tree half of the threads are idle. Here a block reduces two elements per
 * thread, `2 * blockDim.x` in total, so that every thread adds two elements before the tree begins.
 * So far only the first half of a block's elements is loaded. Handle the tail: the array may end
 * in the first half or in the second.
 *
 * Launched like shared_first_add. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void first_add(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const uint64_t i = uint64_t(blockIdx.x) * 2 * blockDim.x + threadIdx.x;

    /* The hole: the element a block further on. */
    const state_of<Fold> value = i < n ? load<Fold>(data, i) : Fold::identity();

    const shared<state_of<Fold>> x = make_tile(value);
    fold_sequential<Fold>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
