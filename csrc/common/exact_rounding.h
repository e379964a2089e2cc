/* How an exact sum is rounded, once: as it is, divided, or its square root. */
#pragma once

#include "common/exact.h"

/* ---- the digits that decide ---- */

/* What decides how a number is rounded: its digits from the first that is not 0 on, digits[0] being
 * the last of them and worth 2^place, and whether anything lies after these. All digits are 0
 * where the number is. A divisor of 64 bits leaves two digits 0 at most, and takes 63 bits of the
 * others away, so that of 129 bits there are 65: those of any float, of what lies half way between
 * two, and more. */
enum { EXACT_SHOWN = 5 };

struct exact_leading {
    uint32_t digits[EXACT_SHOWN];
    int place;
    bool rest, negative;
};

/* Of a normalised sum. */
EXACT_FUNCTION struct exact_leading exact_lead(const struct exact *self)
{
    struct exact_leading leading;
    int top = EXACT_DIGITS - 1;
    while (top >= 0 && self->digits[top] == 0)
        top--;
    const int last = top - EXACT_SHOWN + 1;
    leading.negative = top >= 0 && self->digits[top] < 0;
    leading.place = last * EXACT_DIGIT_BITS - EXACT_POINT;
    leading.rest = false;
    for (int k = 0; k < EXACT_SHOWN; k++) {
        const int64_t digit = last + k >= 0 ? self->digits[last + k] : 0;
        leading.digits[k] = (uint32_t)(leading.negative ? -digit : digit);
    }
    for (int k = 0; k < last; k++)
        leading.rest = leading.rest || self->digits[k];
    return leading;
}

EXACT_FUNCTION bool exact_leads_nothing(const struct exact_leading *self)
{
    bool any = false;
    for (int k = 0; k < EXACT_SHOWN; k++)
        any = any || self->digits[k];
    return !any;
}

/* How many bits lie above the first that is 1, of a number that is not 0. */
#ifdef __CUDA_ARCH__
#define EXACT_BITS_ABOVE(x) __clzll((long long)(x))
#else
#define EXACT_BITS_ABOVE(x) __builtin_clzll(x)
#endif

/* Divides by a divisor that is not 0, digit by digit from the top as one does on paper, and no
 * further than any float can show. The divisor is multiplied by a power of two, so that its upper
 * half alone tells a digit but for one or two (D. E. Knuth, "The Art of Computer Programming",
 * volume 2, 4.3.1, algorithm D). */
EXACT_FUNCTION void exact_divide(struct exact_leading *self, uint64_t divisor)
{
    const int shift = EXACT_BITS_ABOVE(divisor);
    divisor <<= shift;
    const uint64_t upper = divisor >> EXACT_DIGIT_BITS, lower = divisor & EXACT_DIGIT_MASK;
    uint64_t left = 0;
    EXACT_ROLLED
    for (int digits = 0; digits < EXACT_SHOWN; digits++) {
        const uint64_t next = self->digits[EXACT_SHOWN - 1];
        uint64_t digit = left / upper, over = left - digit * upper;
        while (over <= EXACT_DIGIT_MASK &&
               (digit > EXACT_DIGIT_MASK || digit * lower > (over << EXACT_DIGIT_BITS | next))) {
            digit--;
            over += upper;
        }
        left = (left << EXACT_DIGIT_BITS | next) - digit * divisor;
        /* The dividend's digits go, the quotient's come. */
        for (int k = EXACT_SHOWN - 1; k > 0; k--)
            self->digits[k] = self->digits[k - 1];
        self->digits[0] = (uint32_t)digit;
    }
    self->place += shift;
    self->rest = self->rest || left;
}

/* bits * 2^place, and less than one unit more if there is a rest; the first bit is 1. */
struct exact_bits {
    uint64_t bits;
    int place;
    bool rest;
};

/* Moves the digits up by one where the first is 0. */
EXACT_FUNCTION void exact_skip_zero(struct exact_leading *self)
{
    const bool moves = self->digits[EXACT_SHOWN - 1] == 0;
    for (int k = EXACT_SHOWN - 1; k > 0; k--)
        self->digits[k] = moves ? self->digits[k - 1] : self->digits[k];
    self->digits[0] = moves ? 0 : self->digits[0];
    self->place -= moves ? EXACT_DIGIT_BITS : 0;
}

/* Of a number that is not 0, two of whose leading digits may be. */
EXACT_FUNCTION struct exact_bits exact_first_bits(struct exact_leading leading)
{
    exact_skip_zero(&leading);
    exact_skip_zero(&leading);
    const uint64_t upper = leading.digits[4], middle = leading.digits[3], lower = leading.digits[2];
    struct exact_bits first;
    const int shift = EXACT_BITS_ABOVE(upper) - EXACT_DIGIT_BITS;
    first.bits = (upper << EXACT_DIGIT_BITS | middle) << shift | lower << shift >> EXACT_DIGIT_BITS;
    first.place = leading.place + 3 * EXACT_DIGIT_BITS - shift;
    first.rest = leading.rest || (lower << shift & EXACT_DIGIT_MASK) || leading.digits[1] ||
                 leading.digits[0];
    return first;
}

