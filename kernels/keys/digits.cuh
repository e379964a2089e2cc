/* Digits of sums by key (struct kernel_keys), and the addition of numbers to them by atomics: those
 * in shared memory return the previous value, for carries; those in global memory need not. The
 * additions are of integers, so the result does not depend on their order. */
#pragma once

#include "../exact/words.cuh"
#include "elements.cuh"

namespace KERNELS
{

/* magnitude * 2^place, in units of the lowest digit. */
struct placed_number {
    uint64_t magnitude;
    unsigned place;
    bool negative;
};

/* Maximum number of digits that a magnitude extends over. */
template <class V>
constexpr unsigned digits_spanned = sizeof(V) == sizeof(float) ? 2 : EXACT_PIECES;

/* Adds to a two's complement number of `count` digits, which are `step` words apart. A digit's
 * carry follows from its previous value. */
template <class V>
__device__ __forceinline__ void add_in_table(shared<uint32_t> digits, unsigned step, unsigned count,
                                             const placed_number &x)
{
    unsigned at = x.place / EXACT_DIGIT_BITS;
    uint32_t carry = x.negative;
    const auto add = [&](uint32_t piece) {
        const uint64_t sum = uint64_t(x.negative ? ~piece : piece) + carry;
        const uint32_t addend = uint32_t(sum);
        carry = uint32_t(sum >> EXACT_DIGIT_BITS);
        if (addend && at < count)
            carry += atomicAdd(digits + at * step, addend) + addend < addend;
        at++;
    };
#pragma unroll
    for (unsigned k = 0; k < digits_spanned<V>; k++)
        add(uint32_t(exact_piece(x.magnitude, x.place, k)));
    while (carry != x.negative && at < count)
        add(0);
}

/* The part of a magnitude in digit k of those that it extends over, and in all higher digits. */
__device__ __forceinline__ exact_word upper_digits(const placed_number &x, unsigned k)
{
    const unsigned shift = x.place % EXACT_DIGIT_BITS;
    const uint64_t low = x.magnitude << shift, high = x.magnitude >> 1 >> (63 - shift);
    return k == 0 ? low : k == 1 ? low >> EXACT_DIGIT_BITS | high << EXACT_DIGIT_BITS : high;
}

/* Adds to 64-bit words, without passing on carries. */
template <class V>
__device__ __forceinline__ void add_in_words(global<exact_word> words, uint64_t step,
                                             unsigned count, const placed_number &x)
{
    const unsigned first = x.place / EXACT_DIGIT_BITS;
#pragma unroll
    for (unsigned k = 0; k < digits_spanned<V>; k++) {
        const bool last = first + k + 1 == count;
        const exact_word from = upper_digits(x, k), piece = last ? from : uint32_t(from);
        if (piece)
            atomicAdd(words + (first + k) * step, x.negative ? 0 - piece : piece);
        if (last)
            return;
    }
}

/* ---- numbers ---- */

template <class V>
__device__ __forceinline__ struct exact_number number_of(V x, enum element)
{
    return decoded(x);
}

__device__ __forceinline__ struct exact_number number_of(int64_t x, enum element input)
{
    const bool negative = x < 0 && input != ELEMENT_UINT64;
    return {EXACT_FINITE, negative, negative ? 0 - uint64_t(x) : uint64_t(x), 0};
}

} // namespace KERNELS
