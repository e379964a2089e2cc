/* Rung 5, unroll4: each block folds four data blocks while it loads.
 *
 * As rung 4, with four independent loads in flight for every thread. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Op, class T>
__global__ void unroll4(global<T> data, uint64_t n, global<T> partials)
{
    const slice<T> all = own_slice(data, n, 4 * blockDim.x);
    T value = fold_data_blocks<Op, 4>(all);
    const slice<T> x = first_data_block(all);
    fold_interleaved<Op>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
