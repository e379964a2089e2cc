/* Rung 3, interleaved: the stride starts at half the block size and is halved at each level.
 *
 * As on rung 2, consecutive threads are active. Now they also access consecutive elements, so a
 * warp's loads are coalesced. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Fold>
__global__ void interleaved(global<state_of<Fold>> data, uint64_t n,
                            global<state_of<Fold>> partials)
{
    const slice<state_of<Fold>> x = own_slice(data, n, blockDim.x);
    state_of<Fold> value = own_element<Fold>(x);
    fold_interleaved<Fold>(x, value);
    store_partial(partials, value);
}

} // namespace KERNELS
