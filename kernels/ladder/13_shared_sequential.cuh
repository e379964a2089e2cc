/* Rung 13, shared_sequential: the stride starts at half the block and halves.
 *
 * Packed threads on neighbouring elements: neither divergence nor bank conflicts. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Op, class Array, class Acc, unsigned Block>
__global__ void shared_sequential(Array data, uint64_t n, global<Acc> partials)
{
    const shared<Acc> x = load_tile<Op, Acc, Block>(data, n);
    fold_sequential<Op, Block>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
