/* The rungs that work in shared memory: a tile holds one accumulator a thread, and the trees here
 * fold it into its first element. Every element of the tile is written before it is read: what lies
 * past the array's end is the op's identity.
 *
 * The block size is a template parameter where it is a rung's idea or pays: with one that is only
 * known at run time, rung 11's modulo is a division and runs at less than half the speed. A block
 * size of 0 stands for the one of the launch. */
#pragma once

#include "grid_stride.cuh"

namespace KERNELS
{

template <unsigned Block>
__device__ __forceinline__ unsigned block_size()
{
    return Block ? Block : blockDim.x;
}

/* A tile with one value of each thread, ready to be folded. */
template <class T>
__device__ __forceinline__ shared<T> make_tile(T value)
{
    const shared<T> x = block_memory<T>();
    x[threadIdx.x] = value;
    __syncthreads();
    return x;
}

/* The block's stretch of the array: one element a thread. */
template <class Fold, unsigned Block = 0, class Array>
__device__ __forceinline__ shared<state_of<Fold>> load_tile(Array data, uint64_t n)
{
    const uint64_t start = uint64_t(blockIdx.x) * block_size<Block>();
    return make_tile(threadIdx.x < n - start ? load<Fold>(data, start + threadIdx.x)
                                             : Fold::identity());
}

/* Two elements a thread, a block apart, folded on the way in. */
template <class Fold, unsigned Block = 0, class Array>
__device__ __forceinline__ shared<state_of<Fold>> load_two_tiles(Array data, uint64_t n)
{
    const uint64_t start = uint64_t(blockIdx.x) * block_size<Block>() * 2;
    return make_tile(fold_pair<Fold>(data + start, n - start, threadIdx.x, block_size<Block>()));
}

/* One level of a tree: the first `stride` threads each fold in the element `stride` further on. */
template <class Fold, class T>
__device__ __forceinline__ void fold_level(shared<T> x, unsigned stride)
{
    const unsigned tid = threadIdx.x;
    if (tid < stride)
        x[tid] = Fold::merge(x[tid], x[tid + stride]);
}

/* Sequential addressing, from half the block down to `last`, with a barrier of the whole block
 * after every level. */
template <class Fold, unsigned Block = 0, class T>
__device__ __forceinline__ void fold_sequential(shared<T> x, unsigned last = 1)
{
    for (unsigned stride = block_size<Block>() / 2; stride >= last; stride /= 2) {
        fold_level<Fold>(x, stride);
        __syncthreads();
    }
}

/* The last 64 elements by the first warp alone, with barriers of that warp: one between a level's
 * stores and the loads of the next, one between those loads and the stores that follow. All lanes
 * work at every level; the upper ones' results are never used, and cost nothing. A block of 32
 * lacks the first level. */
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

/* The whole tree for a block of `Block` threads, written out by the compiler. */
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
