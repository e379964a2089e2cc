/* Rung 7, unroll_warps2: rung 4, with the last levels performed by one warp.
 *
 * Once 64 elements are left, only the first warp has work. The other warps return, and the last six
 * levels need only warp barriers. (The original relied on `volatile` and on lanes that run in
 * lockstep, which newer GPUs do not guarantee.) */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Fold>
__global__ void unroll_warps2(global<state_of<Fold>> data, uint64_t n,
                              global<state_of<Fold>> partials)
{
    const slice<state_of<Fold>> all = own_slice(data, n, 2 * blockDim.x);
    state_of<Fold> value = fold_data_blocks<Fold, 2>(all);
    const slice<state_of<Fold>> x = first_data_block(all);
    fold_interleaved<Fold>(x, value, 2 * warp_size);
    fold_last_warp<Fold>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
