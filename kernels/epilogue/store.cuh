/* Store results in an array of any strides and another type. */
#pragma once

#include "../array.cuh"

namespace KERNELS
{

/* Values have `bytes` bytes each. One kernel for all types, whose switches are slow to compile;
 * results are few compared with the elements. */
__global__ void store(global<const unsigned char> values, enum element type, unsigned bytes,
                      uint64_t n, SHARED_PARAMETER(layout) to)
{
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        const union scalar value = scalar_load(values + i * bytes, type);
        char *const target = static_cast<char *>(const_cast<void *>(to.data)) +
                             offsets_of(to, to.dimensions, i).data;
        scalar_store(target, scalar_convert(value, type, to.input), to.input);
    }
}

} // namespace KERNELS
