/* Greatest elements. A state is one value: NaN wins, and of equal values the first. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

template <class V>
__host__ __device__ __forceinline__ V greatest_of(V a, V b)
{
    return b > a || is_nan(b) ? b : a;
}

template <class V>
__host__ __device__ __forceinline__ complex<V> greatest_of(complex<V> a, complex<V> b)
{
    return !is_nan(a) && (b > a || is_nan(b)) ? b : a;
}

template <class V>
struct max {
    using value = V;
    using state = V;

    FOLD_FUNCTION state identity()
    {
        constexpr V least = ends<V>::least;
        return least;
    }

    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        return x;
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        return greatest_of(a, b);
    }

    FOLD_FUNCTION V stored(state best, double)
    {
        return best;
    }
};

template <>
struct finishing<REDUCTION_max> : finishing_value {
    using is_stored = void;
};

/* The largest of truth values: whether there is a true one. What there is of nothing is less than
 * zero. */
template <class Fold>
__host__ __device__ __forceinline__ bool is_any_true(const struct finish &how,
                                                     const state_of<Fold> &state)
{
    return greatest_of(value_of<Fold>(0), with_initial<Fold>(how, state)) != value_of<Fold>(0);
}

template <>
struct finishing<REDUCTION_sum_of_truth> {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = count_answer(is_any_true<Fold>(how, state));
    }
};

/* Their sum, divided: NaN of nothing, and then a truth value again. */
template <>
struct finishing<REDUCTION_mean_of_truth> {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = wide_answer(double(is_any_true<Fold>(how, state)) / double(how.count));
    }
};

} // namespace KERNELS
