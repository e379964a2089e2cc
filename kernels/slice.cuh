/* The rungs that work in place in global memory: how a block finds its slice of the array, and the
 * steps that several of these rungs share. A slice is `blocks` data blocks long, each of as many
 * elements as the block has threads; the last slice of the array is shorter, and `count` says how
 * short. */
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

/* The slice of `length` elements that belongs to this block. */
template <class T>
__device__ __forceinline__ slice<T> own_slice(global<T> data, uint64_t n, unsigned length)
{
    const uint64_t start = uint64_t(blockIdx.x) * length;
    const uint64_t rest = n - start;
    return {data + start, data + (start + threadIdx.x), rest < length ? unsigned(rest) : length};
}

/* One level of a tree: the first `stride` threads each fold in the element `stride` further on,
 * where there is one. Each thread's own value is kept in a register as well, so that only its
 * partner's has to be read. `Whole` says that the slice is a whole data block and nothing has to be
 * tested. */
template <class Fold, bool Whole = false, class T>
__device__ __forceinline__ void fold_level(slice<T> x, T &value, unsigned stride)
{
    const unsigned tid = threadIdx.x;
    if (tid < stride && (Whole || tid + stride < x.count))
        x.own[0] = value = Fold::merge(value, x.own[stride]);
}

/* The thread's own element of a slice that is one data block long, or the identity beyond its end.
 */
template <class Fold, class T>
__device__ __forceinline__ T own_element(slice<T> x)
{
    return threadIdx.x < x.count ? x.own[0] : Fold::identity();
}

/* Folds the slice's data blocks onto its first one, column by column: `Blocks` loads in flight, one
 * store. Returns the thread's own column, folded. */
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

/* What is left of a slice once its data blocks are folded onto the first. */
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

/* Interleaved pairs from half the block down to `last`, with a barrier of the whole block after
 * every level. All slices but the array's last are whole; the compiler will not split a loop with a
 * barrier in it, so the two cases are told apart here. */
template <class Fold, class T>
__device__ __forceinline__ void fold_interleaved(slice<T> x, T &value, unsigned last = 1)
{
    if (x.count == blockDim.x)
        fold_strides<Fold, true>(x, value, last);
    else
        fold_strides<Fold, false>(x, value, last);
}

/* The last 64 elements, by the first warp alone. Its lanes do not run in lockstep since Volta, so
 * each level ends at a barrier of the warp, which also makes the stores visible to the other lanes.
 * A block of 32 lacks the first level. */
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
