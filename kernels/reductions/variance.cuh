/* Variances. A state is a count, a mean and the sum of squared deviations from it, in float64.
 * States merge by the formula of Chan, Golub and LeVeque (1983), "Algorithms for computing the
 * sample variance". A batch is reduced in two passes over its registers, so that the division and
 * the rounding errors of a merge occur once per batch and not once per element. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

template <class W>
struct variance_state {
    double count;
    W mean;
    double deviation; /* sum of |x - mean|^2 */
};

/* part / whole, where `whole` is a count. */
__host__ __device__ __forceinline__ double divide_counts(double part, double whole)
{
#ifdef __CUDA_ARCH__
    /* Counts avoid the cases for which a GPU's division calls a function, for which it reserves
     * registers. Two Newton steps refine 20 good bits of the reciprocal to 53, and a residual step
     * rounds the quotient. */
    double inverse;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(whole));
    inverse = fma(inverse, fma(-whole, inverse, 1.0), inverse);
    inverse = fma(inverse, fma(-whole, inverse, 1.0), inverse);
    const double ratio = part * inverse;
    return fma(fma(-whole, ratio, part), inverse, ratio);
#else
    return part / whole;
#endif
}

template <class W>
__host__ __device__ __forceinline__ variance_state<W> merged(variance_state<W> a,
                                                             variance_state<W> b)
{
    if (b.count == 0)
        return a;
    if (a.count == 0)
        return b;
    const double count = a.count + b.count, share = divide_counts(b.count, count);
    const W delta = difference(b.mean, a.mean);
    return {count, a.mean + delta * share,
            a.deviation + b.deviation + squared(delta) * (a.count * share)};
}

/* The same for states of equal counts, which takes no division. */
template <class W>
__host__ __device__ __forceinline__ variance_state<W> merge_equal_counts(variance_state<W> a,
                                                                         variance_state<W> b)
{
    const W delta = difference(b.mean, a.mean);
    return {2 * a.count, a.mean + delta * 0.5,
            a.deviation + b.deviation + squared(delta) * (0.5 * a.count)};
}

/* The state of the valid ones of N values, a power of two, from value `First` on; their sum is
 * added to `total`. At most Part values are widened at a time, to limit registers. */
template <unsigned Part, unsigned N, unsigned First = 0, class V, unsigned All, class Valid>
__host__ __device__ __forceinline__ variance_state<wide_of<V>>
batch_variance(const V (&x)[All], wide_of<V> &total, Valid valid)
{
    using wide = wide_of<V>;
    if constexpr (N > Part) {
        constexpr unsigned half = N / 2;
        const variance_state<wide> low_half = batch_variance<Part, half, First>(x, total, valid),
                                   high_half =
                                       batch_variance<Part, half, First + half>(x, total, valid);
        if constexpr (std::is_same_v<Valid, all_valid>)
            return merge_equal_counts(low_half, high_half);
        else
            return merged(low_half, high_half);
    } else {
        wide numbers[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            numbers[k] = valid(First + k) ? widen(x[First + k]) : wide(0);
        const double count = valid.count(First, N);
        const wide sum = sum_in_lanes<N, wide>([&](unsigned k) { return numbers[k]; }),
                   mean = sum * (count > 0 ? 1 / count : 0);
        total = total + sum;
        return {count, mean, sum_in_lanes<N, double>([&](unsigned k) {
                    return valid(First + k) ? squared(difference(numbers[k], mean)) : 0.0;
                })};
    }
}

template <class V>
struct variance {
    using value = V;
    using wide = wide_of<V>;
    using state = variance_state<wide>;

    FOLD_FUNCTION state identity()
    {
        return {0, wide(0), 0};
    }

    /* The deviation of a number that is not finite is NaN. */
    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        const wide mean = widen(x);
        return {1, mean, squared(difference(mean, mean))};
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        return merged(a, b);
    }

    template <unsigned N, class Positions, class Valid>
    FOLD_FUNCTION void accumulate(state &s, const V (&x)[N], Positions, Valid valid)
    {
        wide unused_sum = wide(0);
        s = merged(s, batch_variance<16, N>(x, unused_sum, valid));
    }
};

/* The squared deviations about a given point, which exceed those about the mean by the count times
 * the squared distance. For real values the point is the real part of `mean`. */
template <class W>
__host__ __device__ __forceinline__ double deviation_about(const struct complex128 &mean,
                                                           const variance_state<W> &state)
{
    W point;
    memcpy(&point, &mean, sizeof point);
    return state.deviation + state.count * squared(difference(state.mean, point));
}

/* NumPy divides by count - ddof, and by no less than zero. */
template <class State>
__host__ __device__ __forceinline__ double variance_of(const struct finish &how, const State &state)
{
    const double dof = state.count - how.ddof,
                 deviation = how.has_mean ? deviation_about(how.mean, state) : state.deviation;
    return deviation / (dof <= 0 ? 0.0 : dof);
}

template <bool Root>
struct finishing_variance {
    template <class Fold>
    FOLD_FUNCTION double number(const struct finish &how, const state_of<Fold> &state)
    {
        const double variance = variance_of(how, state);
        return Root ? sqrt(variance) : variance;
    }

    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = wide_answer(number<Fold>(how, state));
        answer.values[1] = wide_answer(state.count);
    }
};

template <>
struct finishing<REDUCTION_var> : finishing_variance<false> {};

template <>
struct finishing<REDUCTION_std> : finishing_variance<true> {};

} // namespace KERNELS
