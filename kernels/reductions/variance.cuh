/* Variances. A state is a count, a mean and the sum of squared deviations from it, in float64; two
 * merge by the formula of Chan, Golub and LeVeque (1983), "Algorithms for computing the sample
 * variance". A batch is taken in with two passes over its registers, so that a division and the
 * rounding errors of a merge come once a batch and not once an element. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

template <class W>
struct moments {
    double count;
    W mean;
    double deviation; /* sum of |x - mean|^2 */
};

__host__ __device__ __forceinline__ double scaled(double x, double by)
{
    return x * by;
}

__host__ __device__ __forceinline__ complex<double> scaled(complex<double> x, double by)
{
    return {x.real * by, x.imag * by};
}

template <class W>
__host__ __device__ __forceinline__ moments<W> merged(moments<W> a, moments<W> b)
{
    if (b.count == 0)
        return a;
    if (a.count == 0)
        return b;
    const double count = a.count + b.count, share = b.count / count;
    const W delta = difference(b.mean, a.mean);
    return {count, a.mean + scaled(delta, share),
            a.deviation + b.deviation + squared(delta) * (a.count * share)};
}

/* Of N numbers. */
template <class W, unsigned N>
__host__ __device__ __forceinline__ moments<W> moments_of(const W (&x)[N], W total)
{
    const W mean = scaled(total, 1.0 / N);
    return {double(N), mean,
            added_in_lanes<N, double>([&](unsigned k) { return squared(difference(x[k], mean)); })};
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
    using state = moments<wide>;
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

    template <unsigned N, class Positions>
    FOLD_FUNCTION void absorb(state &s, const V (&x)[N], Positions)
    {
        take_in_parts<part_of<16>>(x, [&](const auto &part) { take(s, part); });
    }

  private:
    template <unsigned N>
    FOLD_FUNCTION void take(state &s, const V (&x)[N])
    {
        wide numbers[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            numbers[k] = widen(x[k]);
        s = merged(s, moments_of(numbers,
                                 added_in_lanes<N, wide>([&](unsigned k) { return numbers[k]; })));
    }
};

/* NumPy divides by what is left of the count, and by no less than zero. */
template <class Moments>
__host__ __device__ __forceinline__ double variance_of(const struct finish &how,
                                                       const Moments &state)
{
    const double left = state.count - how.ddof;
    return state.deviation / (left <= 0 ? 0.0 : left);
}

template <>
struct finishing<REDUCTION_var> {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = wide_answer(variance_of(how, state));
        answer.values[1] = wide_answer(state.count);
    } // namespace KERNELS
};

template <>
struct finishing<REDUCTION_std> {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = wide_answer(sqrt(variance_of(how, state)));
        answer.values[1] = wide_answer(state.count);
    }
};

} // namespace KERNELS
