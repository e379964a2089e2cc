/* What a rung reads. Most arrays are a plain pointer, `global<const In>`; one whose elements'
 * positions matter is `positioned<In>`; any other is `gathered`: elements of a type that is known
 * at run time, at whatever strides, under a mask. All are read by load<Fold>(array, i), the state
 * of element i. */
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

/* These and `gathered` are a struct kernel_array. */
template <class In>
struct positioned {
    global<const In> at;
    uint64_t first; /* not used */
    uint64_t base;
};

/* The array from position `first` on. */
struct gathered {
    global<const layout> from;
    uint64_t first, base;
};

__device__ __forceinline__ gathered operator+(gathered data, uint64_t by)
{
    return {data.from, data.first + by, data.base + by};
}

/* Where an element and its mask lie, in bytes. */
struct offsets {
    int64_t data, mask;
};

__device__ __forceinline__ uint64_t divide(uint64_t a, uint64_t b)
{
    return (a | b) >> 32 ? a / b : uint32_t(a) / uint32_t(b);
}

/* Position i of the dimensions before `end`, the last of them running fastest. */
__device__ __forceinline__ offsets offsets_of(global<const layout> from, unsigned end, uint64_t i)
{
    offsets at = {0, 0};
    for (unsigned k = end; k-- > 0;) {
        const uint64_t rest = k > 0 ? divide(i, from->shape[k]) : 0;
        const int64_t index = int64_t(i - rest * from->shape[k]);
        at.data += index * from->strides[k];
        if (from->mask)
            at.mask += index * from->mask_strides[k];
        i = rest;
    }
    return at;
}

struct loaded {
    union scalar value; /* an accumulator */
    bool there;         /* false: the mask hides it */
};

/* Out of line, and the same for all kernels: a switch over all types in every loop would make them
 * large, and slow to compile. */
static __device__ __noinline__ loaded load_gathered(global<const layout> from, uint64_t i,
                                                    enum element accumulator)
{
    const offsets at = offsets_of(from, from->dimensions, i);
    const bool there = !from->mask || from->mask[at.mask];
    const void *data = static_cast<const char *>(from->data) + at.data;
    const union scalar element = scalar_load(data, from->input);
    const union scalar converted = scalar_convert(element, from->input, from->type);
    return {scalar_convert(converted, from->type, accumulator), there};
}

template <class Fold>
__device__ __forceinline__ state_of<Fold> load(gathered data, uint64_t i)
{
    using value = value_of<Fold>;
    const loaded element = load_gathered(data.from, data.first + i, element_of<value>::value);
    return element.there ? Fold::lift(value_from<value>(element.value), data.base + i)
                         : Fold::identity();
}

} // namespace KERNELS
