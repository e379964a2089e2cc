/* Rung 7, unroll_warps2: rung 4, with the last warp on its own.
 *
 * From 64 elements down only the first warp has work, so the other warps are let go and the last six levels need barriers
 * of that warp only. (The original relied on `volatile` and on lanes marching in step, which they no longer do.) */
#pragma once

#include "../slice.cuh"

namespace KERNELS
{

template <class Op, class T>
__global__ void unroll_warps2(global<T> data, uint64_t n, global<T> partials)
{
    const slice<T> x = fold_data_blocks<Op, 2>(own_slice(data, n, 2 * blockDim.x));
    fold_interleaved<Op>(x, 2 * warp_size);
    fold_last_warp<Op>(x);
    store_partial(partials, x.at[0]);
}

} // namespace KERNELS
