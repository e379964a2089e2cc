/* Kernels along axes that know what type elements are, where those of strided_entry.cuh find it out
 * as they run: of the folds and the types that are asked for most. Loads are then as wide as they
 * come, and values are no wider than they have to be. */
#pragma once

#include "entry.cuh"
#include "reductions.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* Kernel<Fold, In>::entry() is a kernel's address; a fold's values are what the accumulator is. */
template <template <class, class> class Kernel, template <class> class Fold>
const void *of_type(enum element input, enum element accumulator)
{
    switch (accumulator) {
    case ELEMENT_FLOAT32:
        switch (input) {
        case ELEMENT_FLOAT16:
            return Kernel<Fold<float>, float16>::entry();
        case ELEMENT_BFLOAT16:
            return Kernel<Fold<float>, bfloat16>::entry();
        case ELEMENT_FLOAT32:
            return Kernel<Fold<float>, float>::entry();
        default:
            return nullptr;
        }
    case ELEMENT_FLOAT64:
        return input == ELEMENT_FLOAT64 ? Kernel<Fold<double>, double>::entry() : nullptr;
    case ELEMENT_INT64:
        return input == ELEMENT_INT8 ? Kernel<Fold<int64_t>, int8_t>::entry() : nullptr;
    default:
        return nullptr;
    }
}

/* The same of spreads, which are of float64 where elements are integers. */
template <template <class, class> class Kernel>
const void *variance_of_type(enum element input, enum element accumulator)
{
    if (input == ELEMENT_INT8)
        return accumulator == ELEMENT_FLOAT64 ? Kernel<variance<double>, int8_t>::entry() : nullptr;
    return of_type<Kernel, variance>(input, accumulator);
}

template <template <class, class> class Kernel>
const void *of_fold_and_type(enum fold fold, enum element input, enum element accumulator)
{
    switch (fold) {
    case FOLD_sum: /* means of integers are of float64 */
        if (input == ELEMENT_INT8 && accumulator == ELEMENT_FLOAT64)
            return Kernel<sum<double>, int8_t>::entry();
        return of_type<Kernel, sum>(input, accumulator);
    case FOLD_min:
        return of_type<Kernel, min>(input, accumulator);
    case FOLD_max:
        return of_type<Kernel, max>(input, accumulator);
    case FOLD_argmin:
        return of_type<Kernel, argmin>(input, accumulator);
    case FOLD_argmax:
        return of_type<Kernel, argmax>(input, accumulator);
    case FOLD_variance:
        return variance_of_type<Kernel>(input, accumulator);
    default:
        return nullptr;
    }
}

} // namespace KERNELS
