/* Order statistics of rows, a block each, by radix selection: a digit of 8 bits after the other,
 * from the highest on, of the keys that begin as the ranked one does. A row is read once a digit,
 * from a cache but for the first. */
#pragma once

#include "../warp.cuh"
#include "rank_key.cuh"

#include "common/kernel_arguments.h"

namespace KERNELS
{

enum { SELECT_DIGIT = 8 };
static_assert(SELECT_DIGITS == 1 << SELECT_DIGIT, "a digit has as many values as counts");

/* Of one digit how many keys have each value, and then which is that of a rank, how many keys are
 * below, and how many of the same value come after it. */
struct digit_counts {
    shared<unsigned> counts, found;

    __device__ __forceinline__ digit_counts()
        : counts(block_memory<unsigned>()), found(counts + SELECT_DIGITS)
    {
    }

    __device__ __forceinline__ void clear() const
    {
        for (unsigned d = threadIdx.x; d < SELECT_DIGITS; d += blockDim.x)
            counts[d] = 0;
        __syncthreads();
    }

    /* By the first warp, each thread of which has 8 values; between barriers. */
    __device__ __forceinline__ void find(unsigned rank) const
    {
        constexpr unsigned own = SELECT_DIGITS / warp_size;
        if (threadIdx.x >= warp_size)
            return;
        unsigned sum = 0;
        for (unsigned k = 0; k < own; k++)
            sum += counts[threadIdx.x * own + k];
        unsigned end = sum;
        for (unsigned offset = 1; offset < warp_size; offset *= 2) {
            const unsigned before = __shfl_up_sync(whole_warp, end, offset);
            end += threadIdx.x >= offset ? before : 0;
        }
        unsigned below = end - sum;
        if (rank < below || rank >= end)
            return;
        unsigned digit = threadIdx.x * own;
        for (; rank >= below + counts[digit]; digit++)
            below += counts[digit];
        found[0] = digit;
        found[1] = below;
        found[2] = below + counts[digit] - rank - 1;
    }
};

/* A key, and how many of those that come after it are equal; or that nobody knows. */
template <class K>
struct ranked_key {
    static constexpr unsigned not_counted = ~0u;
    K key;
    unsigned equal;
};

/* The key of a rank, of a block for all its threads; or NaN's, if there is one. */
template <class K, bool Floats>
__device__ __forceinline__ ranked_key<K> key_of_rank(const rank_key<K> &form, const K *row,
                                                     unsigned n, unsigned rank)
{
    const digit_counts digits;
    K prefix = 0;
    for (int shift = 8 * int(sizeof(K)) - SELECT_DIGIT; shift >= 0; shift -= SELECT_DIGIT) {
        const K above = K(prefix >> shift >> SELECT_DIGIT);
        bool nan = false;
        digits.clear();
        for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
            const K key = form.template of<Floats>(row[i]);
            nan |= Floats && key == rank_key<K>::nan;
            if (K(key >> shift >> SELECT_DIGIT) == above)
                atomicAdd(&digits.counts[unsigned(key >> shift) % SELECT_DIGITS], 1u);
        }
        if (__syncthreads_or(nan))
            return {rank_key<K>::nan, n};
        digits.find(rank);
        __syncthreads();
        prefix |= K(K(digits.found[0]) << shift);
        rank -= digits.found[1];
    }
    return {prefix, digits.found[2]};
}

/* The least key above one, in one more pass: the greatest complement. */
template <class K, bool Floats>
__device__ __forceinline__ K next_key(const rank_key<K> &form, const K *row, unsigned n, K key)
{
    const shared<unsigned long long> greatest =
        reinterpret_cast<unsigned long long *>(&block_memory<unsigned>()[SELECT_WORDS - 2]);
    K least = rank_key<K>::nan;
    if (threadIdx.x == 0)
        *greatest = 0;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < n; i += blockDim.x) {
        const K other = form.template of<Floats>(row[i]);
        least = other > key && other < least ? other : least;
    }
    if (least != rank_key<K>::nan)
        atomicMax(greatest, ~(unsigned long long)least);
    __syncthreads();
    least = *greatest ? K(~*greatest) : least;
    __syncthreads();
    return least;
}

/* Ranks that follow one another, as those of a median do, share all passes but one. */
template <class K, bool Floats>
__device__ __forceinline__ void select_in_row(const kernel_select &x, const rank_key<K> &form,
                                              uint64_t r)
{
    const K *const row = static_cast<const K *>(x.values) + r * x.n;
    const unsigned n = unsigned(x.n);
    ranked_key<K> found = {0, ranked_key<K>::not_counted};
    for (unsigned k = 0; k < x.count; k++) {
        const bool counted = found.equal != ranked_key<K>::not_counted;
        const unsigned ahead = k ? x.ranks[k] - x.ranks[k - 1] : n;
        if (ahead == 1 && counted && found.equal > 0)
            found.equal--;
        else if (ahead == 1 && counted)
            found = {next_key<K, Floats>(form, row, n, found.key), ranked_key<K>::not_counted};
        else if (ahead > 0)
            found = key_of_rank<K, Floats>(form, row, n, x.ranks[k]);
        if (threadIdx.x == 0)
            static_cast<K *>(x.out)[k * x.rows + r] = form.bits(found.key);
    }
}

template <class K>
__global__ void __launch_bounds__(512) select_rows(SHARED_PARAMETER(kernel_select) x)
{
    const rank_key<K> form(x.input);
    for (uint64_t r = blockIdx.x; r < x.rows; r += gridDim.x)
        if (form.infinity)
            select_in_row<K, true>(x, form, r);
        else
            select_in_row<K, false>(x, form, r);
}

} // namespace KERNELS
