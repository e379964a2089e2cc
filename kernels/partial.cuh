/* What a block leaves for the next pass. */
#pragma once

#include "fold.cuh"

namespace KERNELS
{

/* Thread 0's value becomes the block's partial; what is in memory is read by that thread alone. */
template <class T, class Value>
__device__ __forceinline__ void store_partial(global<T> partials, const Value &value)
{
    if (threadIdx.x == 0)
        partials[blockIdx.x] = value;
}

} // namespace KERNELS
