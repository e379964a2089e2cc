/* Elements converted on their way into a buffer, for the compiler to do in vector registers: to the
 * type that was asked for and from there to its accumulator. */
#pragma once

#include "convert.cuh"

#include "common/moves.h"

namespace KERNELS
{
namespace
{

/* With constant types, what is left of the three calls is the conversion itself. */
template <enum element In, enum element Type, enum element Accumulator, size_t Step, size_t Width>
void convert(const char *__restrict__ from, uint64_t n, char *__restrict__ to)
{
    for (uint64_t i = 0; i < n; i++) {
        const union scalar value = scalar_convert(scalar_load(from + i * Step, In), In, Type);
        scalar_store(to + i * Width, scalar_convert(value, Type, Accumulator), Accumulator);
    }
}

#define CONVERT(IN, In, TYPE, ACC, Acc)                                                            \
    case ELEMENT_##TYPE:                                                                           \
        return convert<ELEMENT_##IN, ELEMENT_##TYPE, ELEMENT_##ACC, sizeof(In), sizeof(Acc)>;

#define CONVERTERS(IN, In, name, member)                                                           \
    convert_elements *converter_of_##IN(enum element type)                                         \
    {                                                                                              \
        switch (type) {                                                                            \
            CONVERT(IN, In, BOOL, INT32, int32_t)                                                  \
            CONVERT(IN, In, INT8, INT32, int32_t)                                                  \
            CONVERT(IN, In, INT16, INT32, int32_t)                                                 \
            CONVERT(IN, In, INT32, INT32, int32_t)                                                 \
            CONVERT(IN, In, INT64, INT64, int64_t)                                                 \
            CONVERT(IN, In, UINT8, INT32, int32_t)                                                 \
            CONVERT(IN, In, UINT16, INT32, int32_t)                                                \
            CONVERT(IN, In, UINT32, INT64, int64_t)                                                \
            CONVERT(IN, In, UINT64, UINT64, uint64_t)                                              \
            CONVERT(IN, In, FLOAT16, FLOAT32, float)                                               \
            CONVERT(IN, In, BFLOAT16, FLOAT32, float)                                              \
            CONVERT(IN, In, FLOAT32, FLOAT32, float)                                               \
            CONVERT(IN, In, FLOAT64, FLOAT64, double)                                              \
            CONVERT(IN, In, COMPLEX64, COMPLEX64, complex64)                                       \
            CONVERT(IN, In, COMPLEX128, COMPLEX128, complex128)                                    \
        default:                                                                                   \
            return nullptr;                                                                        \
        }                                                                                          \
    }
ELEMENT_TYPES(CONVERTERS)

} // namespace
} // namespace KERNELS
