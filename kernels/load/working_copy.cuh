/* Contiguous copies of an array in the accumulator's type: for the in-place rungs, and for all
 * rungs that cannot read the array's layout or type. */
#pragma once

#include "../array.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* Copy a flat array without a mask. */
template <class In, class Acc>
__global__ void flat_copy(global<const In> data, uint64_t n, global<Acc> target)
{
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
        target[i] = Acc(data[i]);
}

/* An accumulator as words that are stored whole. */
struct gathered_words {
    uint64_t at[sizeof(union scalar) / sizeof(uint64_t)];
};

/* Copy elements of any layout and type, from position `first` on. Masked elements are replaced by
 * `fill` and, unless `valid` is null, marked by a 0 there. One kernel for all types, since their
 * switches are slow to compile. Accumulators have 8 bytes or are complex128. */
__global__ void gathered_copy(SHARED_PARAMETER(layout) from, uint64_t n, global<uint64_t> target,
                              enum element accumulator, union scalar fill,
                              global<unsigned char> valid, uint64_t first)
{
    const unsigned words = accumulator == ELEMENT_COMPLEX128 ? 2 : 1;
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {
        const offsets at = offsets_of(from, from.dimensions, first + i);
        const bool selected = !from.mask || from.mask[at.mask];
        union scalar value = fill;
        if (selected) {
            value = scalar_load(static_cast<const char *>(from.data) + at.data, from.input);
            value = scalar_convert(value, from.input, from.type);
            value = scalar_convert(value, from.type, accumulator);
        }
        gathered_words stored;
        memcpy(&stored, &value, sizeof stored);
        target[i * words] = stored.at[0];
        if (words > 1)
            target[i * words + 1] = stored.at[1];
        if (valid)
            valid[i] = selected;
    }
}

} // namespace KERNELS
