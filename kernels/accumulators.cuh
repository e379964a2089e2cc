/* Dispatch from an accumulator's enumerator to its C++ type. */
#pragma once

#include "fold.cuh"

namespace KERNELS
{

/* Cases of a switch over an enum element; ENTRY(type) is an expression. */
#define ACCUMULATORS_floats(ENTRY)                                                                 \
    case ELEMENT_FLOAT32:                                                                          \
        return ENTRY(float);                                                                       \
    case ELEMENT_FLOAT64:                                                                          \
        return ENTRY(double);                                                                      \
    case ELEMENT_COMPLEX64:                                                                        \
        return ENTRY(complex<float>);                                                              \
    case ELEMENT_COMPLEX128:                                                                       \
        return ENTRY(complex<double>);

#define ACCUMULATORS_all(ENTRY)                                                                    \
    ACCUMULATORS_floats(ENTRY) case ELEMENT_INT32:                                                 \
    return ENTRY(int32_t);                                                                         \
    case ELEMENT_INT64:                                                                            \
    return ENTRY(int64_t);                                                                         \
    case ELEMENT_UINT64:                                                                           \
    return ENTRY(uint64_t);

/* visit_sum(accumulator, visit), visit_prod, ...: call visit with a value of the accumulator's
 * type, if the fold supports it. */
#define VISIT(V) visit(V())
#define FOLD(name, ladder, indexed, types)                                                         \
    template <class Visit>                                                                         \
    __device__ __forceinline__ void visit_##name(enum element accumulator, Visit visit)            \
    {                                                                                              \
        switch (accumulator) {                                                                     \
            ACCUMULATORS_##types(VISIT) default : return;                                          \
        }                                                                                          \
    }
#include "common/reductions.def"
#undef VISIT

} // namespace KERNELS
