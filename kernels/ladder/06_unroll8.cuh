/* Rung 6, unroll8: each block folds eight data blocks while it loads.
 *
 * As rung 5, with eight loads in flight: enough, with a full multiprocessor, to hide most of the
 * memory's latency. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Op, class T>
__global__ void unroll8(global<T> data, uint64_t n, global<T> partials)
{
    const slice<T> all = own_slice(data, n, 8 * blockDim.x);
    T value = fold_data_blocks<Op, 8>(all);
    const slice<T> x = first_data_block(all);
    fold_interleaved<Op>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
