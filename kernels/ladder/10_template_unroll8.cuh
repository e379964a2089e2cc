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
    const slice<T> all = own_slice(data, n, 8 * Block);
    T value = fold_data_blocks<Op, 8>(all);
    const slice<T> x = first_data_block(all);
    if constexpr (Block >= 1024) {
        fold_level<Op>(x, value, 512);
        __syncthreads();
    }
    if constexpr (Block >= 512) {
        fold_level<Op>(x, value, 256);
        __syncthreads();
    }
    if constexpr (Block >= 256) {
        fold_level<Op>(x, value, 128);
        __syncthreads();
    }
    if constexpr (Block >= 128) {
        fold_level<Op>(x, value, 64);
        __syncthreads();
    }
    fold_last_warp<Op>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
