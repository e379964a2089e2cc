/* Rung 6, unroll8: each block folds eight data blocks while it loads.
 *
 * As rung 5, with eight loads in flight: enough, with a full multiprocessor, to hide most of the memory's latency. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Op, class T>
__global__ void unroll8(global<T> data, uint64_t n, global<T> partials)
{
    const slice<T> x = fold_data_blocks<Op, 8>(own_slice(data, n, 8 * blockDim.x));
    fold_interleaved<Op>(x);
    store_partial(partials, x.at[0]);
}

} // namespace KERNELS
