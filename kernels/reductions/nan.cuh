/* Sums, products, variances and extremes that skip NaN. Floats only: for other types the plain
 * folds are used. */
#pragma once

#include "extremes.cuh"
#include "prod.cuh"
#include "sum.cuh"
#include "variance.cuh"

namespace KERNELS
{

/* A sum and the number of its terms. A float32 sum is kept in float64, so that the struct has no
 * padding. */
template <class V>
struct nansum {
    using value = V;
    using total = std::conditional_t<std::is_same_v<V, float>, double, V>;
    struct state {
        total sum;
        uint64_t count;

        __host__ __device__ __forceinline__ explicit operator V() const
        {
            return V(sum);
        }
    };

    FOLD_FUNCTION state identity()
    {
        return {sum<total>::identity(), 0};
    }

    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        return is_nan(x) ? identity() : state{total(x), 1};
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        return {sum<total>::merge(a.sum, b.sum), a.count + b.count};
    }

    template <unsigned N, class Positions, class Valid>
    FOLD_FUNCTION void accumulate(state &s, const V (&x)[N], Positions, Valid valid)
    {
        unsigned count = 0;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            count += valid(k) && !is_nan(x[k]);
        const V numbers = sum_in_lanes<N, V>(
            [&](unsigned k) { return valid(k) && !is_nan(x[k]) ? x[k] : sum<V>::identity(); });
        s = {sum<total>::merge(s.sum, total(numbers)), s.count + count};
    }
};

template <class V>
struct nanprod : prod<V> {
    FOLD_FUNCTION V lift(V x, uint64_t index)
    {
        return is_nan(x) ? prod<V>::identity() : prod<V>::lift(x, index);
    }
};

template <class V>
struct nanvariance : variance<V> {
    using typename variance<V>::state;

    FOLD_FUNCTION state lift(V x, uint64_t index)
    {
        return is_nan(x) ? variance<V>::identity() : variance<V>::lift(x, index);
    }

    template <unsigned N, class Positions, class Valid>
    FOLD_FUNCTION void accumulate(state &s, const V (&x)[N], Positions at, Valid valid)
    {
        static_assert(N <= 32, "a word has a bit for each");
        valid_bits numbers = {0};
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            numbers.bits |= uint32_t(valid(k) && !is_nan(x[k])) << k;
        variance<V>::accumulate(s, x, at, numbers);
    }
};

template <bool Root>
struct finishing_nanvariance : finishing_variance<Root> {
    template <class Fold>
    FOLD_FUNCTION unsigned findings(const struct finish &how, const state_of<Fold> &state)
    {
        return state.count > how.ddof ? 0 : FOUND_TOO_FEW;
    }
};

template <>
struct finishing<REDUCTION_nanvar> : finishing_nanvariance<false> {};

template <>
struct finishing<REDUCTION_nanstd> : finishing_nanvariance<true> {};

/* NaN is the identity: it loses to any number. */
template <class V, template <class> class Order>
struct best_number : value_fold<V> {
    FOLD_FUNCTION V identity()
    {
        return not_a_number<V>();
    }

    FOLD_FUNCTION V merge(V a, V b)
    {
        return Order<V>::better(b, a) || is_nan(a) ? b : a;
    }
};

template <class V>
using nanmin = best_number<V, by_least>;

template <class V>
using nanmax = best_number<V, by_greatest>;

template <>
struct finishing<REDUCTION_nansum> : finishing_total {};

/* The second value is the number of elements that are not NaN. */
template <>
struct finishing<REDUCTION_nanmean> {
    template <class Fold>
    FOLD_FUNCTION unsigned findings(const struct finish &, const state_of<Fold> &state)
    {
        return state.count ? 0 : FOUND_TOO_FEW;
    }

    template <class Fold>
    FOLD_FUNCTION std::enable_if_t<std::is_floating_point_v<value_of<Fold>>, double>
    number(const struct finish &how, const state_of<Fold> &state)
    {
        return double(total_of(how, value_of<Fold>(state))) / double(state.count);
    }

    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        answer.values[0] = mean_of(how, total_of(how, value_of<Fold>(state)), double(state.count));
        answer.values[1] = count_answer(state.count);
    }
};

template <>
struct finishing<REDUCTION_nanprod> : finishing<REDUCTION_prod> {};

template <>
struct finishing<REDUCTION_nanmin> : finishing_value {
    template <class Fold>
    FOLD_FUNCTION unsigned findings(const struct finish &, const state_of<Fold> &state)
    {
        return is_nan(state) ? FOUND_ALL_NAN : 0;
    }
};

template <>
struct finishing<REDUCTION_nanmax> : finishing<REDUCTION_nanmin> {};

} // namespace KERNELS
