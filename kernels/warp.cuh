/* Folding registers: a warp by shuffles, a block by one word of shared memory a warp. */
#pragma once

#include "grid_stride.cuh"

namespace KERNELS
{

template <class T>
__device__ __forceinline__ T shuffle_down(T value, unsigned offset)
{
    return T(__shfl_down_sync(whole_warp, value, offset));
}

template <class T>
__device__ __forceinline__ complex<T> shuffle_down(complex<T> value, unsigned offset)
{
    return {shuffle_down(value.real, offset), shuffle_down(value.imag, offset)};
}

/* Lane 0's result is the fold of the whole warp's values. */
template <class Op, class T>
__device__ __forceinline__ T warp_fold(T value)
{
#pragma unroll
    for (unsigned offset = warp_size / 2; offset > 0; offset /= 2)
        value = Op::combine(value, shuffle_down(value, offset));
    return value;
}

/* Thread 0's result is the fold of the whole block's values. Whoever calls it twice puts a barrier
 * in between. */
template <class Op, class T>
__device__ __forceinline__ T block_fold(T value)
{
    const shared<T> of_warps = block_memory<T>();
    const unsigned lane = threadIdx.x % warp_size;
    value = warp_fold<Op>(value);
    if (lane == 0)
        of_warps[threadIdx.x / warp_size] = value;
    __syncthreads();
    if (threadIdx.x < warp_size) {
        value = lane < blockDim.x / warp_size ? of_warps[lane] : Op::template identity<T>();
        value = warp_fold<Op>(value);
    }
    return value;
}

} // namespace KERNELS
