/* Rung 4, unroll2: each block folds two data blocks while it loads.
 *
 * On rung 3 half the threads have nothing to do from the start. Here each has one addition before
 * the tree begins, two loads are in flight, and half as many blocks are launched. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Op, class T>
__global__ void unroll2(global<T> data, uint64_t n, global<T> partials)
{
    const slice<T> all = own_slice(data, n, 2 * blockDim.x);
    T value = fold_data_blocks<Op, 2>(all);
    const slice<T> x = first_data_block(all);
    fold_interleaved<Op>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
