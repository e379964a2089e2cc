/* Rung 4, unroll2: each block combines two data blocks while it loads them.
 *
 * On rung 3 half the threads are idle from the start. Here each thread performs one addition before
 * the tree begins, two loads per thread are in flight, and half as many blocks are launched. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Fold>
__global__ void unroll2(global<state_of<Fold>> data, uint64_t n, global<state_of<Fold>> partials)
{
    const slice<state_of<Fold>> all = own_slice(data, n, 2 * blockDim.x);
    state_of<Fold> value = fold_data_blocks<Fold, 2>(all);
    const slice<state_of<Fold>> x = first_data_block(all);
    fold_interleaved<Fold>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
