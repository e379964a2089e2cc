/* Rung 5, unroll4: each block combines four data blocks while it loads them.
 *
 * Like rung 4, with four independent loads in flight per thread. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Fold>
__global__ void unroll4(global<state_of<Fold>> data, uint64_t n, global<state_of<Fold>> partials)
{
    const slice<state_of<Fold>> all = own_slice(data, n, 4 * blockDim.x);
    state_of<Fold> value = fold_data_blocks<Fold, 4>(all);
    const slice<state_of<Fold>> x = first_data_block(all);
    fold_interleaved<Fold>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
