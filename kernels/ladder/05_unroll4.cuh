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
    const slice<T> x = fold_data_blocks<Op, 4>(own_slice(data, n, 4 * blockDim.x));
    fold_interleaved<Op>(x);
    store_partial(partials, x.at[0]);
}

} // namespace KERNELS
