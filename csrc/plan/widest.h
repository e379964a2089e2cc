/* Accumulators that hold more than a plan's, so that kernels are few. A result is rounded to its
 * type only once, and integers wrap in the end as they would have on the way. */
#pragma once

#include "common/element.h"

/* Elements are gathered into these alone. */
static inline enum element accumulator_widest(enum element accumulator)
{
    switch (accumulator) {
    case ELEMENT_INT32:
        return ELEMENT_INT64;
    case ELEMENT_FLOAT32:
        return ELEMENT_FLOAT64;
    case ELEMENT_COMPLEX64:
        return ELEMENT_COMPLEX128;
    default:
        return accumulator;
    }
}

/* Rows are folded in the same, and in float32, which wants to be fast. */
static inline enum element accumulator_of_rows(enum element accumulator)
{
    return accumulator == ELEMENT_FLOAT32 ? accumulator : accumulator_widest(accumulator);
}

/* A type that devices copy elements to without a rounding, but for 64-bit integers beside complex
 * numbers, which are of `type`; where they are multiplied exactly. */
static inline enum element holder_of_factor(enum element input, enum element type)
{
    if (element_is_complex(type))
        return ELEMENT_COMPLEX128;
    return input == ELEMENT_INT64 || input == ELEMENT_UINT64 ? input : ELEMENT_FLOAT64;
}
