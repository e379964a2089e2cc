/* The logarithm of the sum of exponentials. A state is the maximum m and the sum of exp(x - m),
 * which cannot overflow: Blanchard, Higham and Higham (2021), "Accurately computing the log-sum-exp
 * and softmax functions". States merge as in Milakov and Gimelshein (2018), "Online normalizer
 * calculation for softmax", so that memory is read once. For complex values m is the greatest real
 * part. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

/* exp(d), d <= 0. The relative error grows as |d| times the type's unit roundoff, but terms of
 * large |d| are small compared with the greatest term, which is 1. */
__host__ __device__ __forceinline__ float exponential(float d)
{
#ifdef __CUDA_ARCH__
    return __expf(d);
#else
    return expf(d);
#endif
}

__host__ __device__ __forceinline__ double exponential(double d)
{
    return exp(d);
}

/* The same for merging states; not inlined, since it has many call sites. */
__host__ __device__ __noinline__ inline double ratio(double d)
{
    return exp(d);
}

/* exp(i y). */
__host__ __device__ __noinline__ inline complex<double> phase(complex<double> x)
{
    return {cos(x.imag), sin(x.imag)};
}

__host__ __device__ __forceinline__ double logarithm(double x)
{
    return log(x);
}

__host__ __device__ __noinline__ inline complex<double> logarithm(complex<double> x)
{
    return {log(hypot(x.real, x.imag)), atan2(x.imag, x.real)};
}

template <class W>
struct exponentials {
    double greatest;
    W sum;
};

template <class V>
struct logsumexp {
    using value = V;
    using wide = wide_of<V>;
    using state = exponentials<wide>;

    FOLD_FUNCTION state identity()
    {
        return {ends<double>::least, wide(0)};
    }

    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        if constexpr (std::is_same_v<wide, double>)
            return {double(x), 1};
        else
            return {double(x.real), phase(widen(x))};
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        const double greatest =
            a.greatest >= b.greatest || is_nan(a.greatest) ? a.greatest : b.greatest;
        return {greatest, rescaled_sum(a, greatest) + rescaled_sum(b, greatest)};
    }

    template <unsigned N, class Positions, class Valid>
    FOLD_FUNCTION void accumulate(state &s, const V (&x)[N], Positions, Valid valid)
    {
        if constexpr (std::is_same_v<wide, double>) {
            accumulate_real(s, x, valid);
        } else {
#pragma unroll
            for (unsigned k = 0; k < N; k++)
                s = valid(k) ? merge(s, lift(x[k], 0)) : s;
        }
    }

  private:
    /* Equal maxima are compared first, since inf - inf is NaN. */
    FOLD_FUNCTION wide rescaled_sum(const state &s, double greatest)
    {
        return s.greatest == greatest ? s.sum : s.sum * ratio(s.greatest - greatest);
    }

    template <unsigned N, class Valid>
    FOLD_FUNCTION void accumulate_real(state &s, const V (&x)[N], Valid valid)
    {
        V greatest = V(s.greatest);
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            greatest = valid(k) && (x[k] > greatest || is_nan(x[k])) ? x[k] : greatest;
        s = {double(greatest), rescaled_sum(s, double(greatest))};
        if (!(greatest - greatest == 0)) { /* an infinity or NaN: the sum does not matter */
            s.sum = 1;
            return;
        }
        s.sum += double(sum_in_lanes<N, V>(
            [&](unsigned k) { return valid(k) ? exponential(x[k] - greatest) : V(0); }));
    }
};

template <>
struct finishing<REDUCTION_logsumexp> : finishing_by_value<REDUCTION_logsumexp> {
    template <class Fold>
    FOLD_FUNCTION value_of<Fold> own(const state_of<Fold> &state)
    {
        return value_of<Fold>(wide_of<value_of<Fold>>(state.greatest) + logarithm(state.sum));
    }
};

} // namespace KERNELS
