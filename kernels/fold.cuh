/* The interface of folds, and helpers that all folds share.
 *
 * A fold is a type that describes how to reduce values:
 *
 *     using value = ...;                           the type to which elements are converted
 *     using state = ...;                           trivially copyable, a multiple of 4 bytes
 *     static state identity();                     the neutral element of merge
 *     static state lift(value x, uint64_t index);  the state of one value at a position
 *     static state merge(state a, state b);        of two parts; a's elements come first
 *
 * If reducing several values together is faster than merging them one by one, it also has
 *
 *     template <unsigned N, class Positions, class Valid>
 *     static void accumulate(state &s, const value (&x)[N], Positions at, Valid valid);
 *
 * where x[k] is the array's element at(k), which rises with k, and is included if valid(k).
 *
 * A reduction turns a fold's state into a result: finishing<REDUCTION_name>::apply. If the state is
 * nearly the result already, finishing<REDUCTION_name>::is_stored exists, and the fold has
 *
 *     static value stored(state s, double divisor);   divided unless the divisor is 0
 *
 * with which the last block of a launch may store the result. A finishing whose result can be
 * stored without an intermediate struct answer also has one of
 *
 *     static value own(state s);                              the result, in the values' type
 *     static double number(const struct finish &, state s);   or an integer
 *
 * as templates of the fold, like `apply`; and, if a state may have too few elements, static
 * unsigned findings(how, state s), which returns the same flags as findings_of(answer). */
#pragma once

#include "values.cuh"

#include "common/reduction.h"

namespace KERNELS
{

#define FOLD_FUNCTION static __host__ __device__ __forceinline__

template <class Fold>
using state_of = typename Fold::state;

template <class Fold>
using value_of = typename Fold::value;

/* Whether a fold needs the elements' positions. */
template <class Fold, class = void>
struct is_indexed : std::false_type {};

template <class Fold>
struct is_indexed<Fold, std::void_t<typename Fold::needs_positions>> : std::true_type {};

/* Consecutive positions. */
struct consecutive_positions {
    uint64_t first;

    __host__ __device__ __forceinline__ uint64_t operator()(unsigned k) const
    {
        return first + k;
    }
};

/* Runs of Length consecutive positions, whose beginnings are `pitch` apart. */
template <unsigned Length>
struct run_positions {
    uint64_t first, pitch;

    __host__ __device__ __forceinline__ uint64_t operator()(unsigned k) const
    {
        return first + k / Length * pitch + k % Length;
    }
};

/* Positions `pitch` apart. */
using strided_positions = run_positions<1>;

/* A predicate that is true for all values. */
struct all_valid {
    __host__ __device__ __forceinline__ constexpr bool operator()(unsigned) const
    {
        return true;
    }

    /* The number of valid ones among n values, starting with value `first`. */
    __host__ __device__ __forceinline__ constexpr unsigned count(unsigned, unsigned n) const
    {
        return n;
    }
};

/* Population count, by sums of 2, 4 and 8 bits. */
__host__ __device__ __forceinline__ unsigned popcount(uint32_t word)
{
    word -= word >> 1 & 0x55555555;
    word = (word & 0x33333333) + (word >> 2 & 0x33333333);
    return (((word + (word >> 4)) & 0x0f0f0f0f) * 0x01010101) >> 24;
}

__host__ __device__ __forceinline__ uint32_t low_bits(unsigned count)
{
    return count < 32 ? (1u << count) - 1 : ~0u;
}

/* A predicate that is true for the values whose bits are set. */
struct valid_bits {
    uint32_t bits;

    __host__ __device__ __forceinline__ bool operator()(unsigned k) const
    {
        return bits >> k & 1;
    }

