/* Order statistics of order-preserving unsigned keys. Of many keys, those between two elements of a
 * sample are kept, which nearly always include the rank: Floyd and Rivest (1975), "Expected time
 * bounds for selection", here branch-free and out of place. */
#pragma once

#include "../keys/rank_key.cuh"
#include "registers.cuh"
#include "types.cuh"

#include "common/cpu_kernels.h"

#include <algorithm>

namespace KERNELS
{
namespace
{

/* ---- keys ---- */

/* Stores the keys of n elements, `stride` bytes apart. */
template <bool Floats, class K>
FORCEINLINE void store_keys(const rank_key<K> &codec, const char *at, uint64_t n, int64_t stride,
                            K *keys)
{
    for (uint64_t i = 0; i < n; i++)
        keys[i] = codec.template encode<Floats>(load<K>(at + int64_t(i) * stride));
}

template <class K>
void store_keys(const rank_key<K> &codec, const char *at, uint64_t n, int64_t stride, K *keys)
{
    if (codec.infinity && stride == sizeof(K))
        store_keys<true>(codec, at, n, sizeof(K), keys);
    else if (codec.infinity)
        store_keys<true>(codec, at, n, stride, keys);
    else
        store_keys<false>(codec, at, n, stride, keys);
}

template <class K>
uint64_t count_nans(const rank_key<K> &codec, const K *keys, uint64_t n)
{
    uint64_t count = 0;
    for (uint64_t i = 0; codec.infinity && i < n; i++)
        count += keys[i] == codec.nan;
    return count;
}

/* ---- a call ---- */

/* A selection for one result. */
template <class K>
struct selector {
    const struct selection &job;
    struct selected one;
    rank_key<K> codec{job.of.input};

    struct quantile_place place(uint64_t k) const
    {
        return quantile_place(job.of.method, job.of.shares[k], one.numbers);
    }

    FORCEINLINE uint64_t rank(uint64_t k) const
    {
        const struct quantile_place found = place(k / 2);
        return k % 2 ? found.above : found.below;
    }

    FORCEINLINE void store_key(uint64_t k, K key) const
    {
        memcpy(one.keys + k * sizeof(K), &key, sizeof key);
    }

    const char *at(uint64_t i) const
    {
        return job.at + int64_t(one.result / job.inner) * job.outer_stride +
               int64_t(one.result % job.inner) * job.inner_stride + int64_t(i) * job.stride;
    }

    K operator[](uint64_t i) const
    {
        const K bits = load<K>(at(i));
        return codec.infinity ? codec.template encode<true>(bits)
                              : codec.template encode<false>(bits);
    }

    /* The last of the following ranks that are near the first. */
    uint64_t last_of_group(uint64_t first) const
    {
        uint64_t last = first;
        const uint64_t from = rank(first), near = job.n / 128 + 1;
        while (last + 1 < 2 * job.of.count && rank(last + 1) - from <= near)
            last++;
        return last;
    }

    void store() const
    {
        const uint64_t results = job.outer * job.inner;
        for (uint64_t k = 0; k < job.of.count; k++) {
            K keys[2] = {codec.nan, codec.nan};
            double part = 0;
            if (one.numbers) {
                part = place(k).part;
                memcpy(keys, one.keys + 2 * k * sizeof(K), sizeof keys);
            }
            quantile_store(job.out + (k * results + one.result) * element_size(job.of.out),
                           codec.value(keys[0]), codec.value(keys[1]), part, job.of.input,
                           job.of.out);
        }
    }
};

/* Sample keys that bracket two ranks, three standard deviations away on either side. */
template <class K>
void find_bracket(K *sample, uint64_t size, uint64_t n, uint64_t first, uint64_t last, K *bracket)
{
    const double scale = double(size) / double(n), margin = 1.5 * sqrt(double(size)) + 1;
    const double low = double(first) * scale - margin, high = double(last + 1) * scale + margin;
    const uint64_t k = low <= 0 ? 0 : uint64_t(low), l = uint64_t(high);
    bracket[0] = 0;
    bracket[1] = K(~K(0));
    if (low > 0) {
        std::nth_element(sample, sample + k, sample + size);
        bracket[0] = sample[k];
    }
    if (l < size) {
        std::nth_element(sample + k, sample + l, sample + size);
        bracket[1] = sample[l];
    }
}

/* Keeps the keys in the bracket and returns their number; counts lower keys in `less`. */
template <class K>
NOINLINE uint64_t filter_keys(const K *keys, uint64_t n, const K *bracket, K *kept, uint64_t *less)
{
    const K low = bracket[0], high = bracket[1];
    uint64_t m = 0, below = 0;
    for (uint64_t i = 0; i < n; i++) {
        const K key = keys[i];
        kept[m] = key;
        m += (key >= low) & (key <= high);
        below += key < low;
    }
    *less += below;
    return m;
}

constexpr uint64_t few_keys = 512, max_sample = 1 << 12;

/* Pseudo-random indices, so that patterns in the array do not bias the sample. */
struct random_indices {
    uint64_t state, n;

