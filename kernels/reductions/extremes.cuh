/* Minima, maxima, both in one pass, and their positions. An extreme's state is one value: NaN wins,
 * and of equal values the first. A position's state is a value and its index; the largest index
 * means that there is none. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

/* ---- orders ---- */

template <class V, bool Least>
struct order {
    static constexpr V worst = Least ? ends<V>::greatest : ends<V>::least;

    FOLD_FUNCTION bool better(V a, V b)
    {
        return Least ? a < b : a > b;
    }

    /* For numbers that are not NaN. */
    FOLD_FUNCTION V best(V a, V b)
    {
        return Least ? min_of_numbers(a, b) : max_of_numbers(a, b);
    }
};

template <class V>
struct by_least : order<V, true> {};

template <class V>
struct by_greatest : order<V, false> {};

/* ---- values ---- */

/* a unless b is better; NaN is better than any number. */
template <template <class> class Order, class V>
__host__ __device__ __forceinline__ V better_of(V a, V b)
{
    return Order<V>::better(b, a) || is_nan(b) ? b : a;
}

template <template <class> class Order, class V>
__host__ __device__ __forceinline__ complex<V> better_of(complex<V> a, complex<V> b)
{
    return !is_nan(a) && (Order<complex<V>>::better(b, a) || is_nan(b)) ? b : a;
}

template <class V, template <class> class Order>
struct best_value : value_fold<V> {
    FOLD_FUNCTION V identity()
    {
        constexpr V worst = Order<V>::worst;
        return worst;
    }

    FOLD_FUNCTION V merge(V a, V b)
    {
        return better_of<Order>(a, b);
    }

    FOLD_FUNCTION V stored(V best, double)
    {
        return best;
    }
};

template <class V>
using min = best_value<V, by_least>;

template <class V>
using max = best_value<V, by_greatest>;

template <>
struct finishing<REDUCTION_min> : finishing_value {
    using is_stored = void;
};

template <>
struct finishing<REDUCTION_max> : finishing<REDUCTION_min> {};

/* ---- truth values ---- */

/* The product of booleans is whether all are true. The state of no elements is not zero. */
template <>
struct finishing<REDUCTION_prod_of_truth> {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = count_answer(!is_zero(with_initial<Fold>(how, state)));
    }
};

/* The maximum of booleans is whether any is true. The state of no elements is less than zero. */
template <class Fold>
__host__ __device__ __forceinline__ bool any_true(const struct finish &how,
                                                  const state_of<Fold> &state)
{
    return with_initial<Fold>(how, state) > value_of<Fold>(0);
}

template <>
struct finishing<REDUCTION_sum_of_truth> {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = count_answer(any_true<Fold>(how, state));
    }
};

/* Their sum divided by their number: NaN for no elements; then converted to a boolean. */
template <>
struct finishing<REDUCTION_mean_of_truth> {
    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = wide_answer(double(any_true<Fold>(how, state)) / double(how.count));
    }
};

/* ---- both ---- */

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
        return {min<V>::merge(a.least, b.least), max<V>::merge(a.greatest, b.greatest)};
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
struct finishing<REDUCTION_ptp> : finishing_by_value<REDUCTION_ptp> {
    template <class Fold>
    FOLD_FUNCTION value_of<Fold> own(const state_of<Fold> &state)
    {
        return difference(state.greatest, state.least);
    }
};

/* ---- positions ---- */

/* Without padding bytes, which would be copied without having been written. */
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

/* NaN wins or, if SkipsNan, is skipped. */
template <class V, template <class> class Order, bool SkipsNan = false>
struct position_of_best {
    using value = V;
    using state = value_at<V>;
    struct needs_positions;

    FOLD_FUNCTION state identity()
    {
        constexpr V worst = Order<V>::worst;
        return state::of(worst, UINT64_MAX);
    }

    FOLD_FUNCTION bool is_candidate(V x)
    {
        return !SkipsNan || !is_nan(x);
    }

    FOLD_FUNCTION state lift(V x, uint64_t index)
    {
        return is_candidate(x) ? state::of(x, index) : identity();
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

    /* Finds the best value first, and its position only if it improves the state. */
    template <unsigned N, class Positions, class Valid>
    FOLD_FUNCTION void accumulate(state &s, const V (&x)[N], Positions at, Valid valid)
    {
        constexpr V worst = Order<V>::worst;
        V best = worst;
        bool nan = false;
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            best = valid(k) && is_candidate(x[k]) ? Order<V>::best(best, x[k]) : best;
            nan = nan || (!SkipsNan && valid(k) && is_nan(x[k]));
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

template <class V>
using nanargmin = position_of_best<V, by_least, true>;

template <class V>
using nanargmax = position_of_best<V, by_greatest, true>;

template <>
struct finishing<REDUCTION_argmin> : finishing_by_value<REDUCTION_argmin> {
    template <class Fold>
    FOLD_FUNCTION int64_t number(const struct finish &, const state_of<Fold> &state)
    {
        return int64_t(state.index);
    }
};

template <>
struct finishing<REDUCTION_argmax> : finishing<REDUCTION_argmin> {};

template <>
struct finishing<REDUCTION_nanargmin> : finishing<REDUCTION_argmin> {};

template <>
struct finishing<REDUCTION_nanargmax> : finishing<REDUCTION_argmin> {};

} // namespace KERNELS
