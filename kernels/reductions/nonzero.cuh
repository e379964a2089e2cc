/* The number of nonzero elements, from which any, all, count_nonzero and norm_0 follow. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

template <class V>
struct nonzero {
    using value = V;
    using state = uint64_t;

    FOLD_FUNCTION state identity()
    {
        return 0;
    }

    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        return !is_zero(x);
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        return a + b;
    }

    template <unsigned N, class Positions, class Valid>
    FOLD_FUNCTION void accumulate(state &s, const V (&x)[N], Positions, Valid valid)
    {
        unsigned count = 0;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            count += valid(k) && !is_zero(x[k]);
        s += count;
    }
};

template <>
struct finishing<REDUCTION_any> : finishing_by_value<REDUCTION_any> {
    template <class Fold>
    FOLD_FUNCTION int64_t number(const struct finish &, const state_of<Fold> &state)
    {
        return state > 0;
    }
};

template <>
struct finishing<REDUCTION_all> : finishing_by_value<REDUCTION_all> {
    template <class Fold>
    FOLD_FUNCTION int64_t number(const struct finish &how, const state_of<Fold> &state)
    {
        return state == how.count;
    }
};

template <>
struct finishing<REDUCTION_count_nonzero> : finishing_state<REDUCTION_count_nonzero, int64_t> {};

template <>
struct finishing<REDUCTION_norm_0> : finishing_state<REDUCTION_norm_0, double> {};

} // namespace KERNELS
