/* Variances. A state is a count, a mean and the sum of squared deviations from it, in float64; two
 * merge by the formula of Chan, Golub and LeVeque (1983), "Algorithms for computing the sample
 * variance". A batch is taken in with two passes over its registers, so that a division and the
 * rounding errors of a merge come once a batch and not once an element. */
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

/* part / whole: of any number by a count. */
__host__ __device__ __forceinline__ double ratio_of_counts(double part, double whole)
{
#ifdef __CUDA_ARCH__
    /* Counts have none of the cases for which a GPU's division calls a function, and saves
     * registers for it: two of Newton's steps make 20 good bits of a reciprocal 53, and a residual
     * rounds. */
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
    const double count = a.count + b.count, share = ratio_of_counts(b.count, count);
    const W delta = difference(b.mean, a.mean);
    return {count, a.mean + scaled(delta, share),
            a.deviation + b.deviation + squared(delta) * (a.count * share)};
}

/* The same for two of one count, which takes no division. */
template <class W>
__host__ __device__ __forceinline__ variance_state<W> merged_equals(variance_state<W> a,
                                                                    variance_state<W> b)
{
    const W delta = difference(b.mean, a.mean);
    return {2 * a.count, a.mean + scaled(delta, 0.5),
            a.deviation + b.deviation + squared(delta) * (0.5 * a.count)};
}

/* Of those of N numbers, a power of two, that are valid; their sum is added to `total`. So many
 * at a time as leave a thread's registers room. */
template <unsigned Part, unsigned N, class V, class Valid>
__host__ __device__ __forceinline__ variance_state<wide_of<V>>
variance_state_of(const V (&x)[N], wide_of<V> &total, Valid valid)
{
    using wide = wide_of<V>;
    if constexpr (N > Part) {
        const half_of<N, V> low(x, 0), high(x, N / 2);
        const variance_state<wide> of_low = variance_state_of<Part>(low.at, total, valid);
        const variance_state<wide> of_high =
            variance_state_of<Part>(high.at, total, valid.from(N / 2));
        if constexpr (std::is_same_v<Valid, all_valid>)
            return merged_equals(of_low, of_high);
        else
            return merged(of_low, of_high);
    } else {
        wide numbers[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            numbers[k] = valid(k) ? widen(x[k]) : wide(0);
        const double count = valid.count(N);
        const wide sum = added_in_lanes<N, wide>([&](unsigned k) { return numbers[k]; }),
                   mean = scaled(sum, count > 0 ? 1 / count : 0);
        total = total + sum;
        return {count, mean, added_in_lanes<N, double>([&](unsigned k) {
                    return valid(k) ? squared(difference(numbers[k], mean)) : 0.0;
                })};
    }
}

/* 0, but NaN where a number is not finite: its deviation from itself. */
__host__ __device__ __forceinline__ double vanishing(double x)
{
    return 0.0 * fabs(x);
}

__host__ __device__ __forceinline__ double vanishing(complex<double> x)
{
    return 0.0 * fabs(x.real) + 0.0 * fabs(x.imag);
}

template <class V>
struct variance {
    using value = V;
    using wide = wide_of<V>;
    using state = variance_state<wide>;
    struct absorbs_many;

    FOLD_FUNCTION state identity()
    {
        return {0, wide(0), 0};
    }

    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        return {1, widen(x), vanishing(widen(x))};
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        return merged(a, b);
    }

    template <unsigned N, class Positions, class Valid = all_valid>
    FOLD_FUNCTION void absorb(state &s, const V (&x)[N], Positions, Valid valid = {})
    {
        wide unwanted = wide(0);
        s = merged(s, variance_state_of<16>(x, unwanted, valid));
    }
};

/* A mean that is given, of real numbers or complex ones. */
__host__ __device__ __forceinline__ double mean_as(const struct complex128 &mean, double)
{
    return mean.real;
}

__host__ __device__ __forceinline__ complex<double> mean_as(const struct complex128 &mean,
                                                            complex<double>)
{
    return {mean.real, mean.imag};
}

/* About another point than the mean the squares' sum is larger by what their distance makes. */
template <class W>
__host__ __device__ __forceinline__ double deviation_about(const struct complex128 &mean,
                                                           const variance_state<W> &state)
{
    return state.deviation +
           state.count * squared(difference(state.mean, mean_as(mean, state.mean)));
}

/* NumPy divides by what is left of the count, and by no less than zero. */
template <class State>
__host__ __device__ __forceinline__ double variance_of(const struct finish &how, const State &state)
{
    const double left = state.count - how.ddof,
                 deviation = how.has_mean ? deviation_about(how.mean, state) : state.deviation;
    return deviation / (left <= 0 ? 0.0 : left);
}

template <bool Root>
struct finishing_spread {
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
struct finishing<REDUCTION_var> : finishing_spread<false> {};

template <>
struct finishing<REDUCTION_std> : finishing_spread<true> {};

} // namespace KERNELS
