/* Order statistics of rows by radix select: one 8-bit digit at a time, from the highest on, among
 * the keys that share the selected key's higher digits. Each digit takes one pass over the row, by
 * a block, or by all blocks of a cooperative launch, which add up their histograms in global
 * memory. Short rows are sorted, one per thread. */
#pragma once

#include "../vector.cuh"
#include "rank_key.cuh"

#include "common/kernel_arguments.h"

namespace KERNELS
{

enum { SELECT_DIGIT = 8 };
static_assert(SELECT_DIGITS == 1 << SELECT_DIGIT, "a digit has as many values as counts");

/* The bucket of a rank: its digit, the number of keys below it, and the number of keys in it. */
struct digit_bucket {
    unsigned digit, below, size;
};

/* The threads that process a row together, and their words: a block's, in shared memory, or those
 * of all blocks, in global memory, which are separate for each pass and zero initially. */
struct select_team {
    enum {
        NAN_WORD = SELECT_DIGITS,
        ARRIVED_COUNTS,
        ARRIVED_LEAST,
        LEAST_WORD = ARRIVED_LEAST + 2
    };
    static_assert(LEAST_WORD % 2 == 0 && LEAST_WORD + 2 <= SELECT_PASS_WORDS, "64 bits, aligned");

    shared<unsigned> counts;
    shared<digit_bucket> bucket;
    shared<unsigned long long> complement;
    global<unsigned> pass; /* NULL if the team is one block */
    unsigned first, step;

    __device__ __forceinline__ explicit select_team(const kernel_select &x)
        : counts(block_memory<unsigned>()),
          bucket(pointer_cast<digit_bucket>(counts + SELECT_DIGITS)),
          complement(pointer_cast<unsigned long long>(counts + SELECT_DIGITS + 4)), pass(x.passes),
          first(threadIdx.x), step(blockDim.x)
    {
        if (pass) {
            first += blockIdx.x * blockDim.x;
            step *= gridDim.x;
        }
    }

    /* Calls take(key) with the thread's share of a row's keys: aligned 16-byte packs, several loads
     * in flight, and the remaining keys. */
    template <bool Floats, class K, class Take>
    __device__ __forceinline__ void each_key(const rank_key<K> &codec, const K *row, unsigned n,
                                             Take take) const
    {
        using keys = pack<K>;
        constexpr unsigned loads = sizeof(K) > 1 ? 4 : 2;
        const unsigned head = elements_to_boundary(row, n), packs = (n - head) / keys::size,
                       edges = n - packs * keys::size;
        const global<const keys> aligned = pointer_cast<const keys>(row + head);
#pragma unroll 1
        for (unsigned i = first; i < packs; i += loads * step) {
            keys loaded[loads];
#pragma unroll
            for (unsigned k = 0; k < loads; k++)
                if (i + k * step < packs)
                    loaded[k] = aligned[i + k * step];
#pragma unroll
            for (unsigned k = 0; k < loads; k++)
                for (unsigned j = 0; j < keys::size && i + k * step < packs; j++)
                    take(codec.template encode<Floats>(loaded[k].at[j]));
        }
        if (first < edges)
            take(codec.template encode<Floats>(
                row[first < head ? first : first + packs * keys::size]));
    }

    __device__ __forceinline__ void clear() const
    {
        for (unsigned d = threadIdx.x; d < SELECT_DIGITS; d += blockDim.x)
            counts[d] = 0;
        if (threadIdx.x == 0)
            *complement = 0;
        __syncthreads();
    }

    /* Adds up the team's histograms, and returns to all threads whether any of them has `seen`. */
    __device__ __forceinline__ bool merge_histograms(bool seen) const
    {
        seen = __syncthreads_or(seen);
        if (!pass)
            return seen;
        for (unsigned d = threadIdx.x; d < SELECT_DIGITS; d += blockDim.x)
            if (counts[d])
                atomicAdd(pass + d, counts[d]);
        if (seen && threadIdx.x == 0)
            atomicOr(pass + NAN_WORD, 1u);
        grid_barrier(pass + ARRIVED_COUNTS);
        for (unsigned d = threadIdx.x; d < SELECT_DIGITS; d += blockDim.x)
            counts[d] = pass[d];
        __syncthreads();
        return pass[NAN_WORD];
    }

    /* Finds a rank's bucket with the first warp, whose lanes process 8 counts each. */
    __device__ __forceinline__ digit_bucket find(unsigned rank) const
    {
        constexpr unsigned per_lane = SELECT_DIGITS / warp_size;
        if (threadIdx.x < warp_size) {
            unsigned sum = 0;
            for (unsigned k = 0; k < per_lane; k++)
                sum += counts[threadIdx.x * per_lane + k];
            unsigned end = sum;
            for (unsigned offset = 1; offset < warp_size; offset *= 2) {
                const unsigned before = __shfl_up_sync(whole_warp, end, offset);
                end += threadIdx.x >= offset ? before : 0;
            }
            unsigned below = end - sum, digit = threadIdx.x * per_lane;
            if (rank >= below && rank < end) {
                for (; rank >= below + counts[digit]; digit++)
                    below += counts[digit];
                *bucket = {digit, below, counts[digit]};
            }
        }
        __syncthreads();
        return *bucket;
    }

