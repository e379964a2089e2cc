/* Exact sums by key, of elements in any order. Each block accumulates in a table in shared memory
 * and finally adds it to all results. If there are more results than slots, a slot belongs to the
 * first result that needs it; elements of others are added in global memory. So are all elements if
 * a sample shows no frequent key, since only atomics on the same address are serialized.
 *
 * Few digits suffice for numbers of similar magnitude. They are placed around the greatest number
 * of a sample, the same one in all blocks. A number that does not fit is reported, and everything
 * is repeated with digits for any number. */
#pragma once

#include "../exact/windows.cuh"
#include "digits.cuh"
#include "elements.cuh"

namespace KERNELS
{

/* ---- the table ---- */

constexpr unsigned no_slot = ~0u;

struct key_table {
    shared<uint32_t> words; /* all slots' lowest digits, their next digits, ..., their counts */
    shared<uint32_t> tags;  /* each slot's result number plus 1, or 0 if free; NULL if not needed */
    unsigned slots;         /* 0 if there is no table */

    __device__ __forceinline__ key_table(const keyed &x, bool used)
        : words(block_memory<uint32_t>()),
          tags(x.slots < x.results ? words + x.slots * (x.sums.digits + x.sums.counts) : nullptr),
          slots(used ? x.slots : 0)
    {
        const unsigned all = slots * (x.sums.digits + x.sums.counts + (tags != nullptr));
        for (unsigned k = threadIdx.x; k < all; k += blockDim.x)
            words[k] = 0;
    }

    __device__ __forceinline__ unsigned slot_of(uint64_t result) const
    {
        if (!tags || !slots)
            return slots ? unsigned(result) : no_slot;
        const uint32_t tag = uint32_t(result) + 1;
        const unsigned slot = unsigned(result) & (slots - 1);
        uint32_t seen = *const_cast<const volatile uint32_t *>(tags + slot);
        if (!seen)
            seen = atomicCAS(tags + slot, 0u, tag);
        return !seen || seen == tag ? slot : no_slot;
    }

    /* Adds the table to the results. Called after a barrier. */
    __device__ __forceinline__ void merge_into_results(const keyed &x) const
    {
        for (unsigned slot = threadIdx.x; slot < slots; slot += blockDim.x) {
            const uint64_t result = tags ? uint64_t(tags[slot]) - 1 : slot;
            if (result >= x.results)
                continue;
            for (unsigned k = 0; k < x.sum_words(); k++) {
                const exact_word above = k + 2 == x.sums.digits ? words[(k + 1) * slots + slot] : 0;
                add(x.words_of(result) + k * x.word_step,
                    above << EXACT_DIGIT_BITS | words[k * slots + slot]);
            }
            if (x.sums.counts)
                add(x.count_of(result), words[x.sums.digits * slots + slot]);
        }
    }

  private:
    static __device__ __forceinline__ void add(global<exact_word> to, exact_word addend)
    {
        if (addend)
            atomicAdd(to, addend);
    }
};

/* ---- a sample ---- */

/* The maximum over a block, for all threads. Uses the first words of shared memory. */
__device__ __forceinline__ uint32_t block_max(uint32_t x)
{
    const shared<uint32_t> warp_maxima = block_memory<uint32_t>();
    const unsigned lane = threadIdx.x % warp_size, warps = blockDim.x / warp_size;
    __syncthreads();
    if (x = warp_max(x); lane == 0)
        warp_maxima[threadIdx.x / warp_size] = x;
    __syncthreads();
    x = warp_max(lane < warps ? warp_maxima[lane] : 0);
    __syncthreads();
    return x;
}

/* A sample spread over the array, one element per thread. */
template <class V>
struct key_sample {
    int lowest;
    bool has_hot_keys;

