/* Elements as the numbers that are added exactly: float64s without a rounding. A complex element is
 * two, in turn; so is an integer of 64 bits, its upper half and its lower one. */
#pragma once

#include "../vector.cuh"

#include "common/exact_words.h"

namespace KERNELS
{

/* `bits` is what a number's significand has, `sums` how many there are, an element's numbers going
 * to them in turn. `always` windows hold whatever a number can be, from 2^always_top on downwards;
 * 0: too many would be needed. Where they are few, there are no `others`. */
template <class In>
struct exact_element;

template <class In, class Real = float>
struct exact_float {
    using real = Real;
    static constexpr enum element accumulator = ELEMENT_FLOAT32;
    static constexpr unsigned numbers = 1, sums = 1, bits = 24;
    static constexpr unsigned always = 7;
    static constexpr int always_top = 128;
    static constexpr bool others = true;

    static __device__ __forceinline__ real number(In element, unsigned)
    {
        return real(element);
    }
};

template <>
struct exact_element<bfloat16> : exact_float<bfloat16> {
    static constexpr unsigned bits = 8;
    static constexpr uint32_t exponent = 0x7f807f80, unit = 0x00800080;
};

template <>
struct exact_element<float> : exact_float<float> {
    static constexpr uint32_t exponent = 0x7f800000, unit = 0x00800000;
};

template <>
struct exact_element<float16> : exact_float<float16> {
    static constexpr unsigned bits = 11, always = 1;
    static constexpr bool others = false;
    static constexpr int always_top = 18; /* so that the window's unit is the smallest float16 */
    static constexpr uint32_t exponent = 0x7c007c00, unit = 0x04000400;
};

template <>
struct exact_element<double> : exact_float<double, double> {
    static constexpr enum element accumulator = ELEMENT_FLOAT64;
    static constexpr unsigned bits = 53, always = 0;
};

template <class T>
struct exact_element<complex<T>> {
    using real = T;
    static constexpr enum element accumulator = element_of<complex<T>>::value;
    static constexpr unsigned numbers = 2, sums = 2, bits = exact_element<T>::bits;
    static constexpr unsigned always = 0;
    static constexpr int always_top = 0;
    static constexpr bool others = true;

    static __device__ __forceinline__ T number(complex<T> element, unsigned k)
    {
        return k == 0 ? element.real : element.imag;
    }
};

template <class In>
struct exact_integer {
    using real = double;
    static constexpr enum element accumulator = ELEMENT_FLOAT64;
    static constexpr unsigned numbers = 2, sums = 1, bits = 32, always = 2;
    static constexpr int always_top = 64;
    static constexpr bool others = false;
    static constexpr uint32_t exponent = 0, unit = 0; /* all are finite */

    static __device__ __forceinline__ double number(In element, unsigned k)
    {
        return k == 0 ? double(element >> 32) * 4294967296.0 : double(uint32_t(element));
    }
};

template <>
struct exact_element<int64_t> : exact_integer<int64_t> {};

template <>
struct exact_element<uint64_t> : exact_integer<uint64_t> {};

__device__ __forceinline__ uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

__device__ __forceinline__ double double_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- packs ---- */

template <class In>
constexpr unsigned numbers_of_pack = pack<In>::size * exact_element<In>::numbers;

/* Number k of a pack, which goes to sum k % sums, as it is and as a float64. */
template <class In>
__device__ __forceinline__ typename exact_element<In>::real real_of(const pack<In> &loaded,
                                                                    unsigned k)
{
    constexpr unsigned numbers = exact_element<In>::numbers;
    return exact_element<In>::number(loaded.at[k / numbers], k % numbers);
}

template <class In>
__device__ __forceinline__ double number_of(const pack<In> &loaded, unsigned k)
{
    return double(real_of(loaded, k));
}

/* Whether there is an infinity or a NaN: adding one to an exponent that is all ones makes a carry,
 * which the sign's place takes. */
template <class In>
__device__ __forceinline__ bool all_finite(const pack<uint32_t> &words)
{
    constexpr uint32_t exponent = exact_element<In>::exponent, unit = exact_element<In>::unit;
    uint32_t seen = 0;
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        seen |= (words.at[k] & exponent) + unit;
    return !(seen & (exponent + unit) & ~exponent);
}

} // namespace KERNELS
