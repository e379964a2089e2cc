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
    FOLD_FUNCTION In least()
    {
        return ends<In>::least;
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
    static __device__ __forceinline__ In least()
    {
        return {uint16_t(Infinity | sign)};
    }
    static __device__ __forceinline__ In greatest()
    {
        return {Infinity};
    }
};

template <>
struct extreme_elements<boolean> {
    static __device__ __forceinline__ boolean least()
    {
        return {0};
    }
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

template <template <class> class Order, class In>
struct worst_element {
    static __device__ __forceinline__ In element()
    {
        using extreme = extreme_elements<In>;
        return Order<int>::worst > 0 ? extreme::greatest() : extreme::least();
    }
};

template <class V, template <class> class Order, class In>
struct neutral<best_value<V, Order>, In> : worst_element<Order, In> {};
template <class V, template <class> class Order, class In>
struct neutral<position_of_best<V, Order>, In> : worst_element<Order, In> {};

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
