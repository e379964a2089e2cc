/* Exact results on the device: a warp rounds words. Its lanes pass the carries on side by side, and
 * find the digits that decide; with these all of them do what the host does. */
#pragma once

#include "../mailbox.cuh"
#include "words.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* A lane's neighbouring digits of a long number, lane 0's being the last ones. */
template <unsigned Each>
struct lane_digits {
    uint32_t at[Each];

    /* Adds to the last one; returns what is carried on. */
    __device__ __forceinline__ uint32_t add(uint32_t carry)
    {
#pragma unroll
        for (unsigned k = 0; k < Each; k++) {
            at[k] += carry;
            carry = at[k] < carry;
        }
        return carry;
    }

    __device__ __forceinline__ bool are_all(uint32_t digit) const
    {
        bool all = true;
#pragma unroll
        for (unsigned k = 0; k < Each; k++)
            all &= at[k] == digit;
        return all;
    }

    /* How many there are up to the last that is not 0. */
    __device__ __forceinline__ unsigned length() const
    {
        unsigned length = 0;
#pragma unroll
        for (unsigned k = 0; k < Each; k++)
            length = at[k] ? k + 1 : length;
        return length;
    }

    /* Whether one of the first so many is not 0. */
    __device__ __forceinline__ bool any_of(int count) const
    {
        bool any = false;
#pragma unroll
        for (unsigned k = 0; k < Each; k++)
            any |= int(k) < count && at[k];
        return any;
    }
};

/* Words as a number in two's complement, whose digits end with the warp's, far above them.
 *
 * To every word is added what makes it positive: 2^63 to the last one, 2^63 - 2^31 to the others,
 * which is 2^31 times what a number of as many digits can have and 1, or 0. A lane then hands on
 * less than 2^32, and what its neighbour hands on when that is added is a bit: it is 1 only where
 * few bits are left, so that nothing goes through such a lane. Through others it goes if all of
 * their bits are 1: to find out where to, bits of lanes are added as numbers are. */
template <unsigned Each>
__device__ __forceinline__ lane_digits<Each> complement_of(shared<const exact_word> words,
                                                           unsigned count)
{
    constexpr exact_word lift = (exact_word(1) << 63) - (exact_word(1) << 31);
    const unsigned lane = threadIdx.x % warp_size;
    lane_digits<Each> digits;
    exact_word carry = lane == 0 ? exact_word(1) << 31 : 0;
#pragma unroll
    for (unsigned k = 0; k < Each; k++) {
        const unsigned place = lane * Each + k;
        carry += lift + (place < count ? words[place] : 0);
        digits.at[k] = uint32_t(carry);
        carry >>= EXACT_DIGIT_BITS;
    }
    const uint32_t below = __shfl_up_sync(whole_warp, uint32_t(carry), 1);
    const bool hands_on = digits.add(lane == 0 ? 0 : below);
    const unsigned begins = __ballot_sync(whole_warp, hands_on) << 1,
                   passes = __ballot_sync(whole_warp, digits.are_all(~0u));
    digits.add((((begins + passes) ^ passes) | begins) >> lane & 1);
    return digits;
}

/* Makes a magnitude of two's complement; returns whether it was negative. What is after the last
 * digit that is not 0 stays as it is. */
template <unsigned Each>
__device__ __forceinline__ bool take_sign(lane_digits<Each> &digits)
{
    const bool negative =
        __shfl_sync(whole_warp, digits.at[Each - 1], warp_size - 1) >> (EXACT_DIGIT_BITS - 1);
    const unsigned lane = threadIdx.x % warp_size,
                   some = __ballot_sync(whole_warp, !digits.are_all(0));
    if (negative) {
#pragma unroll
        for (unsigned k = 0; k < Each; k++)
            digits.at[k] = ~digits.at[k];
        digits.add(!(some & ((1u << lane) - 1)));
    }
    return negative;
}

/* What decides how a part's words are rounded, for all of a warp's lanes. The words are no more
 * than 2^63 - 2^32 in magnitude, and lost. */
template <unsigned Each>
__device__ __forceinline__ struct exact_leading leading_of(shared<exact_word> words,
                                                           struct exact_span span)
{
    const unsigned lane = threadIdx.x % warp_size, count = unsigned(span.digits);
    lane_digits<Each> digits = complement_of<Each>(words, count);
    struct exact_leading leading;
    leading.negative = take_sign(digits);
    const unsigned own = digits.length(), some = __ballot_sync(whole_warp, own > 0);
    const unsigned highest = some ? 31 - unsigned(__clz(int(some))) : 0;
    const int last = int(highest * Each + __shfl_sync(whole_warp, own, highest)) - EXACT_SHOWN;
    leading.rest = __any_sync(whole_warp, digits.any_of(last - int(lane * Each)));
    leading.place = (span.first + last) * EXACT_DIGIT_BITS - EXACT_POINT;
    const shared<uint32_t> room = seen_as<uint32_t>(words); /* for two digits a word */
    __syncwarp();
#pragma unroll
    for (unsigned k = 0; k < Each; k++)
        if (lane * Each + k < 2 * count)
            room[lane * Each + k] = digits.at[k];
    __syncwarp();
#pragma unroll
    for (int k = 0; k < EXACT_SHOWN; k++)
        leading.digits[k] = last + k >= 0 ? room[last + k] : 0;
    return leading;
}

