/* Rung 13, shared_sequential: the stride starts at half the block and halves.
 *
 * Packed threads on neighbouring elements: neither divergence nor bank conflicts. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void shared_sequential(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_tile<Fold>(data, n);
    fold_sequential<Fold>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
