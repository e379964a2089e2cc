/* The host's loops over vector registers. This file is compiled once for each set of instructions,
 * which GRED_INSTRUCTIONS names; which set a processor has is found out when the module starts. */
#include "exponentials.cuh"
#include "norms.cuh"
#include "products.cuh"
#include "table.h"
#include "types.cuh"

namespace KERNELS
{
namespace
{

/* ---- positions: where the extremes are, the first of equals ---- */

/* The best of all numbers, and at which step each lane had it first. */
template <class In, class Order>
struct position_lanes {
    using element = In;
    using keys = key_of<In>;
    using K = key<In>;
    using position = bits_of<sizeof(In)>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register;
    /* Elements. Of arrays of many chunks hardly one is better than those before it, and to look for
     * where it is costs less than to know all along. */
    static constexpr size_t most = sizeof(In) == 1 ? 2047 : LOOP_MOST - 1;
    static_assert(most / step <= position(-1), "steps need more bits");
    best_lanes<In, Order> all;
    lanes<position> where = {};
    vector<position> now = {};
    decltype(vector<K>{} < vector<K>{}) nans = {};

    LANES_FUNCTION void take(const In *x)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const vector<K> key = keys::of(loaded<vector<K>>(x + r * in_register));
            const auto better = Order::better(keys::rank(key), keys::rank(all.best.at[r]));
            if constexpr (keys::has_nan)
                nans |= keys::nan(key);
            all.take(r, key);
            where.at[r] = better ? now : where.at[r];
        }
        now += 1;
    }

    /* Of equals the first. */
    LANES_FUNCTION size_t result(K *best) const
    {
        *best = all.result();
        const auto wanted = keys::rank(in_all(*best));
        lanes<position> places;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        places.at[r] = keys::rank(all.best.at[r]) == wanted ? where.at[r] : in_all(position(-1));
        position first;
        places.template merged<1>(&first, least());
        unsigned r = 0;
        while (!is_any(places.at[r] == in_all(first)))
            r++;
        return size_t(first) * step + r * in_register + first_lane(places.at[r] == in_all(first));
    }
};

/* False: there is a NaN. */
template <class In, class Order>
SHARED_FUNCTION bool find_position(const In *x, size_t n, key<In> *best, size_t *at)
{
    position_lanes<In, Order> lanes;
    take_all(lanes, x, n, x[0]);
    if (is_any(lanes.nans))
        return false;
    *at = lanes.result(best);
    return true;
}

/* Elements that are worth another look if the best is among them. */
template <class In>
constexpr size_t position_block = 8192 / (sizeof(In) > 2 ? sizeof(In) : 2);

/* Where the best is, is looked for in the last block that had a better one than all before. */
template <class In, class V, class Order, class Fold>
void position_loop(const void *elements, size_t n, uint64_t first, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    constexpr size_t most = position_block<In>;
    auto found = loaded<state_of<Fold>>(state);
    if (is_nan(found.value))
        return;
    if constexpr (std::is_arithmetic_v<key<In>>) {
        key<In> here;
        size_t at;
        if (n <= position_lanes<In, Order>::most && find_position<In, Order>(x, n, &here, &at)) {
            const V of_here = value<V, In>(here);
            if (found.index == UINT64_MAX || Order::better(of_here, found.value))
                put_state<Fold>(state, Fold::lift(of_here, first + at));
            return;
        }
    }
    size_t block = n;
    key<In> best;
    for (size_t at = 0; at < n; at += most) {
        const size_t length = n - at < most ? n - at : most;
        key<In> here;
        if (find_best<In, nan_is::noted, Order>(x + at, length, &here)) {
            const size_t nan = at + find_nan(x + at, length);
            return put_state<Fold>(state, Fold::lift(V(x[nan]), first + nan));
        }
        const V of_here = value<V, In>(here);
        if (found.index == UINT64_MAX || Order::better(of_here, found.value)) {
            found = Fold::lift(of_here, first + at);
            best = here;
            block = at;
        }
    }
    if (block == n)
        return;
    found.index = first + block + find_equal(x + block, n - block, best);
    put_state<Fold>(state, found);
}

/* ---- summaries ---- */

/* What the loops of extremes, variances and sums say of a chunk that is in the cache by then. NaNs
 * are taken out first, if there are any. */

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

/* ---- which loop ---- */

template <class In, class V>
fold_values *float_loop_of(enum fold fold)
{
    switch (fold) {
    case FOLD_nansum:
        return number_sum_loop<In, V>;
    case FOLD_nanprod:
        return product_loop<In, V, nanprod>;
    case FOLD_nanmin:
        return extreme_loop<In, V, least, nanmin<V>, nan_is::left_out>;
    case FOLD_nanmax:
        return extreme_loop<In, V, greatest, nanmax<V>, nan_is::left_out>;
    case FOLD_variance:
        return variance_loop<In, V>;
    case FOLD_norm1:
        return norm1_loop<In, V>;
    case FOLD_norm2:
        return norm2_loop<In, V>;
    case FOLD_norm_inf:
        return norm_inf_loop<In, V>;
    case FOLD_norm_neg_inf:
        return norm_neg_inf_loop<In, V>;
    case FOLD_logsumexp:
        return logsumexp_loop<In, V>;
    default:
        return nullptr;
    }
}

/* Values of their accumulator's type, or on their way there. */
template <class In, class V>
fold_values *loop_of(enum fold fold)
{
    switch (fold) {
    case FOLD_sum:
        return sum_loop<In, V>;
    case FOLD_prod:
        return product_loop<In, V>;
    case FOLD_nonzero:
        return count_loop<In, V>;
    case FOLD_min:
        return extreme_loop<In, V, least, min<V>>;
    case FOLD_max:
        return extreme_loop<In, V, greatest, max<V>>;
    case FOLD_extremes:
        return range_loop<In, V, extremes<V>>;
    case FOLD_argmin:
        return position_loop<In, V, least, argmin<V>>;
    case FOLD_argmax:
        return position_loop<In, V, greatest, argmax<V>>;
    case FOLD_summary:
        return summary_loop<In, V, variance_loop<In, V>, sum_loop<In, typename summed<V>::type>>;
    default:
        break;
    }
    if constexpr (is_float<In>)
        return float_loop_of<In, V>(fold);
    else
        return nullptr;
}

/* Of wider values than elements are. */
template <class In, class V>
fold_values *converting_loop_of(enum fold fold)
{
    if (fold == FOLD_sum)
        return sum_loop<In, V>;
    if constexpr (std::is_same_v<V, double>)
        return fold == FOLD_variance ? variance_loop<In, V>
               : fold == FOLD_norm1  ? norm1_loop<In, V>
               : fold == FOLD_norm2  ? norm2_loop<In, V>
                                     : nullptr;
    else
        return fold == FOLD_prod ? product_loop<In, V> : nullptr;
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

fold_values *KERNELS::find_values(enum fold fold, enum element input, enum element accumulator)
{
    return visit_pairs(
        input, accumulator,
        [=](auto in, auto v) { return loop_of<type_in<decltype(in)>, type_in<decltype(v)>>(fold); },
        [=](auto in, auto v) {
            return converting_loop_of<type_in<decltype(in)>, type_in<decltype(v)>>(fold);
        });
}

const struct cpu_kernels CPU_KERNELS(GRED_INSTRUCTIONS) = {
    find_values,  find_columns,         find_transpose, find_move,
    find_fill,    find_convert,         find_dot,       find_dot_slabs,
    find_windows, find_product_windows, find_unrounded, find_unrounded_columns,
};
