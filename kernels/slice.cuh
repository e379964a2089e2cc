/* Building blocks of the rungs that reduce in place in global memory: how a block finds its slice
 * of the array, and steps that several rungs share. A slice is one or more data blocks long, each
 * of as many elements as the block has threads. The last slice of the array may be shorter; `count`
 * is its length. */
#pragma once

#include "array.cuh"

namespace KERNELS
{

template <class T>
struct slice {
    global<T> at;
    global<T> own; /* the thread's own element: at + threadIdx.x */
    unsigned count;
};

/* This block's slice of `length` elements. */
template <class T>
__device__ __forceinline__ slice<T> own_slice(global<T> data, uint64_t n, unsigned length)
{
    const uint64_t start = uint64_t(blockIdx.x) * length;
    const uint64_t rest = n - start;
    return {data + start, data + (start + threadIdx.x), rest < length ? unsigned(rest) : length};
}

/* One level of a tree: each of the first `stride` threads merges in the element `stride` further
 * on, if there is one. Each thread keeps its own value in a register, so that only its partner's is
 * loaded. If Whole, the slice is a full data block and no bounds are checked. */
template <class Fold, bool Whole = false, class T>
__device__ __forceinline__ void fold_level(slice<T> x, T &value, unsigned stride)
{
    const unsigned tid = threadIdx.x;
    if (tid < stride && (Whole || tid + stride < x.count))
        x.own[0] = value = Fold::merge(value, x.own[stride]);
}

/* The thread's own element of a slice of one data block, or the identity beyond its end. */
template <class Fold, class T>
__device__ __forceinline__ T own_element(slice<T> x)
{
    return threadIdx.x < x.count ? x.own[0] : Fold::identity();
}

/* Fold the slice's data blocks into its first one, column by column, with `Blocks` loads in flight
 * and one store. Returns the thread's folded column. */
template <class Fold, unsigned Blocks, class T>
__device__ __forceinline__ T fold_data_blocks(slice<T> x)
{
    const unsigned tid = threadIdx.x;
    T column[Blocks];
    if (x.count == Blocks * blockDim.x) {
#pragma unroll
        for (unsigned k = 0; k < Blocks; k++)
            column[k] = x.own[k * blockDim.x];
    } else {
#pragma unroll
        for (unsigned k = 0; k < Blocks; k++)
            column[k] = tid + k * blockDim.x < x.count ? x.own[k * blockDim.x] : Fold::identity();
    }
#pragma unroll
    for (unsigned k = 1; k < Blocks; k++)
        column[0] = Fold::merge(column[0], column[k]);
    if (tid < x.count)
        x.own[0] = column[0];
    __syncthreads();
    return column[0];
}

/* The part of a slice that remains once its data blocks are folded into the first. */
template <class T>
__device__ __forceinline__ slice<T> first_data_block(slice<T> x)
{
    return {x.at, x.own, x.count < blockDim.x ? x.count : blockDim.x};
}

template <class Fold, bool Whole, class T>
__device__ __forceinline__ void fold_strides(slice<T> x, T &value, unsigned last)
{
    for (unsigned stride = blockDim.x / 2; stride >= last; stride /= 2) {
        fold_level<Fold, Whole>(x, value, stride);
        __syncthreads();
    }
}

/* Interleaved pairs with strides from half the block down to `last`, and a block barrier after
 * every level. All slices but the array's last are whole. The two cases are distinguished here
 * because the compiler does not unswitch a loop that has a barrier. */
template <class Fold, class T>
__device__ __forceinline__ void fold_interleaved(slice<T> x, T &value, unsigned last = 1)
{
    if (x.count == blockDim.x)
        fold_strides<Fold, true>(x, value, last);
    else
        fold_strides<Fold, false>(x, value, last);
}

/* Fold the last 64 elements in the first warp. Since Volta, its lanes do not run in lockstep, so
 * each level ends with a warp barrier, which also makes the stores visible to the other lanes. A
 * block of 32 threads has no first level. */
template <class Fold, class T>
__device__ __forceinline__ void fold_last_warp(slice<T> x, T &value)
{
    if (threadIdx.x >= warp_size)
        return;
    if (blockDim.x > warp_size)
        fold_level<Fold>(x, value, warp_size);
    __syncwarp();
#pragma unroll
    for (unsigned stride = warp_size / 2; stride > 0; stride /= 2) {
        fold_level<Fold>(x, value, stride);
        __syncwarp();
    }
}

} // namespace KERNELS
