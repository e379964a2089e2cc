/* The arrays that rungs read: a plain pointer, `global<const In>`, or a `positioned<In>` if the
 * elements' positions matter. load<Fold>(array, i) is the state of element i of a plain array.
 * Strided and masked arrays are read in place (strided.cuh) or copied first (working_copy.cuh). */
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

/* Counterpart of struct kernel_array. */
template <class In>
struct positioned {
    global<const In> at;
    uint64_t base;
};

/* Byte offsets of an element and of its mask. */
struct offsets {
    int64_t data, mask;
};

/* Byte offsets of element i, in C order, of the dimensions before `end`. */
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

/* Store thread 0's value as the block's partial result. */
template <class T, class Value>
__device__ __forceinline__ void store_partial(global<T> partials, const Value &value)
{
    if (threadIdx.x == 0)
        partials[blockIdx.x] = value;
}

} // namespace KERNELS
