/* Maps type enumerators to types: element types, and the accumulators to which loops convert. */
#pragma once

#include "../accumulators.cuh"

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

/* ---- properties of types ---- */

/* The real type and the number of parts of a value. */
template <class V>
struct parts_of {
    using type = V;
    static constexpr unsigned count = 1;
};

template <class T>
struct parts_of<complex<T>> {
    using type = T;
    static constexpr unsigned count = 2;
};

template <class V>
using real_of = typename parts_of<V>::type;

template <class V>
constexpr bool is_complex = parts_of<V>::count > 1;

template <class In>
constexpr bool is_truth = std::is_same_v<In, boolean>;

template <class In>
constexpr bool is_float = !std::is_integral_v<In> && !is_truth<In>;

/* The accumulator of sums of integers and truth values. */
template <class In>
using wide_integer = std::conditional_t<is_truth<In> || std::is_signed_v<In>, int64_t, uint64_t>;

/* ---- visits ---- */

/* Visits return pointers, NULL for unsupported types. */
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

/* Visits an element type and the smallest accumulator that holds it. */
template <class Visit>
auto visit_elements(enum element input, Visit visit) -> decltype(visit(tag<float>(), tag<float>()))
{
    switch (input) {
#define VISIT_ELEMENT(NAME, In, V)                                                                 \
    case ELEMENT_##NAME:                                                                           \
        return visit(tag<In>(), tag<V>());
        VISIT_ELEMENT(BOOL, boolean, int32_t)
        VISIT_ELEMENT(INT8, int8_t, int32_t)
        VISIT_ELEMENT(INT16, int16_t, int32_t)
        VISIT_ELEMENT(INT32, int32_t, int32_t)
        VISIT_ELEMENT(INT64, int64_t, int64_t)
        VISIT_ELEMENT(UINT8, uint8_t, int32_t)
        VISIT_ELEMENT(UINT16, uint16_t, int32_t)
        VISIT_ELEMENT(UINT32, uint32_t, int64_t)
        VISIT_ELEMENT(UINT64, uint64_t, uint64_t)
        VISIT_ELEMENT(FLOAT16, float16, float)
        VISIT_ELEMENT(BFLOAT16, bfloat16, float)
        VISIT_ELEMENT(FLOAT32, float, float)
        VISIT_ELEMENT(FLOAT64, double, double)
        VISIT_ELEMENT(COMPLEX64, complex<float>, complex<float>)
        VISIT_ELEMENT(COMPLEX128, complex<double>, complex<double>)
    default:
        return nullptr;
    }
}

template <class Visit>
auto visit_real_floats(enum element input, Visit visit) -> decltype(VISIT(float))
{
    return visit_elements(input, [=](auto in, auto) -> decltype(VISIT(float)) {
        using In = type_in<decltype(in)>;
        if constexpr (is_float<In> && !is_complex<In>)
            return visit(in);
        else
            return nullptr;
    });
}

/* Visits an element type and an accumulator, with `narrow` for the smallest or `wider` for wider
 * ones. */
template <class Narrow, class Wider>
auto visit_pairs(enum element input, enum element accumulator, Narrow narrow, Wider wider)
    -> decltype(narrow(tag<float>(), tag<float>()))
{
    return visit_elements(input, [=](auto in, auto v) -> decltype(narrow(in, v)) {
        using In = type_in<decltype(in)>;
        if (accumulator == element_of<type_in<decltype(v)>>::value)
            return narrow(in, v);
        if constexpr (!is_float<In> && sizeof(In) < sizeof(int64_t))
            if (accumulator == element_of<wide_integer<In>>::value)
                return wider(in, tag<wide_integer<In>>());
        if constexpr (!is_float<In> || std::is_same_v<In, float>)
            if (accumulator == ELEMENT_FLOAT64)
                return wider(in, tag<double>());
        return nullptr;
    });
}

/* Visits the unsigned integer type of `size` bytes. */
template <class Visit>
auto visit_words(size_t size, Visit visit)
{
    switch (size) {
    case 1:
        return visit(uint8_t());
    case 2:
        return visit(uint16_t());
    case 4:
        return visit(uint32_t());
    default:
        return visit(uint64_t());
    }
}

} // namespace
} // namespace KERNELS
