/* What a rung reads. Most arrays are a plain pointer, `global<const In>`; any other is `gathered`:
 * elements of a type that is known at run time, at whatever strides, under a mask. Both are read by
 * load<Op, Acc>(array, i), element i as an accumulator. */
#pragma once

#include "ops.cuh"

#include "common/layout.h"

namespace KERNELS
{

template <class Op, class Acc, class In>
__device__ __forceinline__ Acc load(global<const In> data, uint64_t i)
{
    return Acc(data[i]);
}

/* The array from position `first` on. */
struct gathered {
    global<const layout> from;
    uint64_t first;
};

__device__ __forceinline__ gathered operator+(gathered data, uint64_t by)
{
    return {data.from, data.first + by};
}

/* Where an element and its mask lie, in bytes. */
struct place {
    int64_t data, mask;
};

__device__ __forceinline__ uint64_t divide(uint64_t a, uint64_t b)
{
    return (a | b) >> 32 ? a / b : uint32_t(a) / uint32_t(b);
}

/* Position i of the dimensions before `end`, the last of them running fastest. */
__device__ __forceinline__ place place_of(global<const layout> from, unsigned end, uint64_t i)
{
    place at = {0, 0};
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
    const place at = place_of(from, from->dimensions, i);
    const bool there = !from->mask || from->mask[at.mask];
    const void *data = static_cast<const char *>(from->data) + at.data;
    const union scalar element = scalar_load(data, from->input);
    const union scalar converted = scalar_convert(element, from->input, from->type);
    return {scalar_convert(converted, from->type, accumulator), there};
}

template <class Acc>
__device__ __forceinline__ Acc accumulator_of(union scalar value)
{
    Acc accumulator;
    memcpy(&accumulator, &value, sizeof accumulator);
    return accumulator;
}

template <class Op, class Acc>
__device__ __forceinline__ Acc load(gathered data, uint64_t i)
{
    const loaded element = load_gathered(data.from, data.first + i, element_of<Acc>::value);
    return element.there ? accumulator_of<Acc>(element.value) : Op::template identity<Acc>();
}

} // namespace KERNELS
