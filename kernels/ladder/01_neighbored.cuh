/* Rung 1, neighbored: each block reduces one data block in place, adjacent elements first.
 *
 * Thread `tid` is active when `tid` is a multiple of twice the stride. Half of every warp idles at
 * the first level and three quarters at the second, yet every warp executes all levels: the
 * textbook case of warp divergence. */
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
