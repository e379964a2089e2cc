/* Building blocks of the rungs that reduce in shared memory: a tile holds one accumulator per
 * thread, and the trees here fold it into its first element. Every element of the tile is written
 * before it is read; elements past the array's end are the identity.
 *
 * The block size is a template parameter. If it is known only at run time, rung 11's modulo is a
 * division, which more than halves its speed, and rungs 12 to 15 reach 0.92 of theirs. Rungs 12 to
 * 15 are compiled with the default size only; a block size of 0 means that of the launch. */
#pragma once

#include "grid_stride.cuh"

namespace KERNELS
{

template <unsigned Block>
__device__ __forceinline__ unsigned block_size()
{
    return Block ? Block : blockDim.x;
}

/* A tile of one value per thread, ready to be folded. */
template <class T>
__device__ __forceinline__ shared<T> make_tile(T value)
{
    const shared<T> x = block_memory<T>();
    x[threadIdx.x] = value;
    __syncthreads();
    return x;
}

/* Load the block's part of the array, one element per thread. */
template <class Fold, unsigned Block = 0, class Array>
__device__ __forceinline__ shared<state_of<Fold>> load_tile(Array data, uint64_t n)
{
    const uint64_t start = uint64_t(blockIdx.x) * block_size<Block>();
    return make_tile(threadIdx.x < n - start ? load<Fold>(data, start + threadIdx.x)
                                             : Fold::identity());
}

/* Load two elements per thread, one block size apart, and merge them. */
template <class Fold, unsigned Block = 0, class Array>
__device__ __forceinline__ shared<state_of<Fold>> load_two_tiles(Array data, uint64_t n)
{
    const uint64_t start = uint64_t(blockIdx.x) * block_size<Block>() * 2;
    return make_tile(fold_pair<Fold>(data + start, n - start, threadIdx.x, block_size<Block>()));
}

/* One level of a tree: the first `stride` threads merge in the element `stride` further on. */
template <class Fold, class T>
__device__ __forceinline__ void fold_level(shared<T> x, unsigned stride)
{
    const unsigned tid = threadIdx.x;
    if (tid < stride)
        x[tid] = Fold::merge(x[tid], x[tid + stride]);
}

/* Sequential addressing, with strides from half the block down to `last`, and a block barrier after
 * every level. */
template <class Fold, unsigned Block = 0, class T>
__device__ __forceinline__ void fold_sequential(shared<T> x, unsigned last = 1)
{
    for (unsigned stride = block_size<Block>() / 2; stride >= last; stride /= 2) {
        fold_level<Fold>(x, stride);
        __syncthreads();
    }
}

/* Fold the last 64 elements in the first warp, with warp barriers between a level's stores and the
 * loads of the next, and between those loads and the following stores. All lanes work at every
 * level; the upper lanes' results are never used, and cost nothing. A block of 32 threads has no
 * first level. */
template <class Fold, unsigned Block = 0, class T>
__device__ __forceinline__ void fold_last_warp(shared<T> x)
{
    const unsigned tid = threadIdx.x;
    if (tid >= warp_size)
        return;
    T value = block_size<Block>() > warp_size ? Fold::merge(x[tid], x[tid + warp_size]) : x[tid];
#pragma unroll
    for (unsigned stride = warp_size / 2; stride > 0; stride /= 2) {
        x[tid] = value;
        __syncwarp();
        value = Fold::merge(value, x[tid ^ stride]);
        __syncwarp();
    }
    x[tid] = value;
}

/* The whole tree for a block of `Block` threads, unrolled by the compiler. */
template <class Fold, unsigned Block = 0, class T>
__device__ __forceinline__ void fold_complete(shared<T> x)
{
#pragma unroll
    for (unsigned stride = block_size<Block>() / 2; stride > warp_size; stride /= 2) {
        fold_level<Fold>(x, stride);
        __syncthreads();
    }
    fold_last_warp<Fold, Block>(x);
}

} // namespace KERNELS
