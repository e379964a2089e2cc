/* Rung 10, template_unroll8: rung 9, with the block size known to the compiler.
 *
 * The levels that a block of this size lacks vanish from the code, tests, barriers and all. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Op, class T, unsigned Block>
__global__ void template_unroll8(global<T> data, uint64_t n, global<T> partials)
{
    const slice<T> x = fold_data_blocks<Op, 8>(own_slice(data, n, 8 * Block));
    if constexpr (Block >= 1024) {
        fold_level<Op>(x, 512);
        __syncthreads();
    }
    if constexpr (Block >= 512) {
        fold_level<Op>(x, 256);
        __syncthreads();
    }
    if constexpr (Block >= 256) {
        fold_level<Op>(x, 128);
        __syncthreads();
    }
    if constexpr (Block >= 128) {
        fold_level<Op>(x, 64);
        __syncthreads();
    }
    fold_last_warp<Op>(x);
    store_partial(partials, x.at[0]);
}

} // namespace KERNELS
