/* Rung 1, neighbored: each block folds its data block in place in global memory, neighbours first.
 *
 * Thread `tid` works when `tid` is a multiple of twice the stride, so half of every warp idles at
 * the first level, three quarters at the second, and every warp runs to the end: the textbook case
 * of divergence. */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Fold>
__global__ void neighbored(global<state_of<Fold>> data, uint64_t n, global<state_of<Fold>> partials)
{
    const slice<state_of<Fold>> x = own_slice(data, n, blockDim.x);
    const unsigned tid = threadIdx.x;
    for (unsigned stride = 1; stride < blockDim.x; stride *= 2) {
        if (tid % (2 * stride) == 0 && tid + stride < x.count)
            x.own[0] = Fold::merge(x.own[0], x.own[stride]);
        __syncthreads();
    }
    store_partial(partials, x.at[0]);
}

} // namespace KERNELS
