/* Rung 8, unroll_warps8: rung 6, with the last levels performed by one warp.
 *
 * Six block barriers become warp barriers, as on rung 7; data is loaded as on rung 6. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Fold>
__global__ void unroll_warps8(global<state_of<Fold>> data, uint64_t n,
                              global<state_of<Fold>> partials)
{
    const slice<state_of<Fold>> all = own_slice(data, n, 8 * blockDim.x);
    state_of<Fold> value = fold_data_blocks<Fold, 8>(all);
    const slice<state_of<Fold>> x = first_data_block(all);
    fold_interleaved<Fold>(x, value, 2 * warp_size);
    fold_last_warp<Fold>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
