/* Several results of a thread's, made of what it has folded. */
#pragma once

#include "row_folds.cuh"

namespace KERNELS
{

/* What several rows' results are made of becomes these, with one branch for all of them. */
template <class Fold, class In>
struct results_together {
    using fold = row_fold<Fold, In>;
    using result = typename fold::result;

    template <class Made, unsigned N>
    static __device__ __forceinline__ void make(result (&to)[N], const Made (&made)[N],
                                                const row_numbers &numbers)
    {
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            to[k] = fold::result_of(made[k], numbers);
    }
};

/* Sums of integers are divided where they are of float64. */
template <class V, class In>
struct results_together<sum<V>, In> {
    using result = typename row_fold<sum<V>, In>::result;

    template <class Made, unsigned N>
    static __device__ __forceinline__ void make(result (&to)[N], const Made (&made)[N],
                                                const row_numbers &numbers)
    {
        V totals[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            totals[k] = added(V(0), V(made[k]));
        if constexpr (!std::is_integral_v<V>)
            if (numbers.divides)
                numbers.divisor.template divide<In>(totals);
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            to[k] = rounded_to<result>(totals[k]);
    }
};

template <class V, class In>
struct results_together<variance<V>, In> {
    using result = typename row_fold<variance<V>, In>::result;

    template <class Made, unsigned N>
    static __device__ __forceinline__ void make(result (&to)[N], const Made (&made)[N],
                                                const row_numbers &numbers)
    {
        Made spreads[N];
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            spreads[k] = made[k];
        (std::is_integral_v<In> ? numbers.left_times_count : numbers.left)
            .template divide<In>(spreads);
        if (numbers.root)
#pragma unroll
            for (unsigned k = 0; k < N; k++)
                spreads[k] = sqrt(spreads[k]);
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            to[k] = rounded_to<result>(spreads[k]);
    }
};

} // namespace KERNELS
