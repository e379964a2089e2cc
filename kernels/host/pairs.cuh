/* Which types elements are converted to by loops themselves. */
#pragma once

#include "../elements.cuh"

namespace KERNELS
{
namespace
{

constexpr unsigned pair_of(enum element input, enum element accumulator)
{
    return unsigned(input) * ELEMENTS + unsigned(accumulator);
}

} // namespace
} // namespace KERNELS

/* Pairs of elements and accumulators: ENTRY(enumerator, type, enumerator, type). The smallest
 * accumulators that hold all elements, ... */
#define OWN_ACCUMULATORS(ENTRY)                                                                    \
    ENTRY(BOOL, boolean, INT32, int32_t)                                                           \
    ENTRY(INT8, int8_t, INT32, int32_t)                                                            \
    ENTRY(INT16, int16_t, INT32, int32_t)                                                          \
    ENTRY(INT32, int32_t, INT32, int32_t)                                                          \
    ENTRY(INT64, int64_t, INT64, int64_t)                                                          \
    ENTRY(UINT8, uint8_t, INT32, int32_t)                                                          \
    ENTRY(UINT16, uint16_t, INT32, int32_t)                                                        \
    ENTRY(UINT32, uint32_t, INT64, int64_t)                                                        \
    ENTRY(UINT64, uint64_t, UINT64, uint64_t)                                                      \
    ENTRY(FLOAT16, float16, FLOAT32, float)                                                        \
    ENTRY(BFLOAT16, bfloat16, FLOAT32, float)                                                      \
    ENTRY(FLOAT32, float, FLOAT32, float)                                                          \
    ENTRY(FLOAT64, double, FLOAT64, double)                                                        \
    ENTRY(COMPLEX64, complex<float>, COMPLEX64, complex<float>)                                    \
    ENTRY(COMPLEX128, complex<double>, COMPLEX128, complex<double>)

/* ... and those that sums and means ask for. */
#define WIDER_ACCUMULATORS(ENTRY)                                                                  \
    ENTRY(BOOL, boolean, INT64, int64_t)                                                           \
    ENTRY(INT8, int8_t, INT64, int64_t)                                                            \
    ENTRY(INT16, int16_t, INT64, int64_t)                                                          \
    ENTRY(INT32, int32_t, INT64, int64_t)                                                          \
    ENTRY(UINT8, uint8_t, UINT64, uint64_t)                                                        \
    ENTRY(UINT16, uint16_t, UINT64, uint64_t)                                                      \
    ENTRY(UINT32, uint32_t, UINT64, uint64_t)                                                      \
    ENTRY(BOOL, boolean, FLOAT64, double)                                                          \
    ENTRY(INT8, int8_t, FLOAT64, double)                                                           \
    ENTRY(INT16, int16_t, FLOAT64, double)                                                         \
    ENTRY(INT32, int32_t, FLOAT64, double)                                                         \
    ENTRY(INT64, int64_t, FLOAT64, double)                                                         \
    ENTRY(UINT8, uint8_t, FLOAT64, double)                                                         \
    ENTRY(UINT16, uint16_t, FLOAT64, double)                                                       \
    ENTRY(UINT32, uint32_t, FLOAT64, double)                                                       \
    ENTRY(UINT64, uint64_t, FLOAT64, double)                                                       \
    ENTRY(FLOAT32, float, FLOAT64, double)
