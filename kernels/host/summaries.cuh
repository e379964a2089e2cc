/* Summaries: what the loops of extremes, variances and sums say of a chunk that is in the cache by
 * then. NaNs are taken out first, if there are any. */
#pragma once

#include "extremes.cuh"
#include "sums.cuh"

namespace KERNELS
{
namespace
{

/* Of numbers whose extremes are known. */
template <class V, fold_values *Variance, fold_values *Sum>
LANES_FUNCTION typename summary<V>::state
summary_of_numbers(const void *numbers, size_t n, const typename extremes<V>::state &ends)
{
    typename summary<V>::state summary;
    Variance(numbers, n, 0, &summary.numbers);
    summary.nans = 0;
    Sum(numbers, n, 0, &summary.sum);
    summary.ends = ends;
    return summary;
}

/* Numbers are gathered, a few at a time. */
template <class In, class V, fold_values *Variance, fold_values *Sum>
SHARED_FUNCTION typename summary<V>::state summary_without_nans(const In *x, size_t n)
{
    constexpr size_t few = 4096 / sizeof(In);
    In numbers[few];
    typename extremes<V>::state ends;
    typename summary<V>::state all = summary<V>::identity();
    for (size_t i = 0; i < n;) {
        size_t count = 0;
        for (; i < n && count < few; i++) {
            numbers[count] = x[i];
            count += !is_nan(V(x[i]));
            all.nans += is_nan(V(x[i]));
        }
        if (!count)
            continue;
        range_loop<In, V, extremes<V>>(numbers, count, 0, &ends);
        const auto some = summary_of_numbers<V, Variance, Sum>(numbers, count, ends);
        all = summary<V>::merge(all, some);
    }
    return all;
}

template <class In, class V, fold_values *Variance, fold_values *Sum>
void summary_loop(const void *elements, size_t n, uint64_t, void *state)
{
    typename extremes<V>::state ends;
    range_loop<In, V, extremes<V>>(elements, n, 0, &ends);
    put_state<summary<V>>(state, is_nan(ends.least)
                                     ? summary_without_nans<In, V, Variance, Sum>(
                                           static_cast<const In *>(elements), n)
                                     : summary_of_numbers<V, Variance, Sum>(elements, n, ends));
}

} // namespace
} // namespace KERNELS
