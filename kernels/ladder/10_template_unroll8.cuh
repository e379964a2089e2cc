/* Rung 10, template_unroll8: rung 9, with the block size as a template parameter.
 *
 * Levels that a block of this size lacks are compiled away, with their tests and barriers. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Fold, unsigned Block>
__global__ void template_unroll8(global<state_of<Fold>> data, uint64_t n,
                                 global<state_of<Fold>> partials)
{
    const slice<state_of<Fold>> all = own_slice(data, n, 8 * Block);
    state_of<Fold> value = fold_data_blocks<Fold, 8>(all);
    const slice<state_of<Fold>> x = first_data_block(all);
    if constexpr (Block >= 1024) {
        fold_level<Fold>(x, value, 512);
        __syncthreads();
    }
    if constexpr (Block >= 512) {
        fold_level<Fold>(x, value, 256);
        __syncthreads();
    }
    if constexpr (Block >= 256) {
        fold_level<Fold>(x, value, 128);
        __syncthreads();
    }
    if constexpr (Block >= 128) {
        fold_level<Fold>(x, value, 64);
        __syncthreads();
    }
    fold_last_warp<Fold>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
