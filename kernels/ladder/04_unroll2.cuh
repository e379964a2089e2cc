/* Rung 4, unroll2: each block folds two data blocks while it loads.
 *
 * On rung 3 half the threads have nothing to do from the start. Here each has one addition before the tree begins, two
 * loads are in flight, and half as many blocks are launched. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Op, class T>
__global__ void unroll2(global<T> data, uint64_t n, global<T> partials)
{
    const slice<T> x = fold_data_blocks<Op, 2>(own_slice(data, n, 2 * blockDim.x));
    fold_interleaved<Op>(x);
    store_partial(partials, x.at[0]);
}

} // namespace KERNELS
