/* The terms of exact sums, which are exact float64s, for array elements and for products of two
 * elements. A complex element has two terms, and so has a 64-bit integer: its upper and its lower
 * half. A product of complex numbers has four. */
#pragma once

#include "words.cuh"

namespace KERNELS
{

/* `bits` is the number of bits in a term's significand, `lowest` the exponent of the lowest bit of
 * any term. An element's `terms` go to the `sums` in turn. `full_windows` (see windows.cuh), from
 * 2^full_top downwards, hold any term; 0 if that would take too many. `adaptive` says whether fewer
 * windows are tried first: `min_windows` suffice for terms of similar magnitude. `tests_tiles`:
 * tiles that pass a test are added in one window. This would work for most float32s too, but their
 * sums are bound by loads. */
template <class In>
struct exact_term;

/* ---- elements ---- */

template <class In, class Real = float>
struct exact_float {
    using real = Real;
    using layout = narrow_layout<1>;
    static constexpr unsigned terms = 1, sums = 1, bits = 24, min_windows = 1, full_windows = 7;
    static constexpr int full_top = 128, lowest = layout::lowest;
    static constexpr bool adaptive = true, tests_tiles = false;

    static __device__ __forceinline__ real term(In element, unsigned)
    {
        return real(element);
    }
};

/* `exponent` masks the exponents in a word; `unit` is the lowest bit of each. */
template <>
struct exact_term<float> : exact_float<float> {
    static constexpr uint32_t exponent = 0x7f800000, unit = 0x00800000;
};

template <>
struct exact_term<bfloat16> : exact_float<bfloat16> {
    static constexpr unsigned bits = 8;
    static constexpr bool tests_tiles = true;
    static constexpr uint32_t exponent = 0x7f807f80, unit = 0x00800080;
};

template <>
struct exact_term<float16> : exact_float<float16> {
    static constexpr unsigned bits = 11, full_windows = 1;
    static constexpr bool adaptive = false;
    static constexpr int full_top = 18; /* makes the window's unit the smallest float16 */
    static constexpr uint32_t exponent = 0x7c007c00, unit = 0x04000400;
};

template <>
struct exact_term<double> : exact_float<double, double> {
    using layout = wide_layout<1>;
    static constexpr unsigned bits = 53, min_windows = 2, full_windows = 0;
    static constexpr int lowest = -1074;
};

template <class T>
struct exact_term<complex<T>> : exact_term<T> {
    using layout = std::conditional_t<std::is_same_v<T, float>, narrow_layout<EXACT_PARTS>,
                                      wide_layout<EXACT_PARTS>>;
    static constexpr unsigned terms = 2, sums = 2, full_windows = 0;

    static __device__ __forceinline__ T term(complex<T> element, unsigned k)
    {
        return k == 0 ? element.real : element.imag;
    }
};

template <class In>
struct exact_integer : exact_term<double> {
    static constexpr unsigned terms = 2, bits = 32, full_windows = 2;
    static constexpr int full_top = 64;
    static constexpr bool adaptive = false;
    static constexpr uint32_t exponent = 0, unit = 0; /* all are finite */

    static __device__ __forceinline__ double term(In element, unsigned k)
    {
        return k == 0 ? double(element >> 32) * 4294967296.0 : double(uint32_t(element));
    }
};

template <>
struct exact_term<int64_t> : exact_integer<int64_t> {};

template <>
struct exact_term<uint64_t> : exact_integer<uint64_t> {};

/* ---- products ---- */

template <class In>
struct exact_factor {
    using real = std::conditional_t<std::is_same_v<In, double>, double, float>;
    static constexpr unsigned products = 1, sums = 1, bits = exact_term<In>::bits;

    static __device__ __forceinline__ real first(In a, unsigned)
    {
        return real(a);
    }

    static __device__ __forceinline__ real second(In b, unsigned)
    {
        return real(b);
    }
};

/* (a + bi) (c + di) = (ac - bd) + (ad + bc)i: products number 0 to 3 are ac, ad, -bd, bc. */
template <class T>
struct exact_factor<complex<T>> {
    using real = T;
    static constexpr unsigned products = 4, sums = 2, bits = exact_term<T>::bits;

    static __device__ __forceinline__ T first(complex<T> a, unsigned k)
    {
        return k < 2 ? a.real : k == 2 ? -a.imag : a.imag;
    }

    static __device__ __forceinline__ T second(complex<T> b, unsigned k)
    {
        return k % 3 == 0 ? b.real : b.imag;
    }
};

/* A product of float64s is rounded, and its error (`has_errors`) is a float64 too if it is no
 * less than the smallest one. Products of narrower floats are exact. */
template <class In>
struct product_of {};

template <class In>
struct exact_term<product_of<In>> {
    using factor = exact_factor<In>;
    using real = double;
    using layout = products_layout<factor::sums>;
    static constexpr bool has_errors = std::is_same_v<typename factor::real, double>,
                          adaptive = true, tests_tiles = false;
    static constexpr unsigned terms = factor::products, sums = factor::sums,
                              bits = has_errors ? 53 : 2 * factor::bits,
                              min_windows = bits > 24 ? 2 : 1, full_windows = 0;
    static constexpr int full_top = 0, lowest = -1074 + WINDOW_ERROR;
};

/* ---- packs ---- */

template <class To, class From>
__device__ __forceinline__ pack<To> pack_of(const pack<From> &from)
{
    pack<To> to;
    memcpy(&to, &from, sizeof to);
    return to;
}

template <class In>
constexpr unsigned terms_of_pack = pack<In>::size * exact_term<In>::terms;

/* Term k of a pack, which belongs to sum k % sums. */
template <class In>
__device__ __forceinline__ typename exact_term<In>::real term_of(const pack<In> &loaded, unsigned k)
{
    constexpr unsigned terms = exact_term<In>::terms;
    return exact_term<In>::term(loaded.at[k / terms], k % terms);
}

/* Calls f(sum, factor, factor) for each product of two packs. */
template <class In, class Function>
__device__ __forceinline__ void each_product(const pack<In> &x, const pack<In> &y, Function f)
{
    using factor = exact_factor<In>;
#pragma unroll
    for (unsigned k = 0; k < pack<In>::size * factor::products; k++)
        f(k % factor::sums, factor::first(x.at[k / factor::products], k % factor::products),
          factor::second(y.at[k / factor::products], k % factor::products));
}

/* Whether there is no infinity or NaN: adding 1 to an exponent of all ones carries into the sign
 * bit. */
template <class In>
__device__ __forceinline__ bool all_finite(const pack<uint32_t> &words)
{
    constexpr uint32_t exponent = exact_term<In>::exponent, unit = exact_term<In>::unit;
    uint32_t seen = 0;
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        seen |= (words.at[k] & exponent) + unit;
    return !(seen & (exponent + unit) & ~exponent);
}

} // namespace KERNELS
