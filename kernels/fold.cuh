/* What a fold is, and what every fold may leave to others.
 *
 * A fold is a type: of the values that it takes in,
 *
 *     using value = ...;                           what elements are converted to
 *     using state = ...;                           trivially copyable, of 4-byte words
 *     static state identity();                     merges with any state to that state
 *     static state lift(value x, uint64_t index);  one value's, and its position
 *     static state merge(state a, state b);        of two parts, a's the earlier
 *
 * and, where taking many values at once is better than merging one after the other,
 *
 *     template <unsigned N, class Positions, class Valid>
 *     static void absorb(state &s, const value (&x)[N], Positions at, Valid valid);
 *
 * x[k] being number at(k) of the array, numbers that rise with k, and taking part if valid(k).
 *
 * A reduction is what becomes of a fold's state: finishing<REDUCTION_name>::apply. Where that is
 * next to nothing, finishing<REDUCTION_name>::is_stored is there, and the fold has
 *
 *     static value stored(state s, double divisor);   divided unless the divisor is 0
 *
 * which the last block of a launch may store as the result. What is stored without an answer in
 * between has one of
 *
 *     static value own(state s);                              the result, in the values' type
 *     static double number(const struct finish &, state s);   or an integer
 *
 * beside `apply`, templates of the fold as that is, and, where a state may say that there was too
 * little, static unsigned findings(how, state s), as findings_of an answer. */
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

/* Whether a fold asks for positions. */
template <class Fold, class = void>
struct is_indexed : std::false_type {};

template <class Fold>
struct is_indexed<Fold, std::void_t<typename Fold::asks_for_positions>> : std::true_type {};

/* Positions one after the other. */
struct in_a_row {
    uint64_t first;

    __host__ __device__ __forceinline__ uint64_t operator()(unsigned k) const
    {
        return first + k;
    }
};

/* Runs of `length` that begin `pitch` from each other. */
template <unsigned Length>
struct in_runs {
    uint64_t first, pitch;

    __host__ __device__ __forceinline__ uint64_t operator()(unsigned k) const
    {
        return first + k / Length * pitch + k % Length;
    }
};

/* Each so far from the one before it. */
using in_steps = in_runs<1>;

/* All of many values take part. */
struct all_valid {
    __host__ __device__ __forceinline__ constexpr bool operator()(unsigned) const
    {
        return true;
    }

    /* How many of n from number `first` on do. */
    __host__ __device__ __forceinline__ constexpr unsigned count(unsigned, unsigned n) const
    {
        return n;
    }
};

/* How many bits are 1: sums of two, of four and of eight of them, and of these. */
__host__ __device__ __forceinline__ unsigned bits_set(uint32_t word)
{
    word -= word >> 1 & 0x55555555;
    word = (word & 0x33333333) + (word >> 2 & 0x33333333);
    return (((word + (word >> 4)) & 0x0f0f0f0f) * 0x01010101) >> 24;
}

__host__ __device__ __forceinline__ uint32_t low_bits(unsigned count)
{
    return count < 32 ? (1u << count) - 1 : ~0u;
}

/* Those whose bits are set take part. */
struct valid_bits {
    uint32_t bits;

    __host__ __device__ __forceinline__ bool operator()(unsigned k) const
    {
        return bits >> k & 1;
    }

    __host__ __device__ __forceinline__ unsigned count(unsigned first, unsigned n) const
    {
        return bits_set(bits >> first & low_bits(n));
    }
};

/* Whether a fold takes many values at once in a way of its own. */
template <class Fold, class = void>
struct absorbs : std::false_type {};

template <class Fold>
struct absorbs<Fold, std::void_t<decltype(Fold::absorb(std::declval<state_of<Fold> &>(),
                                                       std::declval<const value_of<Fold> (&)[1]>(),
                                                       in_a_row(), all_valid()))>>
    : std::true_type {};

/* Adds N numbers up in a few lanes: enough for vector registers, and no more than fit in a
 * thread's. */
template <unsigned N, class T, class Number>
__host__ __device__ __forceinline__ T added_in_lanes(Number number)
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

/* What folds have whose states are values. */
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

/* What a state of a fold becomes for a reduction; each is specialised beside its fold. */
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

/* The state with what the caller wants it to begin with. */
template <class Fold>
__host__ __device__ __forceinline__ state_of<Fold> with_initial(const struct finish &how,
                                                                state_of<Fold> state)
{
    if (!how.has_initial)
        return state;
    return Fold::merge(Fold::lift(value_from<value_of<Fold>>(how.initial), 1), state);
}

/* Which of the two ways to do without an answer there is. */
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

/* Whether there is something to find in states. */
template <class Finishing, class Fold, class = void>
struct has_findings : std::false_type {};

template <class Finishing, class Fold>
struct has_findings<
    Finishing, Fold,
    std::void_t<decltype(Finishing::template findings<Fold>(finish(), state_of<Fold>()))>>
    : std::true_type {};

/* The finishing of those whose `number`, or `own`, is all there is. */
template <enum reduction Reduction>
struct finishing_alone {
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

/* Of those whose state is that number. */
template <enum reduction Reduction, class Number>
struct finishing_state : finishing_alone<Reduction> {
    template <class Fold>
    FOLD_FUNCTION Number number(const struct finish &, const state_of<Fold> &state)
    {
        return Number(state);
    }
};

/* The finishing of many: the one value that a state is, with what the caller wants it to begin
 * with. `own` is that in the values' own type, where it begins with nothing. */
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
