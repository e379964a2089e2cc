/* Rung 16, shared_complete: rung 15, fully unrolled.
 *
 * All levels of the tree are unrolled, including the last warp's; no loop and no test of the block
 * size remains. (Compilers unroll rung 15's loop too, so both are equally fast on recent GPUs.) */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Fold, class Array, unsigned Block>
__global__ void shared_complete(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_two_tiles<Fold, Block>(data, n);
    fold_complete<Fold, Block>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