    FORCEINLINE uint64_t next()
    {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return uint64_t((unsigned __int128)(state >> 32 << 32) * n >> 64);
    }
};

/* The least and the greatest of several ranks. */
template <class K>
struct rank_span {
    uint64_t least, greatest;

    rank_span(const selector<K> &self, uint64_t first, uint64_t last)
        : least(self.rank(first)), greatest(least)
    {
        for (uint64_t k = first; k <= last; k++) {
            least = std::min(least, self.rank(k));
            greatest = std::max(greatest, self.rank(k));
        }
    }
};

/* Selects by partitioning n keys; `less` other keys are below them. */
template <class K>
void select_in_place(const selector<K> &self, uint64_t first, uint64_t last, K *keys, uint64_t n,
                     uint64_t less)
{
    uint64_t partitioned = 0;
    for (uint64_t k = first; k <= last; k++) {
        const uint64_t rank = self.rank(k) - less;
        if (rank >= partitioned)
            std::nth_element(keys + partitioned, keys + rank, keys + n);
        else
            std::nth_element(keys, keys + rank, keys + partitioned);
        partitioned = rank;
        self.store_key(k, keys[rank]);
    }
}

/* Selects ranks `first` to `last` of n keys, which are not modified; `less` other keys are below
 * them. `buffer` holds n keys. */
template <class K>
void select(const selector<K> &self, uint64_t first, uint64_t last, const K *keys, uint64_t n,
            uint64_t less, K *buffer)
{
    if (n > few_keys) {
        const rank_span<K> ends(self, first, last);
        K bracket[2];
        uint64_t size = 64, below = 0;
        while (size < max_sample && size * size < 16 * n)
            size *= 2;
        random_indices indices = {n, n};
        for (uint64_t k = 0; k < size; k++)
            buffer[k] = keys[indices.next()];
        find_bracket(buffer, size, n, ends.least - less, ends.greatest - less, bracket);
        const uint64_t m = filter_keys(keys, n, bracket, buffer, &below);
        const bool found = ends.least - less >= below && ends.greatest - less < below + m;
        if (found && bracket[0] == bracket[1]) {
            for (uint64_t k = first; k <= last; k++)
                self.store_key(k, bracket[0]);
            return;
        }
        if (found && m <= n / 2)
            return select(self, first, last, buffer, m, less + below, buffer + m);
    }
    memcpy(buffer, keys, n * sizeof(K));
    select_in_place(self, first, last, buffer, n, less);
}

/* ---- whole results ---- */

/* Selects from contiguous keys; `kept` has room for as many. */
template <class K>
void select_ranks(const selector<K> &self, K *keys, K *kept)
{
    const struct selection &job = self.job;
    const uint64_t ranks = 2 * job.of.count;
    const bool sorts = ranks > 2 && job.n <= few_keys;
    if (sorts)
        std::sort(keys, keys + job.n);
    for (uint64_t k = 0; k < ranks; k++)
        if (sorts) {
            self.store_key(k, keys[self.rank(k)]);
        } else {
            const uint64_t last = self.last_of_group(k);
            select(self, k, last, keys, job.n, 0, kept);
            k = last;
        }
}

template <class K>
void select_sorted(const struct selection &job, uint64_t result, K *found)
{
    selector<K> self = {job, {result, job.n, reinterpret_cast<char *>(found)}};
    const uint64_t numbers = self.codec.infinity ? sorted_numbers(self, job.n) : job.n;
    self.one.numbers = job.of.skips_nan || numbers == job.n ? numbers : 0;
    for (uint64_t k = 0; self.one.numbers && k < 2 * job.of.count; k++)
        self.store_key(k, self[self.rank(k)]);
    self.store();
}

template <class K>
void select_result(const struct selection &job, uint64_t result, K *keys)
{
    if (job.of.sorted)
        return select_sorted(job, result, keys);
    K *const kept = keys + job.n, *const found = kept + job.n;
    selector<K> self = {job, {result, job.n, reinterpret_cast<char *>(found)}};
    store_keys(self.codec, self.at(0), job.n, job.stride, keys);
    const uint64_t nans = count_nans(self.codec, keys, job.n);
    self.one.numbers = job.of.skips_nan ? job.n - nans : nans ? 0 : job.n;
    if (self.one.numbers)
        select_ranks(self, keys, kept);
    self.store();
}

/* ---- several short results in lanes ---- */

/* Stores a result's keys in a column. */
template <bool Floats, class K>
FORCEINLINE void store_column(const selector<K> &self, K *to)
{
    const char *at = self.at(0);
    for (uint64_t i = 0; i < self.job.n; i++, at += self.job.stride, to += SORTED_ROW / sizeof(K))
        *to = self.codec.template encode<Floats>(load<K>(at));
}

/* Stores the keys of adjacent results in columns. */
template <class K>
void store_columns(const selector<K> &self, uint64_t results, K *to)
{
    if (results == 1)
        return self.codec.infinity ? store_column<true>(self, to) : store_column<false>(self, to);
    const char *at = self.at(0);
    for (uint64_t i = 0; i < self.job.n; i++, at += self.job.stride, to += SORTED_ROW / sizeof(K))
        store_keys(self.codec, at, results, self.job.inner_stride, to);
}

template <class K>
void select_few(const struct selection &job, sort_columns *sort, uint64_t first, uint64_t count,
                K *keys)
{
    constexpr uint64_t row = SORTED_ROW / sizeof(K);
    uint64_t numbers[row];
    selector<K> self = {job, {first, job.n, nullptr}};
    std::fill_n(numbers, row, self.codec.infinity ? 0 : job.n);
    for (uint64_t lane = 0, some; lane < count; lane += some) {
        self.one.result = first + lane;
        some = std::min(count - lane, job.inner - self.one.result % job.inner);
        store_columns(self, some, keys + lane);
    }
    for (uint64_t i = 0; self.codec.infinity && i < job.n; i++)
        for (uint64_t lane = 0; lane < row; lane++)
            numbers[lane] += keys[i * row + lane] != self.codec.nan;
    sort(keys, job.n);
    const bool no_nans = std::count(numbers, numbers + count, job.n) == int64_t(count);
    for (uint64_t k = 0; k < job.of.count; k++) {
        const size_t size = element_size(job.of.out);
        const struct quantile_place of_all = quantile_place(job.of.method, job.of.shares[k], job.n);
        char *out = job.out + (k * job.outer * job.inner + first) * size;
        if (no_nans && of_all.part == 0 && job.of.input == job.of.out) { /* results are elements */
            K chosen[row];
            for (uint64_t lane = 0; lane < row; lane++)
                chosen[lane] = self.codec.decode(keys[of_all.below * row + lane]);
            memcpy(out, chosen, count * size);
            continue;
        }
        for (uint64_t lane = 0; lane < count; lane++, out += size) {
            const uint64_t n = job.of.skips_nan || numbers[lane] == job.n ? numbers[lane] : 0;
            const struct quantile_place place =
                n && n < job.n ? quantile_place(job.of.method, job.of.shares[k], n) : of_all;
            const K low = n ? keys[place.below * row + lane] : self.codec.nan,
                    high = n ? keys[place.above * row + lane] : self.codec.nan;
            quantile_store(out, self.codec.value(low), self.codec.value(high), place.part,
                           job.of.input, job.of.out);
        }
    }
}

/* ---- one result, by parts ---- */

template <class K>
struct selection_part filter_part(const selector<K> &self, uint64_t part, const uint64_t *bracket,
                                  K *kept, K *keys)
{
    const K ends[] = {K(bracket[0]), K(bracket[1])};
    const uint64_t first = part * SELECTION_PART,
                   n = std::min(self.job.n - first, uint64_t(SELECTION_PART));
    struct selection_part found = {0, 0, 0};
    store_keys(self.codec, self.at(first), n, self.job.stride, keys);
    found.nans = count_nans(self.codec, keys, n);
    found.kept = filter_keys(keys, n, ends, kept, &found.less);
    return found;
}

/* The bracket of ranks, from a sample, for which `buffer` is used. */
template <class K>
void sample_bracket(const selector<K> &self, const rank_span<K> &ends, K *buffer, uint64_t *bracket)
{
    K found[2];
    const uint64_t n = self.job.n;
    random_indices indices = {n, n};
    for (uint64_t k = 0; k < max_sample; k++)
        store_keys(self.codec, self.at(indices.next()), 1, 0, buffer + k);
    find_bracket(buffer, max_sample, n, ends.least, ends.greatest, found);
    bracket[0] = found[0];
    bracket[1] = found[1];
}

/* Selects ranks that are near each other. If they are outside the bracket, which is rare (one in
 * hundreds), selects from all keys. Returns the number of NaNs. `kept` has room for all keys. */
template <class K, class Filter>
uint64_t select_group(const selector<K> &self, uint64_t first, uint64_t last, K *kept,
                      Filter filter)
{
    const rank_span<K> ends(self, first, last);
    uint64_t bracket[2];
    sample_bracket(self, ends, kept, bracket);
    struct selection_part found = filter(bracket);
    if (ends.least < found.less || ends.greatest >= found.less + found.kept) {
        bracket[0] = 0;
        bracket[1] = UINT64_MAX;
        found = filter(bracket);
    }
    if (found.kept <= self.job.n / 2)
        select(self, first, last, kept, found.kept, found.less, kept + found.kept);
    else
        select_in_place(self, first, last, kept, found.kept, found.less);
    return found.nans;
}

/* If NaNs are skipped, ranks depend on their number, which is counted with an empty bracket. */
template <class K, class Filter>
void select_long(selector<K> self, K *kept, Filter filter)
{
    const struct selection &job = self.job;
    static constexpr uint64_t nothing[] = {1, 0};
    self.one.numbers = job.n - (job.of.skips_nan ? filter(nothing).nans : 0);
    for (uint64_t k = 0, last; self.one.numbers && k < 2 * job.of.count; k = last + 1) {
        last = self.last_of_group(k);
        if (select_group(self, k, last, kept, filter) && !job.of.skips_nan)
            self.one.numbers = 0;
    }
    self.store();
}

} // namespace
} // namespace KERNELS

