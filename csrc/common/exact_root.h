/* The square root of an exact sum, rounded once.
 *
 * Of a sum that is not 0, let N be its first 127 or 128 bits, the last of them at an even exponent,
 * and f, less than 1, what is left of it behind these. The root is that of N + f, times a power of
 * two. r = floor(sqrt(N)) is floor(sqrt(N + f)), too, for N + f < (r + 1)^2 where N < (r + 1)^2,
 * both being integers; and it has 64 bits, for N is at least 2^126. So r is the root's first 64
 * bits, and what comes behind them is 0 if and only if N is r^2 and f is 0. All floats, and all
 * that lies half way between two, have fewer bits than 64: these bits, and whether anything is
 * behind them, decide which float is nearest. */
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

/* The 128 bits from a place on, which may lie below all digits. */
EXACT_FUNCTION unsigned __int128 exact_wide_bits_at(const struct exact_magnitude *self, int place)
{
    const int begin = place < 0 ? 0 : place;
    const unsigned __int128 bits =
        exact_bits_at(self, begin) | (unsigned __int128)exact_bits_at(self, begin + 64) << 64;
    return bits << (begin - place);
}

EXACT_FUNCTION void exact_magnitude_set(struct exact_magnitude *self, uint64_t bits, int place)
{
    const int k = place / EXACT_DIGIT_BITS, shift = place % EXACT_DIGIT_BITS;
    memset(self, 0, sizeof *self);
    self->digits[k] = (uint32_t)(bits << shift);
    self->digits[k + 1] = (uint32_t)(bits >> (EXACT_DIGIT_BITS - shift));
    self->digits[k + 2] = (uint32_t)(bits >> 32 >> (EXACT_DIGIT_BITS - shift));
    self->top = k + 2;
    while (self->digits[self->top] == 0)
        self->top--;
}

/* Of a normalised sum that is not negative, as a float's bits. */
EXACT_FUNCTION uint64_t exact_round_root(const struct exact *self, struct exact_format format)
{
    struct exact_magnitude square, root;
    exact_magnitude_of(self, &square);
    if (square.top < 0 || self->counts[EXACT_NANS] || self->counts[EXACT_INFINITIES])
        return exact_round(self, 1, format);
    int width = square.top * EXACT_DIGIT_BITS;
    for (uint32_t digit = square.digits[square.top]; digit; digit >>= 1)
        width++;
    const int place = width - 128 + width % 2; /* even, as EXACT_POINT is */
    const unsigned __int128 bits = exact_wide_bits_at(&square, place);
    const uint64_t first = exact_integer_root(bits);
    exact_magnitude_set(&root, first, (place + EXACT_POINT) / 2);
    root.rest = (unsigned __int128)first * first != bits ||
                (place > 0 && exact_is_any_below(&square, place));
    return exact_nearest(&root, format);
}

/* The same as a value of that type. */
EXACT_FUNCTION union scalar exact_root(const struct exact *self, enum element type)
{
    const struct exact_format format = exact_format_of(type);
    return exact_scalar(exact_round_root(self, format), format);
}
