/* Rung 16, shared_complete: rung 15, fully unrolled.
 *
 * The block size is a template parameter, so every level is written out by the compiler and none is
 * tested at run time. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

template <class Op, class In, class Acc, unsigned Block>
__global__ void shared_complete(global<const In> data, uint64_t n, global<Acc> partials)
{
    const shared<Acc> x = load_two_tiles<Op, Acc, Block>(data, n);
    fold_complete<Op, Block>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
