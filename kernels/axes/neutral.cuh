/* Neutral elements fill up what is not there, and change no state: nothing to a sum, and to
 * extremes the worst value, which comes after all that is as bad. */
#pragma once

#include "../reductions.cuh"
#include "row_words.cuh"

namespace KERNELS
{

/* The ends of an element type, and what sums begin with. */
template <class In>
struct extreme_elements {
    FOLD_FUNCTION In negative_zero()
    {
        return ends<In>::negative_zero;
    }
    FOLD_FUNCTION In greatest()
    {
        return ends<In>::greatest;
    }
};

/* Of 16 bits, of which these are infinity's. */
template <class In, uint16_t Infinity>
struct extreme_halves {
    static constexpr uint16_t sign = 0x8000;

    static __device__ __forceinline__ In negative_zero()
    {
        return {sign};
    }
    static __device__ __forceinline__ In greatest()
    {
        return {Infinity};
    }
};

template <>
struct extreme_elements<boolean> {
    static __device__ __forceinline__ boolean greatest()
    {
        return {1};
    }
};

template <>
struct extreme_elements<float16> : extreme_halves<float16, 0x7c00> {};
template <>
struct extreme_elements<bfloat16> : extreme_halves<bfloat16, 0x7f80> {};

/* An element that changes nothing: zero where a fold counts, which is told how many are there. */
template <class Fold, class In>
struct neutral {
    static __device__ __forceinline__ In element()
    {
        return In{};
    }
};

template <class V, class In>
struct neutral<sum<V>, In> {
    static __device__ __forceinline__ In element()
    {
        return extreme_elements<In>::negative_zero();
    }
};

template <class V>
struct neutral<sum<V>, boolean> : neutral<nonzero<V>, boolean> {};

template <class In>
struct greatest_element {
    static __device__ __forceinline__ In element()
    {
        return extreme_elements<In>::greatest();
    }
};

template <class V, class In>
struct neutral<min<V>, In> : greatest_element<In> {};
template <class V, class In>
struct neutral<argmin<V>, In> : greatest_element<In> {};
/* NaN, with all bits set, is left out. */
template <class V, class In>
struct neutral<nanargmin<V>, In> {
    static __device__ __forceinline__ In element()
    {
        In element;
        memset(&element, 0xff, sizeof element);
        return element;
    }
};

/* A vector full of one element. */
template <class In>
__device__ __forceinline__ vec16 vector_of(In element)
{
    pack<In> elements;
    vec16 vector;
#pragma unroll
    for (unsigned k = 0; k < pack<In>::size; k++)
        elements.at[k] = element;
    memcpy(&vector, &elements, sizeof vector);
    return vector;
}

} // namespace KERNELS
