/* Exercise 5, first_add: no thread idles from the start.
 *
 * At the first level of a tree half the threads have nothing to do. Here a block is given two
 * elements a thread, `2 * blockDim.x` of them, so that every thread has an addition to make before
 * the tree begins. Only the first half of a block's elements is loaded yet. Mind the tail: it may
 * end within the first half, or within the second.
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
