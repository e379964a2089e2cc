/* Rounds exact sums by key, one thread per result. */
#pragma once

#include "../exact/rounding.cuh"
#include "digits.cuh"

namespace KERNELS
{

/* Optimized for two words, which most sums have. */
__device__ __forceinline__ struct exact_leading leading_by_key(const keyed &x, uint64_t result)
{
    const auto words = reinterpret_cast<const int64_t *>(x.words_of(result));
    const int lowest = x.found->lowest;
    if (x.sum_words() == 2)
        return exact_leading_of(__int128(words[x.word_step]) + (words[0] >> EXACT_DIGIT_BITS),
                                uint32_t(words[0]), lowest);
    return exact_find_leading(words, int(x.sum_words()), x.word_step, lowest);
}

__device__ __forceinline__ uint64_t round_by_key(const keyed &x, uint64_t result,
                                                 const struct exact_result &how)
{
    const unsigned found = x.notes[result];
    int64_t notes[EXACT_COUNTS];
    for (unsigned note = 0; note < EXACT_COUNTS; note++)
        notes[note] = found >> note & 1;
    const struct exact_leading leading = leading_by_key(x, result);
    const uint64_t count = x.sums.counts ? *x.count_of(result) : 0;
    return exact_round_part(&how.finish, how.rounding, count, notes, false, &leading);
}

__global__ void finish_by_key(SHARED_PARAMETER(keyed) x, SHARED_PARAMETER(struct exact_result) how,
                              struct epilogue epilogue)
{
    const uint64_t k = result_to_finish(x, epilogue);
    if (k >= x.results)
        return;
    const global<unsigned char> out = static_cast<unsigned char *>(how.out) + k * x.sums.out_bytes;
    if (!x.sums.wraps)
        return store_rounded(how, out, round_by_key(x, k, how), 0);
    const uint64_t word = *x.words_of(k); /* the only word; the same for a count */
    const unsigned bytes = x.sums.out_bytes;
    for (unsigned byte = 0; byte < bytes; byte++)
        out[byte] = static_cast<unsigned char>(word >> 8 * byte);
}

} // namespace KERNELS
