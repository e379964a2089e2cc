/* The addresses of kernels by the type of the elements that are added. */
#pragma once

#include "../elements.cuh"

namespace KERNELS
{

/* What `entry` has for a floating-point type, given a value of it. */
template <class Entry>
const void *of_floating_input(enum element input, Entry entry)
{
    switch (input) {
    case ELEMENT_FLOAT16:
        return entry(float16());
    case ELEMENT_BFLOAT16:
        return entry(bfloat16());
    case ELEMENT_FLOAT32:
        return entry(float());
    case ELEMENT_FLOAT64:
        return entry(double());
    case ELEMENT_COMPLEX64:
        return entry(complex<float>());
    case ELEMENT_COMPLEX128:
        return entry(complex<double>());
    default:
        return nullptr;
    }
}

template <class Entry>
const void *of_input(enum element input, Entry entry)
{
    if (input == ELEMENT_INT64)
        return entry(int64_t());
    if (input == ELEMENT_UINT64)
        return entry(uint64_t());
    return of_floating_input(input, entry);
}

} // namespace KERNELS
