/* Rounds exact sums on the device: a warp rounds words as the host does. */
#pragma once

#include "../mailbox.cuh"
#include "words.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* The leading bits that determine how a part's digits are rounded, for all lanes of a warp. Leading
 * and trailing zero digits, which are most of them, are skipped 32 at a time. */
__device__ __forceinline__ struct exact_leading leading_of(shared<const exact_word> digits,
                                                           struct exact_span span)
{
    const int lane = int(threadIdx.x % warp_size);
    int begin = span.digits, end = 0;
    for (int k = 0; k < span.digits; k += int(warp_size)) {
        const unsigned mask = __ballot_sync(whole_warp, k + lane < span.digits && digits[k + lane]);
        if (!mask)
            continue;
        begin = end > 0 ? begin : k + 31 - __clz(int(mask & (0 - mask)));
        end = k + 32 - __clz(int(mask));
    }
    return exact_find_leading(pointer_cast<const int64_t>(digits + begin), end - begin, 1,
                              (span.first + begin) * EXACT_DIGIT_BITS - EXACT_POINT);
}

/* Rounds a part; its words begin with the notes. Returns the bits of the sum, or of its root. */
__device__ __forceinline__ uint64_t round_part(shared<const exact_word> words,
                                               struct exact_span span,
                                               const struct exact_result &result, uint64_t count,
                                               bool begins_negative)
{
    const struct exact_leading leading = leading_of(words + EXACT_HEADER, span);
    const shared<const int64_t> notes = pointer_cast<const int64_t>(words);
    return exact_round_part(&result.finish, result.rounding, count, notes,
                            begins_negative && !notes[EXACT_NOT_NEGATIVE_ZERO], &leading);
}

/* Stores to any type and address. Out of line: it is long and rarely needed. */
static __device__ __noinline__ void store_converted(const struct exact_result &result,
                                                    global<unsigned char> out, uint64_t real,
                                                    uint64_t imag)
{
    const enum element to = result.out_type;
    scalar_store(out, scalar_narrow(exact_answer(&result.finish, real, imag), to), to);
}

/* Stores a float of 2, 4 or 8 bytes. */
__device__ __forceinline__ void store_float(global<unsigned char> out, uint64_t bits,
                                            unsigned bytes)
{
    if (bytes == sizeof(uint64_t))
        *pointer_cast<uint64_t>(out) = bits;
    else if (bytes == sizeof(uint32_t))
        *pointer_cast<uint32_t>(out) = uint32_t(bits);
    else
        *pointer_cast<uint16_t>(out) = uint16_t(bits);
}

/* Stores a result, in one thread that has the bits of its parts. */
__device__ __forceinline__ void store_rounded(const struct exact_result &result,
                                              global<unsigned char> out, uint64_t real,
                                              uint64_t imag)
{
    const struct finish &finish = result.finish;
    const unsigned bytes = unsigned(exact_format_of_part(&finish).width) / 8;
    if (result.out_type != finish.result || address_of(out) % bytes) {
        store_converted(result, out, real, imag);
        return;
    }
    store_float(out, real, bytes);
    if (element_is_complex(finish.result))
        store_float(out + bytes, imag, bytes);
}

/* Called by a warp: stores a result; round(part) returns the bits of a part. */
template <class Round>
__device__ __forceinline__ void store_parts(const struct exact_result &result, Round round)
{
    uint64_t real = 0, imag = 0;
#pragma unroll 1
    for (int part = 0; part < result.span.parts; part++) {
        const uint64_t bits = round(part);
        real = part == EXACT_REAL ? bits : real;
        imag = part == EXACT_IMAGINARY ? bits : imag;
        __syncwarp();
    }
    if (threadIdx.x % warp_size == 0)
        store_rounded(result, static_cast<unsigned char *>(result.out), real, imag);
}

/* Called by one warp of a block: rounds the block's words and stores the result. Out of line, so
 * that the preceding sum needs no registers for it. */
__device__ __noinline__ inline void round_words(shared<const exact_word> words,
                                                const struct exact_result &result)
{
    const uint64_t count = result.finish.count - words[EXACT_SKIPPED];
    const bool begins_negative = exact_needs_zero_signs(&result.finish);
    store_parts(result, [&](int part) {
        return round_part(words + part * exact_words_of_part(result.span), result.span, result,
                          count, begins_negative);
    });
}

} // namespace KERNELS
