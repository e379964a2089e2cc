/* The minimum and the maximum element together, in one read. NaN wins both. */
#pragma once

#include "max.cuh"
#include "min.cuh"

namespace KERNELS
{

template <class V>
struct extremes {
    using value = V;
    struct state {
        V least, greatest;
    };

    FOLD_FUNCTION state identity()
    {
        return {min<V>::identity(), max<V>::identity()};
    }

    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        return {x, x};
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        return {least_of(a.least, b.least), greatest_of(a.greatest, b.greatest)};
    }
};

template <>
struct finishing<REDUCTION_minmax> {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = value_answer(state.least);
        answer.values[1] = value_answer(state.greatest);
    }
};

template <>
struct finishing<REDUCTION_ptp> {
    template <class Fold>
    FOLD_FUNCTION value_of<Fold> own(const state_of<Fold> &state)
    {
        return difference(state.greatest, state.least);
    }

    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = value_answer(difference(state.greatest, state.least));
    }
};

} // namespace KERNELS