    /* The maximum of all threads' words, for all of them. Called after clear(). */
    __device__ __forceinline__ unsigned long long team_max(unsigned long long word) const
    {
        if (word)
            atomicMax(complement, word);
        __syncthreads();
        if (!pass)
            return *complement;
        const auto of_all = pointer_cast<unsigned long long>(pass + LEAST_WORD);
        if (threadIdx.x == 0 && *complement)
            atomicMax(of_all, *complement);
        grid_barrier(pass + ARRIVED_LEAST);
        return *of_all;
    }

    __device__ __forceinline__ void next_pass()
    {
        __syncthreads();
        if (pass)
            pass += SELECT_PASS_WORDS;
    }
};

/* A key, and how many of the keys after it in sorted order are equal to it, if known. */
template <class K>
struct ranked_key {
    static constexpr unsigned not_counted = ~0u;
    K key;
    unsigned equal;
};

/* The least key that is not below `from`, of which there is at least one. */
template <bool Floats, class K>
__device__ __forceinline__ K least_key(select_team &team, const rank_key<K> &codec, const K *row,
                                       unsigned n, K from)
{
    K least = rank_key<K>::nan;
    team.clear();
    team.each_key<Floats>(codec, row, n,
                          [&](K key) { least = key >= from && key < least ? key : least; });
    const unsigned long long complement =
        team.team_max(least == rank_key<K>::nan ? 0 : ~(unsigned long long)least);
    team.next_pass();
    return complement ? K(~complement) : rank_key<K>::nan;
}

/* The key of a rank. If the row has a NaN, the result is NaN, unless NaNs are skipped. */
template <bool Floats, class K>
__device__ __forceinline__ ranked_key<K> key_of_rank(select_team &team, const rank_key<K> &codec,
                                                     const K *row, unsigned n, unsigned rank,
                                                     bool skips_nan)
{
    K prefix = 0;
    digit_bucket bucket;
    for (int shift = 8 * int(sizeof(K)) - SELECT_DIGIT; shift >= 0; shift -= SELECT_DIGIT) {
        const K above = K(prefix >> shift >> SELECT_DIGIT);
        unsigned nan = 0;
        team.clear();
        team.each_key<Floats>(codec, row, n, [&](K key) {
            nan |= unsigned(Floats && key == rank_key<K>::nan);
            if (K(key >> shift >> SELECT_DIGIT) == above)
                atomicAdd(&team.counts[unsigned(key >> shift) % SELECT_DIGITS], 1u);
        });
        nan = team.merge_histograms(nan && !skips_nan);
        bucket = team.find(rank);
        team.next_pass();
        if (nan)
            return {rank_key<K>::nan, n};
        prefix |= K(K(bucket.digit) << shift);
        rank -= bucket.below;
        if (bucket.size == 1 && shift > SELECT_DIGIT) /* one pass finds its only key */
            return {least_key<Floats>(team, codec, row, n, prefix), 0};
    }
    return {prefix, bucket.size - rank - 1};
}

/* The number of elements of a row that are not NaN. */
template <class K>
__device__ __forceinline__ unsigned count_numbers(select_team &team, const rank_key<K> &codec,
                                                  const K *row, unsigned n)
{
    unsigned nans = 0;
    team.clear();
    team.each_key<true>(codec, row, n, [&](K key) { nans += key == rank_key<K>::nan; });
    if (nans)
        atomicAdd(&team.counts[0], nans);
    team.merge_histograms(false);
    nans = team.counts[0];
    team.next_pass();
    return n - nans;
}

/* Finds the keys of ranks that are mostly consecutive, as for a median; these share all passes but
 * one. */
template <bool Floats, class K>
struct row_ranks {
    const rank_key<K> &codec;
    const K *row;
    uint64_t n, before;
    ranked_key<K> found;
    bool sorted, skips_nan;

    __device__ __forceinline__ row_ranks(const kernel_select &x, const rank_key<K> &codec,
                                         uint64_t r)
        : codec(codec), row(static_cast<const K *>(x.values) + r * x.n), n(x.n), before(n),
          found{0, ranked_key<K>::not_counted}, sorted(x.of.sorted), skips_nan(x.of.skips_nan)
    {
    }

    __device__ __forceinline__ uint64_t numbers(select_team &team) const
    {
        if (!Floats || !(skips_nan || sorted))
            return n;
        return sorted ? sorted_numbers(*this, n) : count_numbers(team, codec, row, unsigned(n));
    }

    __device__ __forceinline__ K operator[](uint64_t rank) const
    {
        return codec.template encode<Floats>(row[rank]);
    }

