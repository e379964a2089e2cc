/* The grid-stride loop: a grid of any size covers an array of any length, and neighbouring threads
 * read neighbouring elements at every step. */
#pragma once

#include "array.cuh"

namespace KERNELS
{

/* Elements i and i + pitch, as far as the array reaches; the identity where it does not. */
template <class Fold, class Array>
__device__ __forceinline__ state_of<Fold> fold_pair(Array data, uint64_t n, uint64_t i,
                                                    uint64_t pitch)
{
    if (i >= n)
        return Fold::identity();
    const state_of<Fold> first = load<Fold>(data, i);
    return i + pitch < n ? Fold::merge(first, load<Fold>(data, i + pitch)) : first;
}

/* This thread's share of the array, two elements a step. */
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
