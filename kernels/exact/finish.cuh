/* Exact results that stay on the device, where the launch that made the words does not make these,
 * too: they begin with something, or there are none that were added. */
#pragma once

#include "leading.cuh"

#include "../ending.cuh"

namespace KERNELS
{

/* By a warp: a part's words with what the sum begins with, among all digits that there are. */
__device__ __forceinline__ void spread_part(shared<exact_word> words,
                                            global<const exact_word> state, struct exact_span span,
                                            const struct finish &how, int part)
{
    const int lane = int(threadIdx.x);
    for (int k = lane; k < EXACT_NOTES + EXACT_DIGITS; k += int(warp_size)) {
        const int digit = k - EXACT_NOTES - span.first;
        const bool reached = digit >= 0 && digit < span.digits;
        words[k] = k < EXACT_NOTES ? state[k] : reached ? state[EXACT_NOTES + digit] : 0;
    }
    __syncwarp();
    if (lane == 0 && how.has_initial)
        exact_words_begin(&how, part, seen_as<int64_t>(words));
    __syncwarp();
}

/* One warp. `counted` is the device's own count of what took part, null where the host knows. */
__global__ void exact_finish(global<const exact_word> state, enum reduction reduction,
                             SHARED_PARAMETER(struct finish) how, global<const uint64_t> counted,
                             enum element out_type, global<unsigned char> out, struct ending ending,
                             enum element accumulator)
{
    constexpr unsigned each = (EXACT_DIGITS + 2 + warp_size - 1) / warp_size;
    const struct exact_span all = {0, EXACT_DIGITS}, span = exact_span_of(accumulator);
    const shared<exact_word> words = block_memory<exact_word>();
    const bool mean = reduction == REDUCTION_mean || reduction == REDUCTION_nanmean;
    const struct exact_result result = {out, out_type, mean, how};
    const uint64_t count = (counted ? *counted : how.count) - state[EXACT_NOTE_LEFT_OUT];
    const int parts = exact_has_parts(accumulator) ? EXACT_PARTS : 1;
    uint64_t real = 0, imag = 0;
#pragma unroll 1
    for (int part = 0; part < parts; part++) {
        spread_part(words, state + part * exact_words_of_part(accumulator), span, how, part);
        const uint64_t bits =
            rounded_part<each>(words, all, result, count, exact_begins_negative(&how, part));
        real = part == EXACT_REAL ? bits : real;
        imag = part == EXACT_IMAGINARY ? bits : imag;
        __syncwarp();
    }
    if (threadIdx.x == 0) {
        store_rounded(result, out, real, imag);
        post(ending, uint32_t(0));
    }
}

} // namespace KERNELS
