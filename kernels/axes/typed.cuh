/* Kernels along axes that know what type elements are, where those of strided_entry.cuh find it out
 * as they run: of the folds and the types that are asked for most. Loads are then as wide as they
 * come, and values are no wider than they have to be. */
#pragma once

#include "../entry.cuh"
#include "../reductions.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* Of bytes, the accumulator that a fold of them has: positions, extremes and counts of 64 bits,
 * sums of 64 bits or, of means, of double precision, and variances of double precision. */
template <template <class, class> class Kernel, template <class> class Fold, class In>
const void *of_bytes(enum element accumulator, bool strided)
{
    constexpr bool averages = std::is_same_v<Fold<double>, sum<double>>,
                   spreads = std::is_same_v<Fold<double>, variance<double>>;
    if constexpr (!spreads)
        if (accumulator == ELEMENT_INT64)
            return Kernel<Fold<int64_t>, In>::entry(strided);
    if constexpr (averages || spreads)
        if (accumulator == ELEMENT_FLOAT64)
            return Kernel<Fold<double>, In>::entry(strided);
    return nullptr;
}

/* Truth values are counted, and bytes are not. */
template <template <class> class Fold>
constexpr bool counts_truth = std::is_same_v<Fold<double>, nonzero<double>>;

template <template <class, class> class Kernel, template <class> class Fold>
const void *of_numbers(enum element input, enum element accumulator, bool strided)
{
    if (input == ELEMENT_INT8)
        return of_bytes<Kernel, Fold, int8_t>(accumulator, strided);
    if (accumulator == ELEMENT_FLOAT64)
        return input == ELEMENT_FLOAT64 ? Kernel<Fold<double>, double>::entry(strided) : nullptr;
    if (accumulator != ELEMENT_FLOAT32)
        return nullptr;
    switch (input) {
    case ELEMENT_FLOAT16:
        return Kernel<Fold<float>, float16>::entry(strided);
    case ELEMENT_BFLOAT16:
        return Kernel<Fold<float>, bfloat16>::entry(strided);
    case ELEMENT_FLOAT32:
        return Kernel<Fold<float>, float>::entry(strided);
    default:
        return nullptr;
    }
}

/* Kernel<Fold, In>::entry(strided) is a kernel's address; a fold's values are what the accumulator
 * is. */
template <template <class, class> class Kernel, template <class> class Fold>
const void *of_type(enum element input, enum element accumulator, bool strided)
{
    if constexpr (counts_truth<Fold> || std::is_same_v<Fold<double>, sum<double>>)
        if (input == ELEMENT_BOOL)
            return of_bytes<Kernel, Fold, boolean>(accumulator, strided);
    if constexpr (!counts_truth<Fold>)
        return of_numbers<Kernel, Fold>(input, accumulator, strided);
    return nullptr;
}

} // namespace KERNELS
