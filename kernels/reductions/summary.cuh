/* All statistics of `describe` in one pass. NaNs are counted and otherwise skipped. */
#pragma once

#include "extremes.cuh"
#include "sum.cuh"
#include "variance.cuh"

namespace KERNELS
{

/* The rare case, so its code is small: values indexed at run time are not in registers. */
template <class Fold, unsigned N, class V, class Valid>
__host__ __device__ __forceinline__ void accumulate_one_by_one(state_of<Fold> &s, const V (&x)[N],
                                                               Valid valid)
{
    V values[N];
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        values[k] = x[k];
#pragma unroll 1
    for (unsigned k = 0; k < N; k++)
        if (valid(k))
            s = Fold::merge(s, Fold::lift(values[k], 0));
}

/* The sum of the valid values; `whole` is their sum in float64. */
template <class Total, unsigned N, class V, class Valid>
__host__ __device__ __forceinline__ Total batch_sum(const V (&x)[N], wide_of<V> whole, Valid valid)
{
    if constexpr (std::is_integral_v<V> && sizeof(V) < sizeof(double)) /* `whole` is exact */
        return Total(whole);
    else if constexpr (std::is_integral_v<V>)
        return sum_in_lanes<N, Total>(
            [&](unsigned k) { return valid(k) ? Total(x[k]) : Total(0); });
    else
        return whole;
}

template <class V>
struct summary {
    using value = V;
    using wide = wide_of<V>;
    /* Integers are summed in 64 bits and wrap as NumPy's do, all others in float64. */
    using wide_integer = std::conditional_t<std::is_signed_v<V>, int64_t, uint64_t>;
    using total = std::conditional_t<std::is_integral_v<V>, wide_integer, wide>;
    struct state {
        variance_state<wide> numbers;
        uint64_t nans;
        total sum;
        typename extremes<V>::state ends;
    };

    FOLD_FUNCTION state identity()
    {
        return {variance<V>::identity(), 0, sum<total>::identity(), extremes<V>::identity()};
    }

    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        state s = identity();
        if (is_nan(x))
            s.nans = 1;
        else
            s = {variance<V>::lift(x, 0), 0, total(x), extremes<V>::lift(x, 0)};
        return s;
    }

    FOLD_FUNCTION state merge(const state &a, const state &b)
    {
        return {merged(a.numbers, b.numbers), a.nans + b.nans, sum<total>::merge(a.sum, b.sum),
                extremes<V>::merge(a.ends, b.ends)};
    }

    template <unsigned N, class Positions, class Valid>
    FOLD_FUNCTION void accumulate(state &s, const V (&x)[N], Positions, Valid valid)
    {
        constexpr unsigned part = 8 * sizeof(double) / sizeof(wide);
        wide whole = wide(0);
        const variance_state<wide> numbers = batch_variance<part, N>(x, whole, valid);
        if (is_nan(whole)) /* one of them is NaN, or there are infinities of both signs */
            return accumulate_one_by_one<summary>(s, x, valid);
        s.numbers = merged(s.numbers, numbers);
        s.sum = sum<total>::merge(s.sum, batch_sum<total>(x, whole, valid));
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            s.ends.least = valid(k) ? min_of_numbers(x[k], s.ends.least) : s.ends.least;
            s.ends.greatest = valid(k) ? max_of_numbers(x[k], s.ends.greatest) : s.ends.greatest;
        }
    }
};

/* The mean of floats is their sum divided, as in `mean`; a sum of integers may have wrapped. */
template <>
struct finishing<REDUCTION_describe> {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        using total = typename Fold::total;
        const double count = state.numbers.count;
        const total whole = sum<total>::merge(total(0), state.sum);
        answer.values[0] = count_answer(uint64_t(count));
        answer.values[1] = count_answer(state.nans);
        answer.values[2] = value_answer(state.ends.least);
        answer.values[3] = value_answer(state.ends.greatest);
        answer.values[4] = value_answer(state.numbers.mean);
        if constexpr (!std::is_integral_v<total>)
            answer.values[4] = mean_of(how, whole, count);
        answer.values[5] = wide_answer(variance_of(how, state.numbers));
        answer.values[6] = value_answer(whole);
        if (count == 0)
            answer.values[2] = answer.values[3] = answer.values[4] =
                wide_answer(not_a_number<double>(), not_a_number<double>());
    }
};

} // namespace KERNELS
