/* Rung 16, shared_complete: rung 15, fully unrolled.
 *
 * Every level of the tree is written out, the last warp's too: no loop and no test of the block
 * size is left. (Compilers unroll rung 15's loop as well, so on recent chips the two run alike.) */
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