/* The nearest float's bits, ties to even; beyond the largest is infinity. Where a significand's
 * last bit lies decides the exponent, and adding the leading bit to that makes one of it. */
EXACT_FUNCTION uint64_t exact_nearest(struct exact_bits x, struct exact_format format)
{
    const int significand = 64 - format.bits, least = format.lowest - x.place;
    const int dropped = significand > least ? significand : least;
    if (dropped > 64) /* less than half of the smallest float */
        return 0;
    const uint64_t half = (uint64_t)1 << (dropped - 1);
    uint64_t kept = x.bits >> (dropped - 1) >> 1;
    kept += (x.bits & half) && ((kept & 1) || (x.bits & (half - 1)) || x.rest);
    const uint64_t exponent = (uint64_t)(x.place + dropped - format.lowest);
    const uint64_t bits = (exponent << (format.bits - 1)) + kept;
    const uint64_t infinity = exact_infinity(format);
    return bits < infinity ? bits : infinity;
}

/* A sum, divided unless the divisor is 1, as a float's bits: rounded once. Of nothing, the quotient
 * by 0 is NaN; a sum of 0 is positive. To take an infinity away is to add the other one. */
EXACT_FUNCTION uint64_t exact_round_leading(struct exact_leading leading, const int64_t *counts,
                                            int64_t divisor, struct exact_format format)
{
    const uint64_t infinity = exact_infinity(format), sign = (uint64_t)1 << (format.width - 1);
    const int64_t up = counts[EXACT_INFINITIES], down = counts[EXACT_NEGATIVE_INFINITIES];
    const bool rises = up > 0 || down < 0;
    const bool falls = down > 0 || up < 0;
    if (counts[EXACT_NANS] || (rises && falls) || divisor == 0)
        return exact_nan(format);
    if (rises || falls)
        return infinity | (falls != (divisor < 0) ? sign : 0);
    if (exact_leads_nothing(&leading))
        return 0;
    if (divisor != 1)
        exact_divide(&leading, divisor < 0 ? -(uint64_t)divisor : (uint64_t)divisor);
    return exact_nearest(exact_first_bits(leading), format) |
           (leading.negative != (divisor < 0) ? sign : 0);
}

/* Of a normalised sum. */
EXACT_FUNCTION uint64_t exact_round(const struct exact *self, int64_t divisor,
                                    struct exact_format format)
{
    return exact_round_leading(exact_lead(self), self->counts, divisor, format);
}

/* ---- square roots ---- */

/* Why a root's first 64 bits, and whether anything is after them, are enough. Of a sum that is not
 * 0, let N be its first 127 or 128 bits, the last of them at an even exponent, and f, less than 1,
 * what is left of it after these. The root is that of N + f, times a power of two.
 * r = floor(sqrt(N)) is floor(sqrt(N + f)), too, for N + f < (r + 1)^2 where N < (r + 1)^2, both
 * being integers; and it has 64 bits, for N is at least 2^126. What comes after them is 0 if and
 * only if N is r^2 and f is 0. All floats, and all that lies half way between two, have fewer bits.
 */

/* floor(sqrt(n)), bit by bit. */
EXACT_FUNCTION uint64_t exact_integer_root(unsigned __int128 n)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 63; bit; bit >>= 1)
        if ((unsigned __int128)(root | bit) * (root | bit) <= n)
            root |= bit;
    return root;
}

/* Of a sum that is not negative, as a float's bits. */
EXACT_FUNCTION uint64_t exact_round_root(struct exact_leading square, const int64_t *counts,
                                         struct exact_format format)
{
    const uint32_t *const digits = square.digits;
    struct exact_bits root;
    if (exact_leads_nothing(&square) || counts[EXACT_NANS] || counts[EXACT_INFINITIES])
        return exact_round_leading(square, counts, 1, format);
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

/* ---- values ---- */

/* The float that has these bits. */
EXACT_FUNCTION union scalar exact_scalar(uint64_t bits, struct exact_format format)
{
    union scalar value;
    value.c128.real = value.c128.imag = 0;
    if (format.width == 64)
        value.u64 = bits;
    else if (format.width == 32)
        value.u32 = (uint32_t)bits;
    else
        value.u16 = (uint16_t)bits;
    return value;
}

/* The sum, divided, as a value of that type. */
EXACT_FUNCTION union scalar exact_value(const struct exact *self, int64_t divisor,
                                        enum element type)
{
    const struct exact_format format = exact_format_of(type);
    return exact_scalar(exact_round(self, divisor, format), format);
}

/* Of a normalised sum, as a value of that type. */
EXACT_FUNCTION union scalar exact_root(const struct exact *self, enum element type)
{
    const struct exact_format format = exact_format_of(type);
    return exact_scalar(exact_round_root(exact_lead(self), self->counts, format), format);
}
