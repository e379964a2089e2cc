/* Pairs of elements as the products that are added exactly: of real numbers one, of complex numbers
 * four, which go to two sums in turn. */
#pragma once

#include "words.cuh"

#include "common/exact_products.h"

namespace KERNELS
{

/* How the words of products lie; as exact_layout. */
template <unsigned Sums>
struct products_layout {
    static constexpr bool narrow = false;
    static constexpr int first = 0, digits = EXACT_DIGITS;
    static constexpr unsigned part = EXACT_PRODUCTS_PART, words = part * Sums;
    static constexpr int lowest = -EXACT_POINT;
};

/* `bits` is what a product's significand has, or its upper part, where float64s multiplied leave a
 * lower one: then it `loses` something when it is rounded. */
template <class In>
struct exact_factor {
    using real = In;
    static constexpr unsigned products = 1, sums = 1;

    static __device__ __forceinline__ real first(In a, unsigned)
    {
        return a;
    }

    static __device__ __forceinline__ real second(In b, unsigned)
    {
        return b;
    }
};

/* (a + bi) (c + di) = (ac - bd) + (ad + bc)i: products number 0 to 3 are ac, ad, -bd, bc. */
template <class T>
struct exact_factor<complex<T>> {
    using real = T;
    static constexpr unsigned products = 4, sums = 2;

    static __device__ __forceinline__ T first(complex<T> a, unsigned k)
    {
        return k < 2 ? a.real : k == 2 ? -a.imag : a.imag;
    }

    static __device__ __forceinline__ T second(complex<T> b, unsigned k)
    {
        return k % 3 == 0 ? b.real : b.imag;
    }
};

template <class In>
constexpr bool product_loses = std::is_same_v<typename exact_factor<In>::real, double>;

/* As the windows' choice sees them. */
template <class In>
struct product_of {};

template <class In>
struct exact_element<product_of<In>> {
    using real = double;
    static constexpr enum element accumulator = ELEMENT_FLOAT64;
    static constexpr unsigned of_factor = exact_element<typename exact_factor<In>::real>::bits,
                              bits = product_loses<In> ? 53 : 2 * of_factor;
    static constexpr unsigned always = 0;
    static constexpr int always_top = 0;
};

/* ---- one by one ---- */

__device__ __forceinline__ struct exact_number number_of_float(float16 x)
{
    return exact_decode(x.bits, exact_format_of(ELEMENT_FLOAT16));
}

__device__ __forceinline__ struct exact_number number_of_float(bfloat16 x)
{
    return exact_decode(x.bits, exact_format_of(ELEMENT_BFLOAT16));
}

__device__ __forceinline__ struct exact_number number_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return exact_decode(bits, exact_format_of(ELEMENT_FLOAT32));
}

__device__ __forceinline__ struct exact_number number_of_float(double x)
{
    return exact_decode(bits_of(x), exact_format_of(ELEMENT_FLOAT64));
}

/* As exact_add_product. */
__device__ __forceinline__ void deposit_product(shared<exact_word> words, struct exact_number a,
                                                struct exact_number b)
{
    const bool negative = a.negative != b.negative;
    if (a.kind == EXACT_FINITE && b.kind == EXACT_FINITE) {
        const unsigned __int128 product =
            static_cast<unsigned __int128>(a.significand) * b.significand;
        const unsigned place = unsigned(a.exponent + b.exponent + EXACT_POINT);
        deposit(words + EXACT_NOTES, uint64_t(product), place, negative);
        deposit(words + EXACT_NOTES, uint64_t(product >> 64), place + 64, negative);
        return;
    }
    const bool nan = a.kind == EXACT_NAN || b.kind == EXACT_NAN ||
                     (a.kind == EXACT_FINITE && a.significand == 0) ||
                     (b.kind == EXACT_FINITE && b.significand == 0);
    atomicAdd(words + (nan        ? EXACT_NOTE_NANS
                       : negative ? EXACT_NOTE_NEGATIVE_INFINITIES
                                  : EXACT_NOTE_INFINITIES),
              exact_word(1));
}

template <class In>
__device__ __forceinline__ void deposit_products(shared<exact_word> words, In a, In b)
{
    using factor = exact_factor<In>;
#pragma unroll
    for (unsigned k = 0; k < factor::products; k++)
        deposit_product(words + k % factor::sums * EXACT_PRODUCTS_PART,
                        number_of_float(factor::first(a, k)),
                        number_of_float(factor::second(b, k)));
}

} // namespace KERNELS
