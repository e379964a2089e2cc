/* The grid-stride loop: a grid of any size covers an array of any length, and neighboring threads
 * read neighboring elements at every step. */
#pragma once

#include "array.cuh"

namespace KERNELS
{

/* Fold elements i and i + pitch; those beyond the array's end count as the identity. */
template <class Fold, class Array>
__device__ __forceinline__ state_of<Fold> fold_pair(Array data, uint64_t n, uint64_t i,
                                                    uint64_t pitch)
{
    if (i >= n)
        return Fold::identity();
    const state_of<Fold> first = load<Fold>(data, i);
    return i + pitch < n ? Fold::merge(first, load<Fold>(data, i + pitch)) : first;
}

/* Fold this thread's share of the array, two elements per step. */
template <class Fold, class Array>
__device__ __forceinline__ state_of<Fold> fold_grid_stride(Array data, uint64_t n)
{
    const unsigned block = blockDim.x;
    const uint64_t step = uint64_t(gridDim.x) * block * 2;
    state_of<Fold> value = Fold::identity();
    for (uint64_t i = uint64_t(blockIdx.x) * block * 2 + threadIdx.x; i < n; i += step)
        value = Fold::merge(value, fold_pair<Fold>(data, n, i, block));
    return value;
}

} // namespace KERNELS
