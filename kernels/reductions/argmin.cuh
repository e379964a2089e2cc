/* Where the minimum and the maximum element are: the first of equals, and the first NaN before any
 * number. A state is a value and its position; the largest possible position stands for none. */
#pragma once

#include "max.cuh"
#include "min.cuh"

namespace KERNELS
{

/* Without bytes between or after its members, which nobody would write and everybody copy. */
template <class V, bool = sizeof(V) == sizeof(uint32_t)>
struct value_at {
    V value;
    uint64_t index;

    FOLD_FUNCTION value_at of(V value, uint64_t index)
    {
        return {value, index};
    }
};

template <class V>
struct value_at<V, true> {
    V value;
    uint32_t unused;
    uint64_t index;

    FOLD_FUNCTION value_at of(V value, uint64_t index)
    {
        return {value, 0, index};
    }
};

template <class V>
struct by_least {
    static constexpr V worst = ends<V>::greatest;

    FOLD_FUNCTION bool better(V a, V b)
    {
        return a < b;
    }

    /* Of numbers. */
    FOLD_FUNCTION V best(V a, V b)
    {
        return least_number(a, b);
    }
};

template <class V>
struct by_greatest {
    static constexpr V worst = ends<V>::least;

    FOLD_FUNCTION bool better(V a, V b)
    {
        return a > b;
    }

    FOLD_FUNCTION V best(V a, V b)
    {
        return greatest_number(a, b);
    }
};

template <class V, template <class> class Order>
struct position_of_best {
    using value = V;
    using state = value_at<V>;
    struct absorbs_many;
    struct asks_for_positions;

    FOLD_FUNCTION state identity()
    {
        constexpr V worst = Order<V>::worst;
        return state::of(worst, UINT64_MAX);
    }

    FOLD_FUNCTION state lift(V x, uint64_t index)
    {
        return state::of(x, index);
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        const bool nan_a = is_nan(a.value), nan_b = is_nan(b.value);
        if (nan_a != nan_b)
            return nan_a ? a : b;
        if (!nan_a && Order<V>::better(b.value, a.value))
            return b;
        if (!nan_a && Order<V>::better(a.value, b.value))
            return a;
        return b.index < a.index ? b : a;
    }

    /* The best value first, and its position only where it matters. */
    template <unsigned N, class Positions, class Valid = all_valid>
    FOLD_FUNCTION void absorb(state &s, const V (&x)[N], Positions at, Valid valid = {})
    {
        constexpr V worst = Order<V>::worst;
        V best = worst;
        bool nan = false;
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            best = valid(k) ? Order<V>::best(best, x[k]) : best;
            nan = nan || (valid(k) && is_nan(x[k]));
        }
        if (s.index != UINT64_MAX && !Order<V>::better(best, s.value) && !nan)
            return;
        unsigned first = N;
        V found = x[0];
#pragma unroll
        for (unsigned k = N; k-- > 0;) {
            const bool wanted = valid(k) && (nan ? is_nan(x[k]) : !(x[k] != best));
            first = wanted ? k : first;
            found = wanted ? x[k] : found;
        }
        s = first < N ? merge(s, lift(found, at(first))) : s;
    }
};

template <class V>
using argmin = position_of_best<V, by_least>;

template <class V>
using argmax = position_of_best<V, by_greatest>;

template <enum reduction Reduction>
struct finishing_position : finishing_number<Reduction> {
    template <class Fold>
    FOLD_FUNCTION uint64_t number(const struct finish &, const state_of<Fold> &state)
    {
        return state.index;
    }
};

template <>
struct finishing<REDUCTION_argmin> : finishing_position<REDUCTION_argmin> {};

template <>
struct finishing<REDUCTION_argmax> : finishing_position<REDUCTION_argmax> {};

} // namespace KERNELS
