/* What the in-place rungs fold: a copy of the array in the accumulator's type. */
#pragma once

#include "array.cuh"

namespace KERNELS
{

template <class Fold, class Array>
__global__ void working_copy(Array data, uint64_t n, global<state_of<Fold>> target)
{
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
        target[i] = load<Fold>(data, i);
}

} // namespace KERNELS
