/* The kernels of arrays that are not flat: one of a fold and the values that it takes in, for all
 * elements that become such values without being rounded or cut. */
#pragma once

#include "entry.cuh"
#include "ladder/21_last_block.cuh"
#include "strided.cuh"

namespace KERNELS
{

template <class Fold>
const void *strided_if(bool takes)
{
    return takes ? KERNEL_ENTRY(last_block<Fold, strided>) : nullptr;
}

template <template <class> class Fold>
const void *strided_floats(enum element input, enum element accumulator)
{
    const bool integer = element_is_integer(input);
    switch (accumulator) {
    case ELEMENT_FLOAT32:
        return strided_if<Fold<float>>(input == ELEMENT_FLOAT16 || input == ELEMENT_BFLOAT16 ||
                                       input == ELEMENT_FLOAT32);
    case ELEMENT_FLOAT64:
        return strided_if<Fold<double>>(integer || input == ELEMENT_FLOAT32 ||
                                        input == ELEMENT_FLOAT64);
    case ELEMENT_COMPLEX128:
        return strided_if<Fold<complex<double>>>(element_is_complex(input));
    default:
        return nullptr;
    }
}

/* Unsigned64 is what values of uint64 are folded as. */
template <template <class> class Fold, class Unsigned64 = uint64_t>
const void *strided_all(enum element input, enum element accumulator)
{
    const bool integer = element_is_integer(input);
    switch (accumulator) {
    case ELEMENT_INT64:
        return strided_if<Fold<int64_t>>(integer);
    case ELEMENT_UINT64:
        return strided_if<Fold<Unsigned64>>(
            std::is_same_v<Unsigned64, int64_t> ? integer : input == ELEMENT_UINT64);
    default:
        return strided_floats<Fold>(input, accumulator);
    }
}

} // namespace KERNELS
