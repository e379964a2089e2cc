/* Rounds exact sums by key: a thread a result. */
#pragma once

#include "../exact/rounding.cuh"
#include "digits.cuh"

namespace KERNELS
{

/* Calls take(k, digit) with a sum's digits, from the lowest to the sign's; of a negated one, the
 * negated sum's. Returns whether the sum is negative. */
template <class Take>
__device__ __forceinline__ bool each_digit(const keyed &x, uint64_t result, bool negated, Take take)
{
    int64_t carry = 0;
#pragma unroll 1
    for (unsigned k = 0; k <= x.sums.digits; k++) {
        const int64_t word = k < x.sum_words() ? int64_t(x.words_of(result)[k * x.word_step]) : 0;
        carry += negated ? -word : word;
        take(k, uint32_t(carry));
        carry >>= EXACT_DIGIT_BITS;
    }
    return carry < 0;
}

__device__ __forceinline__ struct exact_leading leading_by_key(const keyed &x, uint64_t result,
                                                               int lowest)
{
    struct exact_leading leading = {};
    uint32_t last[EXACT_SHOWN] = {};
    bool rest = false;
    leading.negative = each_digit(x, result, false, [](unsigned, uint32_t) {});
    each_digit(x, result, leading.negative, [&](unsigned k, uint32_t digit) {
        rest |= last[0] != 0;
#pragma unroll
        for (unsigned j = 0; j + 1 < EXACT_SHOWN; j++)
            last[j] = last[j + 1];
        last[EXACT_SHOWN - 1] = digit;
        if (!digit)
            return;
        memcpy(leading.digits, last, sizeof last);
        leading.rest = rest;
        leading.place = lowest + (int(k) - EXACT_SHOWN + 1) * EXACT_DIGIT_BITS;
    });
    return leading;
}

/* A float's bits of a sum of two words: all that there is are 128 bits. */
__device__ __forceinline__ uint64_t rounded_pair(global<const exact_word> low, exact_word high,
                                                 int lowest, struct exact_format format)
{
    const __int128 sum = __int128(int64_t(high)) * (int64_t(1) << EXACT_DIGIT_BITS) + int64_t(*low);
    const bool negative = sum < 0;
    unsigned __int128 bits = negative ? -sum : sum;
    if (!bits)
        return 0;
    const uint64_t upper = uint64_t(bits >> 64);
    const int above = upper ? EXACT_BITS_ABOVE(upper) : 64 + EXACT_BITS_ABOVE(uint64_t(bits));
    bits <<= above;
    const struct exact_bits first = {uint64_t(bits >> 64), lowest + 64 - above,
                                     uint64_t(bits) != 0};
    return exact_nearest(first, format) | uint64_t(negative) << (format.width - 1);
}

__device__ __forceinline__ uint64_t rounded_by_key(const keyed &x, uint64_t result,
                                                   const struct exact_result &how)
{
    const unsigned found = x.notes[result];
    const int lowest = x.found->lowest;
    if (x.sum_words() == 2 && !how.mean && !found)
        return rounded_pair(x.words_of(result), x.words_of(result)[x.word_step], lowest,
                            exact_format_of_part(&how.finish));
    int64_t notes[EXACT_COUNTS];
    for (unsigned note = 0; note < EXACT_COUNTS; note++)
        notes[note] = found >> note & 1;
    const struct exact_leading leading = leading_by_key(x, result, lowest);
    const uint64_t count = x.sums.counts ? *x.count_of(result) : 0;
    return exact_round_part(&how.finish, how.mean, count, notes, false, &leading);
}

/* A sum that wraps around, or a count. */
__device__ __forceinline__ void store_low_bytes(global<unsigned char> out, uint64_t bits,
                                                unsigned bytes)
{
    for (unsigned k = 0; k < bytes; k++)
        out[k] = static_cast<unsigned char>(bits >> 8 * k);
}

__global__ void finish_by_key(SHARED_PARAMETER(keyed) x, SHARED_PARAMETER(struct exact_result) how,
                              struct epilogue epilogue)
{
    const uint64_t k = result_to_finish(x, epilogue);
    if (k >= x.results)
        return;
    const global<unsigned char> out = static_cast<unsigned char *>(how.out) + k * x.sums.out_bytes;
    if (x.sums.wraps) /* a count is the only word, too */
        store_low_bytes(out, *x.words_of(k), x.sums.out_bytes);
    else
        store_rounded(how, out, rounded_by_key(x, k, how), 0);
}

} // namespace KERNELS