#define WITH_KEY_TYPE(...)                                                                         \
    KERNELS::visit_words(element_size(job->of.input), [&](auto key) {                              \
        using K = decltype(key);                                                                   \
        __VA_ARGS__                                                                                \
    })

void select_quantiles(const struct selection *job, uint64_t result, char *workspace)
{
    WITH_KEY_TYPE(KERNELS::select_result(*job, result, reinterpret_cast<K *>(workspace)););
}

void select_quantiles_few(const struct selection *job, sort_columns *sort, uint64_t first,
                          uint64_t count, char *workspace)
{
    WITH_KEY_TYPE(KERNELS::select_few(*job, sort, first, count, reinterpret_cast<K *>(workspace)););
}

void select_quantiles_long(const struct selection *job, const struct selected *one, char *kept,
                           filter_parts *filter, void *context)
{
    WITH_KEY_TYPE(
        KERNELS::select_long(KERNELS::selector<K>{*job, *one}, reinterpret_cast<K *>(kept),
                             [=](const uint64_t *bracket) { return filter(context, bracket); }););
}

struct selection_part selection_filter(const struct selection *job, const struct selected *one,
                                       uint64_t part, const uint64_t bracket[2], char *kept,
                                       char *workspace)
{
    return WITH_KEY_TYPE(return KERNELS::filter_part(KERNELS::selector<K>{*job, *one}, part,
                                                     bracket, reinterpret_cast<K *>(kept),
                                                     reinterpret_cast<K *>(workspace)););
}