/* A part of which the words begin with notes, rounded: its bits, or those of its root. */
template <unsigned Each>
__device__ __forceinline__ uint64_t rounded_part(shared<exact_word> words, struct exact_span span,
                                                 const struct exact_result &result, uint64_t count,
                                                 bool begins_negative, bool root = false)
{
    const struct exact_leading leading = leading_of<Each>(words + EXACT_NOTES, span);
    const shared<const int64_t> notes = seen_as<const int64_t>(words);
    if (root)
        return exact_round_root(leading, notes, exact_format_of_part(&result.finish));
    return exact_round_part(&result.finish, result.mean, count, notes,
                            begins_negative && !notes[EXACT_NOTE_OTHERS], &leading);
}

/* To any type, at any address. Out of line, since it is much, and seldom. */
static __device__ __noinline__ void store_converted(const struct exact_result &result,
                                                    global<unsigned char> out,
                                                    struct exact_rounded rounded)
{
    const enum element from = result.finish.result, to = result.out_type;
    scalar_store(out, scalar_convert(exact_joined(&result.finish, rounded), from, to), to);
}

/* A float of 2, 4 or 8 bytes. */
__device__ __forceinline__ void store_float(global<unsigned char> out, uint64_t bits,
                                            unsigned bytes)
{
    if (bytes == sizeof(uint64_t))
        *seen_as<uint64_t>(out) = bits;
    else if (bytes == sizeof(uint32_t))
        *seen_as<uint32_t>(out) = uint32_t(bits);
    else
        *seen_as<uint16_t>(out) = uint16_t(bits);
}

/* By a thread that has the parts' bits. */
__device__ __forceinline__ void store_rounded(const struct exact_result &result,
                                              global<unsigned char> out, uint64_t real,
                                              uint64_t imag)
{
    const struct finish &finish = result.finish;
    const struct exact_rounded rounded = {{real, imag}};
    const unsigned bytes = unsigned(exact_format_of_part(&finish).width) / 8;
    if (result.out_type != finish.result || address_of(out) % bytes) {
        store_converted(result, out, rounded);
        return;
    }
    store_float(out, rounded.parts[EXACT_REAL], bytes);
    if (element_is_complex(finish.result))
        store_float(out + bytes, rounded.parts[EXACT_IMAGINARY], bytes);
}

/* Stores a result of so many parts, each of which round(part) has the bits of. By a warp. */
template <class Round>
__device__ __forceinline__ void store_parts(unsigned parts, const struct exact_result &result,
                                            Round round)
{
    uint64_t real = 0, imag = 0;
#pragma unroll 1
    for (unsigned part = 0; part < parts; part++) {
        const uint64_t bits = round(part);
        real = part == EXACT_REAL ? bits : real;
        imag = part == EXACT_IMAGINARY ? bits : imag;
        __syncwarp();
    }
    if (threadIdx.x % warp_size == 0)
        store_rounded(result, static_cast<unsigned char *>(result.out), real, imag);
}

/* Rounds the words of a block, by its first warp, and stores the result. Out of line, so that the
 * sum before it keeps no registers for this. */
template <class Layout>
__device__ __noinline__ void round_words(shared<exact_word> words,
                                         const struct exact_result &result)
{
    constexpr unsigned each = (Layout::digits + 2 + warp_size - 1) / warp_size;
    const uint64_t count = result.finish.count - words[EXACT_NOTE_LEFT_OUT];
    const struct exact_span span = {Layout::first, Layout::digits, Layout::parts};
    const bool begins_negative = exact_asks_for_signs(&result.finish);
    store_parts(Layout::parts, result, [&](unsigned part) {
        return rounded_part<each>(words + part * Layout::part, span, result, count,
                                  begins_negative);
    });
}

/* ---- results by a launch of their own ---- */

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

/* One warp: where the launch that made the words does not make the result, too, as it begins with
 * something, or is of products, or nothing was added. `counted` is the device's own count of what
 * took part, null where the host knows. */
template <bool Products>
__global__ void exact_finish(global<const exact_word> state, enum reduction reduction,
                             SHARED_PARAMETER(struct finish) how, global<const uint64_t> counted,
                             enum element out_type, global<unsigned char> out,
                             struct epilogue epilogue, enum element accumulator)
{
    constexpr unsigned each = (EXACT_DIGITS + 2 + warp_size - 1) / warp_size;
    const shared<exact_word> words = block_memory<exact_word>();
    const bool mean = reduction == REDUCTION_mean || reduction == REDUCTION_nanmean,
               root = Products && reduction == REDUCTION_norm;
    const struct exact_span all = {0, EXACT_DIGITS, 1},
                            span = Products ? exact_span_of_products(root ? FOLD_norm2 : FOLD_sum,
                                                                     accumulator)
                                            : exact_span_of(accumulator);
    const struct exact_result result = {out, out_type, mean, how};
    const uint64_t count = (counted ? *counted : how.count) - state[EXACT_NOTE_LEFT_OUT];
    store_parts(unsigned(span.parts), result, [&](unsigned part) {
        spread_part(words, state + part * exact_words_of_part(span), span, how, int(part));
        return rounded_part<each>(words, all, result, count, exact_begins_negative(&how, int(part)),
                                  root);
    });
    if (threadIdx.x == 0)
        post(epilogue, uint32_t(0));
}

} // namespace KERNELS
