/* Rung 6, unroll8: each block combines eight data blocks while it loads them.
 *
 * Like rung 5, with eight loads in flight per thread. On a fully occupied multiprocessor this is
 * enough to hide most of the memory latency. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Fold>
__global__ void unroll8(global<state_of<Fold>> data, uint64_t n, global<state_of<Fold>> partials)
{
    const slice<state_of<Fold>> all = own_slice(data, n, 8 * blockDim.x);
    state_of<Fold> value = fold_data_blocks<Fold, 8>(all);
    const slice<state_of<Fold>> x = first_data_block(all);
    fold_interleaved<Fold>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
