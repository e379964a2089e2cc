/* What a rung reads. Most arrays are a plain pointer, `global<const In>`; one whose elements'
 * positions matter is `positioned<In>`. The state of element i of a plain one is
 * load<Fold>(array, i). What lies otherwise, or has a mask, is read as it is (strided.cuh) or
 * copied first (working_copy.cuh). And what a block leaves for the next pass. */
#pragma once

#include "fold.cuh"

#include "common/layout.h"

namespace KERNELS
{

template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> load(global<const In> data, uint64_t i)
{
    return Fold::lift(value_of<Fold>(data[i]), i);
}

/* A struct kernel_array. */
template <class In>
struct positioned {
    global<const In> at;
    uint64_t base;
};

/* Where an element and its mask lie, in bytes. */
struct offsets {
    int64_t data, mask;
};

/* Position i of the dimensions before `end`, the last of them running fastest. */
template <class Layout>
__device__ __forceinline__ offsets offsets_of(const Layout &from, unsigned end, uint64_t i)
{
    offsets at = {0, 0};
#pragma unroll 1 /* divisions are large, dimensions few */
    for (unsigned k = end; k-- > 0;) {
        const uint64_t rest = k > 0 ? i / from.shape[k] : 0;
        const int64_t index = int64_t(i - rest * from.shape[k]);
        at.data += index * from.strides[k];
        if (from.mask)
            at.mask += index * from.mask_strides[k];
        i = rest;
    }
    return at;
}

/* Thread 0's value becomes the block's partial; what is in memory is read by that thread alone. */
template <class T, class Value>
__device__ __forceinline__ void store_partial(global<T> partials, const Value &value)
{
    if (threadIdx.x == 0)
        partials[blockIdx.x] = value;
}

} // namespace KERNELS
