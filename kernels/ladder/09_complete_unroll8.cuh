/* Rung 9, complete_unroll8: rung 8, with the tree fully unrolled.
 *
 * A block has at most 1024 threads, so the tree has at most ten levels and needs no loop. Which
 * levels a block needs is still tested at run time. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Fold>
__global__ void complete_unroll8(global<state_of<Fold>> data, uint64_t n,
                                 global<state_of<Fold>> partials)
{
    const slice<state_of<Fold>> all = own_slice(data, n, 8 * blockDim.x);
    state_of<Fold> value = fold_data_blocks<Fold, 8>(all);
    const slice<state_of<Fold>> x = first_data_block(all);
    if (blockDim.x >= 1024)
        fold_level<Fold>(x, value, 512);
    __syncthreads();
    if (blockDim.x >= 512)
        fold_level<Fold>(x, value, 256);
    __syncthreads();
    if (blockDim.x >= 256)
        fold_level<Fold>(x, value, 128);
    __syncthreads();
    if (blockDim.x >= 128)
        fold_level<Fold>(x, value, 64);
    __syncthreads();
    fold_last_warp<Fold>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
