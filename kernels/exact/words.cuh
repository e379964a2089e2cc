/* A block's superaccumulator: words in shared memory, which any thread adds to at any time. That
 * none overflows is shown in csrc/common/exact_words.h. */
#pragma once

#include "numbers.cuh"

namespace KERNELS
{

using exact_word = unsigned long long; /* signed numbers, which wrap around */

/* How the words of an accumulator's type lie: the notes of a part, its digits, and the next part.
 */
template <enum element Accumulator>
struct exact_layout {
    static constexpr bool narrow =
        Accumulator == ELEMENT_FLOAT32 || Accumulator == ELEMENT_COMPLEX64;
    static constexpr bool pairs =
        Accumulator == ELEMENT_COMPLEX64 || Accumulator == ELEMENT_COMPLEX128;
    static constexpr int first = narrow ? 61 : 33, digits = narrow ? 13 : 69;
    static constexpr unsigned part = EXACT_NOTES + digits, words = part * (pairs ? 2 : 1);
    static constexpr int lowest = first * EXACT_DIGIT_BITS - EXACT_POINT; /* place 0's exponent */
};

/* Adds to a word, half by half: a GPU adds 32 bits in shared memory by one instruction, 64 bits by
 * a loop. What the lower half does not hold is known from what was there before. */
__device__ __forceinline__ void add_to_word(shared<exact_word> word, exact_word x)
{
    const shared<unsigned> halves = reinterpret_cast<unsigned *>(word);
    const unsigned low = unsigned(x), before = atomicAdd(halves, low);
    const unsigned high = unsigned(x >> 32) + (before + low < low);
    if (high)
        atomicAdd(halves + 1, high);
}

constexpr unsigned deposit_pieces = 3; /* words that 64 bits may lie in */

/* Adds a piece of magnitude * 2^(lowest + place). */
__device__ __forceinline__ void deposit_piece(shared<exact_word> digits, uint64_t magnitude,
                                              unsigned place, bool negative, unsigned k)
{
    const unsigned shift = place % EXACT_DIGIT_BITS;
    const uint64_t low = magnitude << shift, high = magnitude >> 1 >> (63 - shift);
    const uint64_t piece = k == 0   ? low & EXACT_DIGIT_MASK
                           : k == 1 ? low >> EXACT_DIGIT_BITS
                                    : high;
    if (piece)
        add_to_word(digits + place / EXACT_DIGIT_BITS + k,
                    negative ? exact_word(-piece) : exact_word(piece));
}

static __device__ __forceinline__ void deposit(shared<exact_word> digits, uint64_t magnitude,
                                               unsigned place, bool negative)
{
#pragma unroll
    for (unsigned k = 0; k < deposit_pieces; k++)
        deposit_piece(digits, magnitude, place, negative, k);
}

/* Adds a number whose significand has so many bits. */
template <class Layout, unsigned Bits>
__device__ __forceinline__ void deposit_number(shared<exact_word> words, double x)
{
    constexpr int spare = 53 - Bits; /* bits that are 0 */
    const uint64_t bits = bits_of(x), fraction = bits << 12 >> 12;
    const unsigned biased = unsigned(bits >> 52) & 0x7ff;
    const bool negative = bits >> 63;
    if (biased == 0x7ff) {
        atomicAdd(words + (fraction   ? EXACT_NOTE_NANS
                           : negative ? EXACT_NOTE_NEGATIVE_INFINITIES
                                      : EXACT_NOTE_INFINITIES),
                  exact_word(1));
        return;
    }
    const uint64_t significand = (fraction | uint64_t(biased != 0) << 52) >> spare;
    const int exponent = int(biased ? biased : 1) - 1075 + spare;
    if (significand)
        deposit(words + EXACT_NOTES, significand, unsigned(exponent - Layout::lowest), negative);
}

__device__ __forceinline__ void clear_words(shared<exact_word> words, unsigned count)
{
    for (unsigned k = threadIdx.x; k < count; k += blockDim.x)
        words[k] = 0;
}

/* Word k of these once every digit but a part's topmost has handed its carry on, once. */
template <class Layout>
__device__ __forceinline__ exact_word carried(shared<const exact_word> words, unsigned k)
{
    const unsigned of_part = k % Layout::part;
    exact_word word = words[k];
    if (of_part < EXACT_NOTES)
        return word;
    if (of_part < Layout::part - 1)
        word &= EXACT_DIGIT_MASK;
    if (of_part > EXACT_NOTES)
        word += exact_word(int64_t(words[k - 1]) >> EXACT_DIGIT_BITS);
    return word;
}

} // namespace KERNELS
