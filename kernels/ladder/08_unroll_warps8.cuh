/* Rung 8, unroll_warps8: rung 6, with the last warp on its own.
 *
 * Six of the tree's barriers become barriers of one warp, as on rung 7; the loading is rung 6's. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Op, class T>
__global__ void unroll_warps8(global<T> data, uint64_t n, global<T> partials)
{
    const slice<T> all = own_slice(data, n, 8 * blockDim.x);
    T value = fold_data_blocks<Op, 8>(all);
    const slice<T> x = first_data_block(all);
    fold_interleaved<Op>(x, value, 2 * warp_size);
    fold_last_warp<Op>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