    __device__ __forceinline__ K at(select_team &team, uint64_t rank)
    {
        const bool counted = found.equal != ranked_key<K>::not_counted, next = rank == before + 1;
        if (sorted)
            return (*this)[rank];
        if (next && counted && found.equal > 0)
            found.equal--;
        else if (next && counted)
            found = {least_key<Floats>(team, codec, row, unsigned(n), K(found.key + 1)),
                     ranked_key<K>::not_counted};
        else if (rank != before)
            found = key_of_rank<Floats>(team, codec, row, unsigned(n), unsigned(rank), skips_nan);
        before = rank;
        return found.key;
    }
};

/* Computes a row's quantiles from its `numbers` numbers; key_of(rank) finds a key. */
template <class K, class KeyOf>
__device__ __forceinline__ void store_quantiles(const kernel_select &x, const rank_key<K> &codec,
                                                uint64_t r, uint64_t numbers, bool stores,
                                                KeyOf key_of)
{
    const bool none = numbers == 0 || (numbers < x.n && !x.of.skips_nan);
#pragma unroll 1
    for (unsigned k = 0; k < x.of.count; k++) {
        struct quantile_place place = {0, 0, 0};
        K low = rank_key<K>::nan, high = low;
        if (!none) {
            place =
                numbers == x.n ? x.places[k] : quantile_place(x.of.method, x.shares[k], numbers);
            low = key_of(place.below);
            high = place.part > 0 ? key_of(place.above) : low;
        }
        if (stores)
            quantile_store(static_cast<char *>(x.out) + (k * x.rows + r) * x.out_bytes,
                           codec.value(low), codec.value(high), place.part, x.of.input, x.of.out);
    }
}

template <bool Floats, class K>
__device__ __forceinline__ void select_in_row(const kernel_select &x, select_team &team,
                                              const rank_key<K> &codec, uint64_t r)
{
    row_ranks<Floats, K> ranks(x, codec, r);
    const bool stores = threadIdx.x == 0 && (blockIdx.x == 0 || !team.pass);
    store_quantiles(x, codec, r, ranks.numbers(team), stores,
                    [&](uint64_t rank) { return ranks.at(team, rank); });
}

template <class K>
__global__ void __launch_bounds__(512) select_rows(SHARED_PARAMETER(kernel_select) x)
{
    const rank_key<K> codec(x.of.input);
    select_team team(x);
    for (uint64_t r = team.pass ? 0 : blockIdx.x; r < x.rows; r += team.pass ? 1 : gridDim.x)
        if (codec.infinity)
            select_in_row<true>(x, team, codec, r);
        else
            select_in_row<false>(x, team, codec, r);
}

/* ---- short rows ---- */

/* Batcher's odd-even merge sort (Batcher, "Sorting networks and their applications", 1968). Its
 * comparisons do not depend on the keys, so all keys stay in registers. Merges sorted runs of
 * Length, by comparing keys at distance Distance and less. */
template <unsigned Length = 1, unsigned Distance = Length, unsigned N, class Word>
__device__ __forceinline__ void sort_in_registers(Word (&keys)[N])
{
    constexpr unsigned first = Distance < Length ? Distance : 0;
#pragma unroll
    for (unsigned k = first; k + Distance < N; k++) {
        const bool compares =
            (k - first) / Distance % 2 == 0 && k / (2 * Length) == (k + Distance) / (2 * Length);
        const Word a = keys[k], b = keys[k + Distance];
        keys[k] = compares && b < a ? b : a;
        keys[k + Distance] = compares && b < a ? a : b;
    }
    if constexpr (Distance > 1)
        sort_in_registers<Length, Distance / 2>(keys);
    else if constexpr (2 * Length < N)
        sort_in_registers<2 * Length>(keys);
}

/* Sorts a row of at most N elements, `inner` apart, in one thread. */
template <bool Floats, class K, unsigned N>
__device__ __forceinline__ void sort_row(const kernel_select &x, const rank_key<K> &codec,
                                         uint64_t r)
{
    std::conditional_t<sizeof(K) < sizeof(uint32_t), uint32_t, K> keys[N];
    /* Avoids a 64-bit division if possible. */
    const uint64_t outer = x.inner == 1           ? r
                           : x.rows <= UINT32_MAX ? uint32_t(r) / uint32_t(x.inner)
                                                  : r / x.inner;
    const global<const K> row = static_cast<const K *>(x.values) + outer * (x.n - 1) * x.inner + r;
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        keys[k] = k < x.n ? codec.template encode<Floats>(row[k * x.inner]) : rank_key<K>::nan;
    unsigned numbers = unsigned(x.n);
    if constexpr (Floats)
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            numbers -= k < x.n && keys[k] == rank_key<K>::nan;
    sort_in_registers(keys);
    store_quantiles(x, codec, r, numbers, true, [&](uint64_t rank) {
        K found = 0;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            found = k == rank ? K(keys[k]) : found;
        return found;
    });
}

template <class K, unsigned N>
__global__ void __launch_bounds__(SELECT_SORTERS) sort_rows(SHARED_PARAMETER(kernel_select) x)
{
    const rank_key<K> codec(x.of.input);
    const uint64_t r = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (r >= x.rows)
        return;
    if (codec.infinity)
        sort_row<true, K, N>(x, codec, r);
    else
        sort_row<false, K, N>(x, codec, r);
}

} // namespace KERNELS