    __host__ __device__ __forceinline__ unsigned count(unsigned first, unsigned n) const
    {
        return popcount(bits >> first & low_bits(n));
    }
};

template <class Fold, class = void>
struct has_accumulate : std::false_type {};

template <class Fold>
struct has_accumulate<
    Fold, std::void_t<decltype(Fold::accumulate(std::declval<state_of<Fold> &>(),
                                                std::declval<const value_of<Fold> (&)[1]>(),
                                                consecutive_positions(), all_valid()))>>
    : std::true_type {};

/* Sum N numbers in a few independent lanes: enough for vector registers, and few enough for a
 * thread's registers. */
template <unsigned N, class T, class Number>
__host__ __device__ __forceinline__ T sum_in_lanes(Number number)
{
    constexpr unsigned lanes = N < 4 ? N : 4;
    T totals[lanes];
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        totals[k % lanes] = k < lanes ? number(k) : added(totals[k % lanes], number(k));
#pragma unroll
    for (unsigned k = 1; k < lanes; k++)
        totals[0] = added(totals[0], totals[k]);
    return totals[0];
}

/* Base of folds whose state is a value. */
template <class V>
struct value_fold {
    using value = V;
    using state = V;

    FOLD_FUNCTION V lift(V x, uint64_t)
    {
        return x;
    }
};

/* ---- answers ---- */

/* Turns a fold's state into a reduction's result. The specializations are next to the folds. */
template <enum reduction Reduction>
struct finishing;

__host__ __device__ __forceinline__ struct scalar_wide wide_answer(double real, double imag = 0)
{
    return {SCALAR_FLOAT, 0, real, imag};
}

__host__ __device__ __forceinline__ struct scalar_wide count_answer(uint64_t count)
{
    return {SCALAR_SIGNED, int64_t(count), 0, 0};
}

template <class T>
__host__ __device__ __forceinline__ struct scalar_wide value_answer(T x)
{
    if constexpr (std::is_integral_v<T>)
        return {std::is_same_v<T, uint64_t> ? SCALAR_UNSIGNED : SCALAR_SIGNED, int64_t(x), 0, 0};
    else
        return wide_answer(double(x));
}

template <class T>
__host__ __device__ __forceinline__ struct scalar_wide value_answer(complex<T> x)
{
    return wide_answer(double(x.real), double(x.imag));
}

template <class T>
__host__ __device__ __forceinline__ T value_from(union scalar value)
{
    T typed;
    memcpy(&typed, &value, sizeof typed);
    return typed;
}

/* The state merged with the caller's initial value, if there is one. */
template <class Fold>
__host__ __device__ __forceinline__ state_of<Fold> with_initial(const struct finish &how,
                                                                state_of<Fold> state)
{
    if (!how.has_initial)
        return state;
    return Fold::merge(Fold::lift(value_from<value_of<Fold>>(how.initial), 1), state);
}

/* Whether a finishing has `own`, or `number`. */
template <class Finishing, class Fold, class = void>
struct has_own : std::false_type {};

template <class Finishing, class Fold>
struct has_own<Finishing, Fold,
               std::void_t<decltype(Finishing::template own<Fold>(state_of<Fold>()))>>
    : std::true_type {};

template <class Finishing, class Fold, class = void>
struct has_number : std::false_type {};

template <class Finishing, class Fold>
struct has_number<
    Finishing, Fold,
    std::void_t<decltype(Finishing::template number<Fold>(finish(), state_of<Fold>()))>>
    : std::true_type {};

template <class Finishing, class Fold, class = void>
struct has_findings : std::false_type {};

template <class Finishing, class Fold>
struct has_findings<
    Finishing, Fold,
    std::void_t<decltype(Finishing::template findings<Fold>(finish(), state_of<Fold>()))>>
    : std::true_type {};

/* Base of finishings that are defined by `own` or `number`; `apply` follows from these. */
template <enum reduction Reduction>
struct finishing_by_value {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        using self = finishing<Reduction>;
        if constexpr (has_own<self, Fold>::value)
            answer.values[0] = value_answer(self::template own<Fold>(state));
        else
            answer.values[0] = value_answer(self::template number<Fold>(how, state));
    }
};

/* For reductions whose result is the state itself. */
template <enum reduction Reduction, class Number>
struct finishing_state : finishing_by_value<Reduction> {
    template <class Fold>
    FOLD_FUNCTION Number number(const struct finish &, const state_of<Fold> &state)
    {
        return Number(state);
    }
};

/* For states that are a single value: the result is the value merged with the caller's initial
 * value. `own` is the result without an initial value. */
struct finishing_value {
    template <class Fold>
    FOLD_FUNCTION value_of<Fold> own(const state_of<Fold> &state)
    {
        return state;
    }

    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = value_answer(with_initial<Fold>(how, state));
    }
};

} // namespace KERNELS
