/* From the enumerators of types to the types: which ones elements are converted to by loops
 * themselves, and visits with those that were asked for. */
#pragma once

#include "../accumulators.cuh"

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

namespace KERNELS
{
namespace
{

template <class T>
struct tag {
    using type = T;
};

template <class Tag>
using type_in = typename Tag::type;

constexpr unsigned pair_of(enum element input, enum element accumulator)
{
    return unsigned(input) * ELEMENTS + unsigned(accumulator);
}

/* Visits return pointers; of other types these are NULL. */
#define VISIT(T) visit(tag<T>())

template <class Visit>
auto visit_floats(enum element accumulator, Visit visit) -> decltype(VISIT(float))
{
    switch (accumulator) {
        ACCUMULATORS_floats(VISIT) default : return nullptr;
    }
}

template <class Visit>
auto visit_all(enum element accumulator, Visit visit) -> decltype(VISIT(float))
{
    switch (accumulator) {
        ACCUMULATORS_all(VISIT) default : return nullptr;
    }
}

template <class Visit>
auto visit_real_floats(enum element input, Visit visit) -> decltype(VISIT(float))
{
    switch (input) {
    case ELEMENT_FLOAT16:
        return VISIT(float16);
    case ELEMENT_BFLOAT16:
        return VISIT(bfloat16);
    case ELEMENT_FLOAT32:
        return VISIT(float);
    case ELEMENT_FLOAT64:
        return VISIT(double);
    default:
        return nullptr;
    }
}

template <class Visit>
auto visit_elements(enum element input, Visit visit) -> decltype(visit(tag<float>(), tag<float>()))
{
    switch (input) {
#define VISIT_ELEMENT(IN, In, ACC, V)                                                              \
    case ELEMENT_##IN:                                                                             \
        return visit(tag<In>(), tag<V>());
        OWN_ACCUMULATORS(VISIT_ELEMENT)
    default:
        return nullptr;
    }
}

/* Of elements and accumulators: those that are the smallest, and wider ones. */
template <class Own, class Wider>
auto visit_pairs(enum element input, enum element accumulator, Own own, Wider wider)
    -> decltype(own(tag<float>(), tag<float>()))
{
    switch (pair_of(input, accumulator)) {
#define VISIT_OWN(IN, In, ACC, V)                                                                  \
    case pair_of(ELEMENT_##IN, ELEMENT_##ACC):                                                     \
        return own(tag<In>(), tag<V>());
        OWN_ACCUMULATORS(VISIT_OWN)
#define VISIT_WIDER(IN, In, ACC, V)                                                                \
    case pair_of(ELEMENT_##IN, ELEMENT_##ACC):                                                     \
        return wider(tag<In>(), tag<V>());
        WIDER_ACCUMULATORS(VISIT_WIDER)
    default:
        return nullptr;
    }
}

} // namespace
} // namespace KERNELS
