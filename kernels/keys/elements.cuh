/* Loads adjacent elements and their keys (struct keyed_elements). */
#pragma once

#include "../load/slots.cuh"
#include "../mailbox.cuh"

#include "common/exact_sums.h"
#include "common/kernels.h"

namespace KERNELS
{

/* A struct kernel_keys, with a name in this namespace. */
struct keyed : kernel_keys {
    __device__ __forceinline__ unsigned sum_words() const
    {
        return sums.digits ? sums.digits - 1 : 0;
    }

    __device__ __forceinline__ global<unsigned long long> words_of(uint64_t result) const
    {
        return words + result * result_step;
    }

    /* The number of elements of a result, if they are counted. */
    __device__ __forceinline__ global<unsigned long long> count_of(uint64_t result) const
    {
        return words_of(result) + sum_words() * word_step;
    }
};

/* The adjacent elements that a thread loads at a time; `first` is a multiple of `count`. */
template <class V>
struct loaded_elements {
    static constexpr unsigned count = KEYS_PER_LOAD;
    int64_t keys[count];
    V values[count];
    uint64_t first;
    uint32_t valid; /* bit mask of elements before the end */

    __device__ __forceinline__ loaded_elements(const keyed &x, uint64_t first, uint64_t end)
        : first(first), valid(low_bits(end - first < count ? unsigned(end - first) : count))
    {
        typename slot<V>::type words[count];
        uint64_t key_words[count];
        if (x.of.width == 1)
            load(key_words, x.of.keys, x.of.key_bytes, x.of.aligned);
        else
            load_shared_keys(x, key_words);
        load(words, x.of.data, x.of.bytes, x.of.aligned);
        decode(keys, key_words, x.of.key_type);
        decode(values, words, x.of.input);
    }

    /* The result that an element is added to; x.results if none. */
    __device__ __forceinline__ uint64_t result(const keyed &x, unsigned k) const
    {
        const uint64_t key = uint64_t(keys[k]);
        if (key >= x.keys_end)
            return x.results;
        return x.of.width == 1 ? key : key * x.of.width + (first + k) % x.of.width;
    }

  private:
    template <class Word>
    __device__ __forceinline__ void load(Word (&words)[count], const void *array, unsigned bytes,
                                         bool aligned) const
    {
        constexpr int64_t run = 16; /* bytes per load, at most */
        const char *const at = static_cast<const char *>(array) + (first << bytes);
        const int64_t size = int64_t(1) << bytes;
        if (valid == low_bits(count))
            load_words(words, unsigned(size), all_slots{at, aligned ? run : size, aligned});
        else
            load_words(words, unsigned(size), some_slots{at, size, valid});
    }

    __device__ __forceinline__ void load_shared_keys(const keyed &x, uint64_t (&words)[count]) const
    {
#pragma unroll
        for (unsigned k = 0; k < count; k++) {
            uint64_t word[1] = {0};
            const uint64_t key = valid >> k & 1 ? (first + k) / x.of.width : 0;
            const char *const at = static_cast<const char *>(x.of.keys) + (key << x.of.key_bytes);
            load_words(word, 1u << x.of.key_bytes, all_slots{at, 0, false});
            words[k] = word[0];
        }
    }
};

/* Calls take(result, value) with this thread's share of the elements. */
template <class V, class Take>
__device__ __forceinline__ void each_element(const keyed &x, Take take)
{
    const uint64_t stride = uint64_t(gridDim.x) * blockDim.x * KEYS_PER_LOAD;
#pragma unroll 1
    for (uint64_t i = (uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) * KEYS_PER_LOAD; i < x.of.n;
         i += stride) {
        const loaded_elements<V> elements(x, i, x.of.n);
#pragma unroll
        for (unsigned k = 0; k < KEYS_PER_LOAD; k++)
            if (elements.valid >> k & 1)
                take(elements.result(x, k), elements.values[k]);
    }
}

/* The result that a thread finishes; x.results or more if none. Thread 0 posts what the preceding
 * launch found, so that the host has it before the results. */
__device__ __forceinline__ uint64_t result_to_finish(const keyed &x,
                                                     const struct epilogue &epilogue)
{
    const uint64_t result = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (result == 0)
        post(epilogue, x.found->bits);
    return result;
}

} // namespace KERNELS
