/* The host's vectorized loops. This file is compiled once per instruction set, named by
 * GRED_INSTRUCTIONS; the module chooses one at startup. */
#include "exponentials.cuh"
#include "norms.cuh"
#include "products.cuh"
#include "table.h"
#include "types.cuh"

namespace KERNELS
{
namespace
{

/* ---- positions of extremes, the first of equal elements ---- */

/* Elements per block; only the block with the best element is searched again. */
template <class In>
constexpr size_t position_block = 8192 / (sizeof(In) > 2 ? sizeof(In) : 2);

/* Searches for the position in the last block that had a better element than all before. */
template <class In, class V, class Order, class Fold, nan_policy Nan = nan_policy::propagate>
void position_loop(const void *elements, size_t n, uint64_t first, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    constexpr size_t block_size = position_block<In>;
    auto found = load<state_of<Fold>>(state);
    if (is_nan(found.value))
        return;
    size_t block = n;
    key<In> best;
    for (size_t at = 0; at < n; at += block_size) {
        const size_t length = n - at < block_size ? n - at : block_size;
        key<In> block_best;
        const bool any = find_best<In, Nan, Order>(x + at, length, &block_best);
        if (Nan == nan_policy::propagate && any) {
            const size_t nan = at + find_nan(x + at, length);
            return store_state<Fold>(state, Fold::lift(V(x[nan]), first + nan));
        }
        if (Nan == nan_policy::omit && !any)
            continue;
        const V block_value = value<V, In>(block_best);
        if (found.index == UINT64_MAX || Order::better(block_value, found.value)) {
            found = Fold::lift(block_value, first + at);
            best = block_best;
            block = at;
        }
    }
    if (block == n)
        return;
    found.index = first + block + find_equal(x + block, n - block, best);
    store_state<Fold>(state, found);
}

/* ---- summaries ---- */

/* Combines the loops of extremes, variances and sums, all but the first on cached elements. */

/* For elements with NaNs among them. */
template <class In, class V>
NOINLINE typename summary<V>::state summary_without_nans(const In *x, size_t n)
{
    key<In> best[2];
    auto all = summary<V>::identity();
    all.nans = n;
    if (!find_best<In, nan_policy::omit, least, greatest>(x, n, best))
        return all;
    const auto numbers = nansum_state<wide_of<V>>(x, n);
    return {float_variance<V, nan_policy::omit>(x, n, numbers),
            n - numbers.count,
            numbers.sum,
            {first_value<V>(x, n, best[0]), first_value<V>(x, n, best[1])}};
}

template <class In, class V>
void summary_loop(const void *elements, size_t n, uint64_t, void *state)
{
    typename summary<V>::state all;
    range_loop<In, V>(elements, n, 0, &all.ends);
    if constexpr (is_float<In>)
        if (is_nan(all.ends.least))
            return store_state<summary<V>>(
                state, summary_without_nans<In, V>(static_cast<const In *>(elements), n));
    variance_loop<In, V>(elements, n, 0, &all.numbers);
    all.nans = 0;
    sum_loop<In, decltype(all.sum)>(elements, n, 0, &all.sum);
    store_state<summary<V>>(state, all);
}

/* ---- sorting ---- */

/* Stores the lesser keys of two rows in the first row, the greater ones in the second. */
template <class K>
FORCEINLINE void compare_rows(char *first, char *second)
{
    UNROLLED_FOR(unsigned byte = 0; byte < SORTED_ROW; byte += register_bytes)
    {
        const auto a = load<vector<K>>(first + byte), b = load<vector<K>>(second + byte);
        const vector<K> low = a < b ? a : b, high = a < b ? b : a;
        memcpy(first + byte, &low, sizeof low);
        memcpy(second + byte, &high, sizeof high);
    }
}

/* Sorts columns, one per lane, by the same comparisons: Batcher's merge exchange, as in Knuth
 * (1998), "The Art of Computer Programming", volume 3, algorithm 5.2.2M. */
template <class K>
void sort_rows(void *keys, uint64_t n)
{
    char *const rows = static_cast<char *>(keys);
    uint64_t top = 1;
    while (2 * top < n)
        top *= 2;
    for (uint64_t p = top; p > 0; p /= 2)
        for (uint64_t q = top, from = 0, apart = p;; from = p, apart = q - p, q /= 2) {
            for (uint64_t i = from; i + apart < n; i += 2 * p)
                for (uint64_t k = i; k < i + p && k + apart < n; k++)
                    compare_rows<K>(rows + k * SORTED_ROW, rows + (k + apart) * SORTED_ROW);
            if (q == p)
                break;
        }
}

/* ---- which loop ---- */

template <class In, class V>
fold_values *float_loop_of(enum fold fold)
{
    return fold == FOLD_nansum      ? nansum_loop<In, V>
           : fold == FOLD_nanprod   ? product_loop<In, V, nanprod>
           : fold == FOLD_nanmin    ? extreme_loop<In, V, least, nanmin<V>, nan_policy::omit>
           : fold == FOLD_nanmax    ? extreme_loop<In, V, greatest, nanmax<V>, nan_policy::omit>
           : fold == FOLD_nanargmin ? position_loop<In, V, least, nanargmin<V>, nan_policy::omit>
           : fold == FOLD_nanargmax ? position_loop<In, V, greatest, nanargmax<V>, nan_policy::omit>
           : fold == FOLD_variance  ? variance_loop<In, V>
           : fold == FOLD_nanvariance  ? variance_loop<In, V, nan_policy::omit>
           : fold == FOLD_norm1        ? norm1_loop<In, V>
           : fold == FOLD_norm2        ? norm2_loop<In, V>
           : fold == FOLD_norm_inf     ? norm_inf_loop<In, V>
           : fold == FOLD_norm_neg_inf ? norm_neg_inf_loop<In, V>
           : fold == FOLD_logsumexp    ? logsumexp_loop<In, V>
                                       : nullptr;
}

/* Loops for elements and their own accumulator. */
template <class In, class V>
fold_values *loop_of(tag<In>, tag<V>, enum fold fold)
{
    fold_values *of_floats = nullptr;
    if constexpr (is_float<In>)
        of_floats = float_loop_of<In, V>(fold);
    return fold == FOLD_sum        ? sum_loop<In, V>
           : fold == FOLD_prod     ? product_loop<In, V>
           : fold == FOLD_nonzero  ? count_loop<In, V>
           : fold == FOLD_min      ? extreme_loop<In, V, least, min<V>>
           : fold == FOLD_max      ? extreme_loop<In, V, greatest, max<V>>
           : fold == FOLD_extremes ? range_loop<In, V>
           : fold == FOLD_argmin   ? position_loop<In, V, least, argmin<V>>
           : fold == FOLD_argmax   ? position_loop<In, V, greatest, argmax<V>>
           : fold == FOLD_summary  ? summary_loop<In, V>
                                   : of_floats;
}

/* Loops for accumulators wider than the elements' own. */
template <class In, class V>
fold_values *converting_loop_of(tag<In>, tag<V>, enum fold fold)
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
        input, accumulator, [=](auto in, auto v) { return loop_of(in, v, fold); },
        [=](auto in, auto v) { return converting_loop_of(in, v, fold); });
}

sort_columns *KERNELS::find_sort(size_t size)
{
    return visit_words(size, [](auto key) { return sort_rows<decltype(key)>; });
}

const struct cpu_kernels CPU_KERNELS(GRED_INSTRUCTIONS) = {
    find_values,  find_columns,         find_transpose, find_move,
    find_fill,    find_convert,         find_dot,       find_dot_slabs,
    find_windows, find_product_windows, find_unrounded, find_unrounded_columns,
    find_sort,
};
