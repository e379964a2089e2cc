/* All that `describe` tells, in one read. NaNs are counted and otherwise left out. */
#pragma once

#include "extremes.cuh"
#include "sum.cuh"
#include "variance.cuh"

namespace KERNELS
{

/* Integers are summed in 64 bits, where they wrap as NumPy's do, all else in float64. */
template <class V, bool = std::is_integral_v<V>>
struct summed {
    using type = std::conditional_t<std::is_signed_v<V>, int64_t, uint64_t>;

    FOLD_FUNCTION type from(V x)
    {
        return type(x);
    }
};

template <class V>
struct summed<V, false> {
    using type = wide_of<V>;

    FOLD_FUNCTION type from(V x)
    {
        return widen(x);
    }
};

template <class V>
struct summary {
    using value = V;
    using wide = wide_of<V>;
    using total = typename summed<V>::type;
    struct state {
        moments<wide> numbers;
        uint64_t nans;
        total sum;
        typename extremes<V>::state ends;
    };
    struct absorbs_many;

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
            s = {variance<V>::lift(x, 0), 0, summed<V>::from(x), extremes<V>::lift(x, 0)};
        return s;
    }

    FOLD_FUNCTION state merge(const state &a, const state &b)
    {
        return {merged(a.numbers, b.numbers), a.nans + b.nans, sum<total>::merge(a.sum, b.sum),
                extremes<V>::merge(a.ends, b.ends)};
    }

    template <unsigned N, class Positions>
    FOLD_FUNCTION void absorb(state &s, const V (&x)[N], Positions)
    {
        wide numbers[N], sum_of_shown = wide(0);
        unsigned shown = 0;
        state part = identity();
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            const bool nan = is_nan(x[k]);
            numbers[k] = nan ? wide(0) : widen(x[k]);
            sum_of_shown = sum_of_shown + numbers[k];
            shown += !nan;
            part.sum = sum<total>::merge(part.sum, nan ? total(0) : summed<V>::from(x[k]));
            part.ends = nan ? part.ends : extremes<V>::merge(part.ends, extremes<V>::lift(x[k], 0));
        }
        const double inverse = shown == N ? 1.0 / N : 1.0 / (shown ? shown : 1);
        part.numbers = {double(shown), scaled(sum_of_shown, inverse), 0};
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            part.numbers.deviation +=
                is_nan(x[k]) ? 0.0 : squared(difference(numbers[k], part.numbers.mean));
        part.nans = N - shown;
        s = merge(s, part);
    }
};

FINISHING(describe){template <class Fold> FOLD_FUNCTION void apply(const struct finish &how,
                                                                   const state_of<Fold> &state,
                                                                   struct answer &answer){
    const double count = state.numbers.count, nan = not_a_number<double>();
answer.values[0] = count_answer(uint64_t(count));
answer.values[1] = count_answer(state.nans);
answer.values[2] = value_answer(state.ends.least);
answer.values[3] = value_answer(state.ends.greatest);
answer.values[4] = value_answer(state.numbers.mean);
answer.values[5] =
    wide_answer(state.numbers.deviation / (count > how.ddof ? count - how.ddof : 0.0));
answer.values[6] =
    value_answer(sum<typename Fold::total>::merge(typename Fold::total(0), state.sum));
if (count == 0)
    answer.values[2] = answer.values[3] = answer.values[4] = wide_answer(nan, 0);
} // namespace KERNELS
}
;

} // namespace KERNELS
