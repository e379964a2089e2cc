/* The square root of an exact sum, rounded once.
 *
 * Of a sum that is not 0, let N be its first 127 or 128 bits, the last of them at an even exponent,
 * and f, less than 1, what is left of it after these. The root is that of N + f, times a power of
 * two. r = floor(sqrt(N)) is floor(sqrt(N + f)), too, for N + f < (r + 1)^2 where N < (r + 1)^2,
 * both being integers; and it has 64 bits, for N is at least 2^126. So r is the root's first 64
 * bits, and what comes after them is 0 if and only if N is r^2 and f is 0. All floats, and all
 * that lies half way between two, have fewer bits than 64: these bits, and whether anything is
 * after them, decide which float is nearest. */
#pragma once

#include "common/exact.h"

/* floor(sqrt(n)), bit by bit. */
EXACT_FUNCTION uint64_t exact_integer_root(unsigned __int128 n)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 63; bit; bit >>= 1)
        if ((unsigned __int128)(root | bit) * (root | bit) <= n)
            root |= bit;
    return root;
}

/* Of a normalised sum that is not negative, as a float's bits. */
EXACT_FUNCTION uint64_t exact_round_root(const struct exact *self, struct exact_format format)
{
    const struct exact_leading square = exact_lead(self);
    const uint32_t *const digits = square.digits;
    struct exact_bits root;
    if (exact_leads_nothing(&square) || self->counts[EXACT_NANS] || self->counts[EXACT_INFINITIES])
        return exact_round(self, 1, format);
    const unsigned __int128 upper = (unsigned __int128)digits[4] << 96 |
                                    (unsigned __int128)digits[3] << 64 | (uint64_t)digits[2] << 32 |
                                    digits[1];
    /* To the first bit, and one less where the last one's exponent is odd then. */
    int shift = EXACT_BITS_ABOVE((uint64_t)digits[4]) - 32;
    shift -= (square.place + EXACT_DIGIT_BITS - shift) & 1;
    const int place = square.place + EXACT_DIGIT_BITS - shift;
    const uint64_t below = (uint64_t)digits[0] << 32;
    const unsigned __int128 bits =
        shift < 0 ? upper >> 1 : upper << shift | (shift ? below >> (64 - shift) : 0);
    const bool rest = square.rest || (shift < 0 ? (digits[1] & 1) || below : below << shift != 0);
    root.bits = exact_integer_root(bits);
    root.place = place / 2;
    root.rest = (unsigned __int128)root.bits * root.bits != bits || rest;
    return exact_nearest(root, format);
}

/* The same as a value of that type. */
EXACT_FUNCTION union scalar exact_root(const struct exact *self, enum element type)
{
    const struct exact_format format = exact_format_of(type);
    return exact_scalar(exact_round_root(self, format), format);
}