    __device__ __forceinline__ explicit key_sample(const keyed &x)
        : lowest(x.sums.lowest), has_hot_keys(false)
    {
        const bool samples_keys = x.slots < x.results;
        if (x.sums.whole && !samples_keys)
            return;
        const uint64_t step = x.of.n < blockDim.x ? 1 : x.of.n / blockDim.x,
                       place = threadIdx.x * step;
        const loaded_elements<V> element(x, place, place < x.of.n ? place + 1 : place);
        if (!x.sums.whole) {
            const struct exact_number number = number_of(element.values[0], x.of.input);
            const bool counts =
                (element.valid & 1) && number.kind == EXACT_FINITE && number.significand;
            const int top = number.exponent + 64 - EXACT_CLZ(number.significand | 1);
            const int greatest = int(block_max(counts ? unsigned(top - lowest) : 0)) + lowest;
            const int bottom = greatest - int(x.sums.digits - 1) * EXACT_DIGIT_BITS;
            lowest = bottom > lowest ? bottom : lowest;
        }
        if (samples_keys)
            find_hot_keys(x, element.valid & 1 ? element.result(x, 0) : x.results);
    }

  private:
    __device__ __forceinline__ void find_hot_keys(const keyed &x, uint64_t result)
    {
        const shared<uint32_t> counters = block_memory<uint32_t>() + warp_size;
        const unsigned mask = blockDim.x - 1;
        counters[threadIdx.x] = 0;
        __syncthreads();
        if (result < x.results)
            atomicAdd(counters + (unsigned(result) & mask), 1u);
        __syncthreads();
        has_hot_keys = block_max(counters[threadIdx.x]) >= KEYS_HOT;
    }
};

/* ---- the kernel ---- */

template <class V>
struct key_accumulator {
    const keyed &x;
    const key_table &table;
    int lowest;
    unsigned flags;

    __device__ __forceinline__ void count(uint64_t result, unsigned slot) const
    {
        if (slot == no_slot)
            atomicAdd(x.count_of(result), exact_word(1));
        else
            atomicAdd(table.words + x.sums.digits * table.slots + slot, 1u);
    }

    __device__ __forceinline__ void add(uint64_t result, V value)
    {
        if (result >= x.results) {
            flags |= x.outside;
            return;
        }
        if ((x.sums.skips_nan && is_nan(value)) || (x.sums.digits == 0 && is_zero(value)))
            return;
        const struct exact_number number = number_of(value, x.of.input);
        const unsigned slot = table.slot_of(result);
        if (x.sums.counts)
            count(result, slot);
        if (x.sums.digits == 0 || number.kind != EXACT_FINITE) {
            if (x.sums.digits > 0)
                atomicOr(x.notes + result, 1u << exact_count_index(number.kind, number.negative));
            return;
        }
        const int place = number.exponent - lowest;
        if (place < 0 || (x.sums.limit && place + digits_of_value > int(x.sums.limit))) {
            flags |= number.significand ? unsigned(KEYS_OVERFLOW) : 0;
            return;
        }
        const placed_number placed = {number.significand, unsigned(place), number.negative};
        if (slot == no_slot)
            add_in_words<V>(x.words_of(result), x.word_step, x.sum_words(), placed);
        else
            add_in_table<V>(table.words + slot, table.slots, x.sums.digits, placed);
    }

  private:
    static constexpr int digits_of_value = std::numeric_limits<V>::digits;
};

template <class V>
__global__ void __launch_bounds__(1 << KEYS_BLOCK) add_by_key(SHARED_PARAMETER(keyed) x)
{
    const key_sample<V> sample(x);
    const key_table table(x, x.slots == x.results || sample.has_hot_keys);
    key_accumulator<V> accumulator = {x, table, sample.lowest, 0};
    __syncthreads();
    each_element<V>(x, [&](uint64_t result, V value) { accumulator.add(result, value); });
    if (accumulator.flags)
        atomicOr(&x.found->bits, accumulator.flags);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        x.found->lowest = sample.lowest;
    __syncthreads();
    table.merge_into_results(x);
}

} // namespace KERNELS
