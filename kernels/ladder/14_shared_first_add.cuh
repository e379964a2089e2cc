/* Rung 14, shared_first_add: the first addition is made while loading.
 *
 * On rung 13 half the threads idle from the first level on. Two loads a thread, folded on the way
 * into the tile, give the same tree twice the data and need half the blocks. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void shared_first_add(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_two_tiles<Fold>(data, n);
    fold_sequential<Fold>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
