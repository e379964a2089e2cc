/* A block's superaccumulator: words in shared memory, to which any thread adds at any time.
 * csrc/common/exact_sums.h proves that none overflows. */
#pragma once

#include "../vector.cuh"

#include "common/exact_sums.h"

namespace KERNELS
{

using exact_word = unsigned long long; /* signed, wraps around */

/* The layout of a sum's words, as in exact_span: a part's notes, its digits, then the next part. */
template <int First, int Digits, unsigned Parts>
struct exact_layout {
    static constexpr unsigned part = EXACT_HEADER + Digits, words = part * Parts;
    static constexpr int lowest = First * EXACT_DIGIT_BITS - EXACT_POINT; /* exponent of place 0 */
    static constexpr struct exact_span span = {First, Digits, int(Parts)};
};

template <unsigned Parts>
using narrow_layout = exact_layout<EXACT_NARROW_FIRST, EXACT_NARROW_DIGITS, Parts>;

template <unsigned Parts>
using wide_layout = exact_layout<EXACT_WIDE_FIRST, EXACT_WIDE_DIGITS, Parts>;

template <unsigned Parts>
using products_layout = exact_layout<0, EXACT_DIGITS, Parts>;

__device__ __forceinline__ void clear_words(shared<exact_word> words, unsigned count)
{
    for (unsigned k = threadIdx.x; k < count; k += blockDim.x)
        words[k] = 0;
}

/* Word k after each digit except a part's topmost has passed its carry on once. */
__device__ __forceinline__ exact_word carried(shared<const exact_word> words,
                                              struct exact_span span, unsigned k)
{
    const unsigned part = unsigned(exact_words_of_part(span)), index = k % part;
    exact_word word = words[k];
    if (index < EXACT_HEADER)
        return word;
    if (index < part - 1)
        word &= EXACT_DIGIT_MASK;
    if (index > EXACT_HEADER)
        word += exact_word(int64_t(words[k - 1]) >> EXACT_DIGIT_BITS);
    return word;
}

/* ---- adding one number ---- */

/* Adds to a word in two 32-bit halves: in shared memory a GPU adds 32 bits by one instruction, 64
 * bits by a loop. The lower half's carry follows from its previous value. */
__device__ __forceinline__ void add_to_word(shared<exact_word> word, exact_word x)
{
    const shared<unsigned> halves = reinterpret_cast<unsigned *>(word);
    const unsigned low = unsigned(x), before = atomicAdd(halves, low);
    const unsigned high = unsigned(x >> 32) + (before + low < low);
    if (high)
        atomicAdd(halves + 1, high);
}

/* Adds a piece of magnitude * 2^(lowest + place) to a part's words. */
__device__ __forceinline__ void deposit_piece(shared<exact_word> part, uint64_t magnitude,
                                              unsigned place, bool negative, unsigned k)
{
    const uint64_t piece = exact_piece(magnitude, place, k);
    if (piece)
        add_to_word(part + EXACT_HEADER + place / EXACT_DIGIT_BITS + k,
                    negative ? exact_word(-piece) : exact_word(piece));
}

static __device__ __forceinline__ void deposit(shared<exact_word> part, uint64_t magnitude,
                                               unsigned place, bool negative)
{
#pragma unroll
    for (unsigned k = 0; k < EXACT_PIECES; k++)
        deposit_piece(part, magnitude, place, negative, k);
}

/* Counts a number that is not finite. */
__device__ __forceinline__ void count_special(shared<exact_word> part, enum exact_kind kind,
                                              bool negative)
{
    atomicAdd(part + exact_count_index(kind, negative), exact_word(1));
}

/* A float as an integer times a power of two. */
template <class Real>
__device__ __forceinline__ struct exact_number decoded(Real x)
{
    constexpr enum element type = element_of<Real>::value;
    uint64_t bits = 0;
    memcpy(&bits, &x, sizeof x);
    return exact_decode(bits, exact_format_of(type));
}

template <class Layout>
__device__ __forceinline__ void deposit_number(shared<exact_word> part, struct exact_number x)
{
    if (x.kind != EXACT_FINITE)
        count_special(part, x.kind, x.negative);
    else if (x.significand)
        deposit(part, x.significand, unsigned(x.exponent - Layout::lowest), x.negative);
}

/* Like exact_add_product, for words in shared memory. */
__device__ __forceinline__ void deposit_product(shared<exact_word> part, struct exact_number a,
                                                struct exact_number b)
{
    const bool negative = a.negative != b.negative;
    const enum exact_kind kind = exact_kind_of_product(a, b);
    if (kind != EXACT_FINITE) {
        count_special(part, kind, negative);
        return;
    }
    const unsigned __int128 product = static_cast<unsigned __int128>(a.significand) * b.significand;
    const unsigned place = unsigned(a.exponent + b.exponent + EXACT_POINT);
    deposit(part, uint64_t(product), place, negative);
    deposit(part, uint64_t(product >> 64), place + 64, negative);
}

} // namespace KERNELS
