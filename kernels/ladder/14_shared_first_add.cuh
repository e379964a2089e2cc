/* Rung 14, shared_first_add: the first addition is performed during the load.
 *
 * On rung 13 half the threads are idle from the first level on. Here each thread adds two elements
 * as it loads them: the same tree reduces twice the data, with half as many blocks. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array, unsigned Block>
__global__ void shared_first_add(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_two_tiles<Fold, Block>(data, n);
    fold_sequential<Fold, Block>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
