/* The rungs that work in shared memory: a tile holds one accumulator a thread, and the trees here fold it into its first
 * element. Every element of the tile is written before it is read: what lies past the array's end is the op's identity. */
#pragma once

#include "grid_stride.cuh"

namespace KERNELS
{

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
template <class Op, class Acc, class In>
__device__ __forceinline__ shared<Acc> load_tile(global<const In> data, uint64_t n)
{
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    return make_tile(i < n ? Acc(data[i]) : Op::template identity<Acc>());
}

/* Two elements a thread, a block apart, folded on the way in. */
template <class Op, class Acc, class In>
__device__ __forceinline__ shared<Acc> load_two_tiles(global<const In> data, uint64_t n)
{
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x * 2 + threadIdx.x;
    return make_tile(fold_pair<Op, Acc>(data, n, i, blockDim.x));
}

/* One level of a tree: the first `stride` threads each fold in the element `stride` further on. */
template <class Op, class T>
__device__ __forceinline__ void fold_level(shared<T> x, unsigned stride)
{
    const unsigned tid = threadIdx.x;
    if (tid < stride)
        x[tid] = Op::combine(x[tid], x[tid + stride]);
}

/* Sequential addressing, from half the block down to `last`, with a barrier of the whole block after every level. */
template <class Op, class T>
__device__ __forceinline__ void fold_sequential(shared<T> x, unsigned last = 1)
{
    for (unsigned stride = blockDim.x / 2; stride >= last; stride /= 2) {
        fold_level<Op>(x, stride);
        __syncthreads();
    }
}

/* The last 64 elements by the first warp alone, with barriers of that warp. A block of 32 lacks the first level. */
template <class Op, class T>
__device__ __forceinline__ void fold_last_warp(shared<T> x)
{
    if (threadIdx.x >= warp_size)
        return;
    if (blockDim.x > warp_size) {
        fold_level<Op>(x, warp_size);
        __syncwarp();
    }
#pragma unroll
    for (unsigned stride = warp_size / 2; stride > 0; stride /= 2) {
        fold_level<Op>(x, stride);
        __syncwarp();
    }
}

/* The whole tree for a block of `Block` threads, written out by the compiler. */
template <class Op, unsigned Block, class T>
__device__ __forceinline__ void fold_complete(shared<T> x)
{
#pragma unroll
    for (unsigned stride = Block / 2; stride > warp_size; stride /= 2) {
        fold_level<Op>(x, stride);
        __syncthreads();
    }
    fold_last_warp<Op>(x);
}

} // namespace KERNELS
