/* Least elements. A state is one value: NaN wins, and of equal values the first. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

/* a unless b is better, which `less` says of two numbers; NaN is better than any. */
template <class V>
__host__ __device__ __forceinline__ V least_of(V a, V b)
{
    return b < a || is_nan(b) ? b : a;
}

template <class V>
__host__ __device__ __forceinline__ complex<V> least_of(complex<V> a, complex<V> b)
{
    return !is_nan(a) && (b < a || is_nan(b)) ? b : a;
}

template <class V>
struct min {
    using value = V;
    using state = V;

    FOLD_FUNCTION state identity()
    {
        constexpr V greatest = ends<V>::greatest;
        return greatest;
    }

    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        return x;
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        return least_of(a, b);
    }

    FOLD_FUNCTION V stored(state best, double)
    {
        return best;
    }
};

template <>
struct finishing<REDUCTION_min> : finishing_value {
    using is_stored = void;
};

/* The product of truth values: whether all are true. What there is of nothing is not zero. */
template <>
struct finishing<REDUCTION_prod_of_truth> {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = count_answer(!is_zero(with_initial<Fold>(how, state)));
    }
};

} // namespace KERNELS
