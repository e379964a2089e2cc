/* Sums and means. A state is one value. Integers wrap around. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

template <class V>
struct sum : value_fold<V> {
    FOLD_FUNCTION V identity()
    {
        constexpr V negative_zero = ends<V>::negative_zero;
        return negative_zero;
    }

    FOLD_FUNCTION V merge(V a, V b)
    {
        return added(a, b);
    }

    /* NumPy adds to zero, which turns a sum of negative zeros into zero. */
    FOLD_FUNCTION V stored(V total, double divisor)
    {
        const V all = added(V(0), total);
        return divisor != 0 ? V(double(all) / divisor) : all;
    }
};

/* NumPy adds to zero unless the caller says otherwise, which turns -0 into 0. */
template <class V>
__host__ __device__ __forceinline__ V total_of(const struct finish &how, V total)
{
    if (!how.has_initial && how.includes_identity)
        return sum<V>::merge(V(0), total);
    return with_initial<sum<V>>(how, total);
}

/* An integer sum wraps in its own type before it is divided. */
template <class V>
__host__ __device__ __forceinline__ struct scalar_wide mean_of(const struct finish &how, V total,
                                                               double count)
{
    if constexpr (std::is_integral_v<V>)
        return wide_answer(double(scalar_wrapped(int64_t(total), how.type)) / count);
    else
        return wide_answer(double(total) / count);
}

/* NumPy divides by a complex number: zero times the other part turns infinities into NaN. */
template <class T>
__host__ __device__ __forceinline__ struct scalar_wide mean_of(const struct finish &,
                                                               complex<T> total, double count)
{
    const double real = double(total.real), imag = double(total.imag);
    return wide_answer((real + imag * 0.0) / count, (imag - real * 0.0) / count);
}

/* For states that are sums, or convert to one. */
struct finishing_total {
    template <class Fold>
    FOLD_FUNCTION value_of<Fold> own(const state_of<Fold> &state)
    {
        return added(value_of<Fold>(0), value_of<Fold>(state));
    }

    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = value_answer(total_of(how, value_of<Fold>(state)));
    }
};

template <>
struct finishing<REDUCTION_sum> : finishing_total {
    using is_stored = void;
};

template <>
struct finishing<REDUCTION_mean> {
    using is_stored = void;

    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = mean_of(how, total_of(how, state), double(how.count));
    }
};

} // namespace KERNELS
