/* Exact sums: a superaccumulator is a long fixed-point number that can represent every float, and
 * every product of two. Numbers are added in any order, without floating-point arithmetic that
 * could round, in the same way on every backend, and the sum is rounded once, when it is read.
 *
 * Its digits have 32 bits, each in a signed 64-bit word whose upper half takes up carries, so that
 * carries are rarely propagated (R. M. Neal, "Fast exact summation using small and large
 * superaccumulators", arXiv:1505.05571, 2015). To merge two superaccumulators, their words are
 * added. Other words count the numbers added and the non-finite ones.
 *
 * Why no word overflows. A superaccumulator has load L if no digit's word exceeds L * (2^32 - 1) in
 * magnitude.
 *   - Normalized words are digits: load 1.
 *   - A number is split into pieces of less than 2^32, at most one per word: load 1 more. A product
 *     is added as two halves of 64 bits, which may overlap in a word: load 2 more.
 *   - Merging adds the loads, since it adds words.
 *
 * Loads are limited to EXACT_LOAD_MAX = 2^30, so words stay below 2^62, which leaves room for a
 * carry from below of less than 2^30 + 1. The topmost word does not carry: the sum of 2^63
 * products of the largest float64 is less than 2^2111, and the word's unit is 2^2108. So 2^30 - 1
 * deposits fit before carries are propagated, and 2^30 normalized parts can be added word by word.
 */
#pragma once

#include "common/reduction.h"

enum {
    EXACT_DIGIT_BITS = 32,
    EXACT_POINT = 2148, /* bits after the point: the smallest product is 2^-1074 squared */
    EXACT_DIGITS = 134, /* a product is less than 2^2048, 2^63 of them less than 2^2111 */
    EXACT_PIECES = 3,   /* words that a shifted 64-bit number spans */
    EXACT_LOAD_MAX = 1 << 30
};

#define EXACT_DIGIT_MASK (((uint64_t)1 << EXACT_DIGIT_BITS) - 1)

/* Limits of the words that callers may pass in: each word has room for carries, and the sum is
 * within that of 2^63 numbers. */
#define EXACT_WORD_MAX ((int64_t)1 << 62)
#define EXACT_TOP_MAX  ((int64_t)EXACT_DIGIT_MASK)

/* How many of each were added; removing one counts as -1. */
enum {
    EXACT_COUNT,
    EXACT_NANS,
    EXACT_INFINITIES,
    EXACT_NEGATIVE_INFINITIES,
    EXACT_COUNTS,
    EXACT_WORDS = EXACT_COUNTS + EXACT_DIGITS
};

struct exact {
    int64_t counts[EXACT_COUNTS];
    int64_t digits[EXACT_DIGITS]; /* digit k has weight 2^(32 k - EXACT_POINT) */
    uint64_t load;                /* see above */
};

/* ---- floats as integers ---- */

/* A float type: significand bits, exponent of the smallest subnormal, and total bits. */
struct exact_format {
    int bits, lowest, width;
};

SCALAR bool exact_has_format(enum element element)
{
    return !element_is_integer(element) && !element_is_complex(element);
}

/* Requires exact_has_format(element). */
SCALAR struct exact_format exact_format_of(enum element element)
{
    const struct exact_format float16 = {11, -24, 16}, bfloat16 = {8, -133, 16},
                              float32 = {24, -149, 32}, float64 = {53, -1074, 64};
    return element == ELEMENT_FLOAT16    ? float16
           : element == ELEMENT_BFLOAT16 ? bfloat16
           : element == ELEMENT_FLOAT32  ? float32
                                         : float64;
}

/* The bits of infinity; NaNs are greater. */
SCALAR uint64_t exact_infinity(struct exact_format format)
{
    return (((uint64_t)1 << (format.width - format.bits)) - 1) << (format.bits - 1);
}

enum exact_kind { EXACT_FINITE, EXACT_INFINITE, EXACT_NAN };

/* significand * 2^exponent, or a non-finite number. */
struct exact_number {
    enum exact_kind kind;
    bool negative;
    uint64_t significand;
    int exponent;
};

SCALAR struct exact_number exact_decode(uint64_t bits, struct exact_format format)
{
    const uint64_t sign = (uint64_t)1 << (format.width - 1),
                   leading = (uint64_t)1 << (format.bits - 1);
    const uint64_t magnitude = bits & (sign - 1), infinity = exact_infinity(format);
    const int biased = (int)(magnitude >> (format.bits - 1));
    const struct exact_number number = {magnitude < infinity    ? EXACT_FINITE
                                        : magnitude == infinity ? EXACT_INFINITE
                                                                : EXACT_NAN,
                                        (bits & sign) != 0,
                                        (magnitude & (leading - 1)) | (biased ? leading : 0),
                                        format.lowest + (biased ? biased - 1 : 0)};
    return number;
}

/* `type` is a real element type. */
SCALAR struct exact_number exact_number_at(const void *at, enum element type)
{
    const union scalar value = scalar_load(at, type);
    const struct exact_format format = exact_format_of(type);
    if (exact_has_format(type))
        return exact_decode(format.width == 64   ? value.u64
                            : format.width == 32 ? value.u32
                                                 : value.u16,
                            format);
    const struct scalar_wide wide = scalar_widen(value, type);
    const bool negative = wide.kind == SCALAR_SIGNED && wide.integer < 0;
    const uint64_t magnitude = negative ? -(uint64_t)wide.integer : (uint64_t)wide.integer;
    const struct exact_number number = {EXACT_FINITE, negative, magnitude, 0};
    return number;
}

/* ---- adding ---- */

/* Piece k < EXACT_PIECES of magnitude * 2^place, counted from the word that contains that bit. */
SCALAR uint64_t exact_piece(uint64_t magnitude, unsigned place, unsigned k)
{
    const unsigned shift = place % EXACT_DIGIT_BITS;
    const uint64_t low = magnitude << shift, high = magnitude >> 1 >> (63 - shift);
    return k == 0 ? low & EXACT_DIGIT_MASK : k == 1 ? low >> EXACT_DIGIT_BITS : high;
}

/* Adds magnitude * 2^place to digits, the first of which has weight 1. */
SCALAR void exact_deposit_at(int64_t *digits, uint64_t magnitude, unsigned place, bool negative)
{
    const int64_t flip = -(int64_t)negative; /* branch-free: signs are unpredictable */
    digits += place / EXACT_DIGIT_BITS;
    digits[0] += ((int64_t)exact_piece(magnitude, place, 0) ^ flip) - flip;
    digits[1] += ((int64_t)exact_piece(magnitude, place, 1) ^ flip) - flip;
    digits[2] += ((int64_t)exact_piece(magnitude, place, 2) ^ flip) - flip;
}

/* Adds magnitude * 2^exponent. Needs room for a load of 1. */
SCALAR void exact_deposit(struct exact *self, uint64_t magnitude, int exponent, bool negative)
{
    exact_deposit_at(self->digits, magnitude, (unsigned)(exponent + EXACT_POINT), negative);
}

/* The index of the word that counts a non-finite kind. */
SCALAR int exact_count_index(enum exact_kind kind, bool negative)
{
    return kind == EXACT_NAN ? EXACT_NANS : negative ? EXACT_NEGATIVE_INFINITIES : EXACT_INFINITIES;
}

/* Needs room for a load of 1. Does not update EXACT_COUNT. */
SCALAR void exact_add(struct exact *self, struct exact_number x)
{
    if (x.kind == EXACT_FINITE)
        exact_deposit(self, x.significand, x.exponent, x.negative);
    else
        self->counts[exact_count_index(x.kind, x.negative)] += 1;
}

/* The kind of a product; infinity times 0 is NaN. */
SCALAR enum exact_kind exact_kind_of_product(struct exact_number a, struct exact_number b)
{
    if (a.kind == EXACT_FINITE && b.kind == EXACT_FINITE)
        return EXACT_FINITE;
    return a.kind == EXACT_NAN || b.kind == EXACT_NAN ||
                   (a.kind == EXACT_FINITE && a.significand == 0) ||
                   (b.kind == EXACT_FINITE && b.significand == 0)
               ? EXACT_NAN
               : EXACT_INFINITE;
}

/* Adds a product. Needs room for a load of 2. */
SCALAR void exact_add_product(struct exact *self, struct exact_number a, struct exact_number b)
{
    const enum exact_kind kind = exact_kind_of_product(a, b);
    const bool negative = a.negative != b.negative;
    if (kind != EXACT_FINITE) {
        self->counts[exact_count_index(kind, negative)] += 1;
        return;
    }
    const unsigned __int128 product = (unsigned __int128)a.significand * b.significand;
    exact_deposit(self, (uint64_t)product, a.exponent + b.exponent, negative);
    exact_deposit(self, (uint64_t)(product >> 64), a.exponent + b.exponent + 64, negative);
}

/* ---- carrying ---- */

/* Propagates carries: digits become 0 to 2^32 - 1 each, except the topmost, which has the sign. */
SCALAR void exact_carry(int64_t *digits)
{
    int64_t carry = 0;
    for (int k = 0; k < EXACT_DIGITS - 1; k++) {
        const int64_t sum = digits[k] + carry;
        digits[k] = (int64_t)((uint64_t)sum & EXACT_DIGIT_MASK);
        carry = sum >> EXACT_DIGIT_BITS;
    }
    digits[EXACT_DIGITS - 1] += carry;
}

SCALAR void exact_negate(int64_t *digits)
{
    for (int k = 0; k < EXACT_DIGITS; k++)
        digits[k] = -digits[k];
}

/* Makes the representation unique: digits below 2^32, all with the sum's sign. */
SCALAR void exact_normalise(struct exact *self)
{
    exact_carry(self->digits);
    if (self->digits[EXACT_DIGITS - 1] < 0) {
        exact_negate(self->digits);
        exact_carry(self->digits);
        exact_negate(self->digits);
    }
    self->load = 1;
}

/* Makes room for an additional load of less than EXACT_LOAD_MAX. */
SCALAR void exact_reserve(struct exact *self, uint64_t load)
{
    if (self->load + load > EXACT_LOAD_MAX)
        exact_normalise(self);
    self->load += load;
}

/* Adds another superaccumulator, whose load is less than EXACT_LOAD_MAX. */
SCALAR void exact_merge(struct exact *self, const struct exact *other)
{
    exact_reserve(self, other->load);
    for (int k = 0; k < EXACT_COUNTS; k++)
        self->counts[k] += other->counts[k];
    for (int k = 0; k < EXACT_DIGITS; k++)
        self->digits[k] += other->digits[k];
}

/* ---- the leading bits, which determine rounding ---- */

/* The leading 128 bits of a magnitude, the last of which has weight 2^place, and whether any bit
 * after these is set. 0 has no bits. After division by a 64-bit number, 65 bits remain: enough for
 * any float and any midpoint of two. */
struct exact_leading {
    unsigned __int128 bits;
    int place;
    bool rest, negative;
};

/* Leading zeros of a nonzero 64-bit number. */
#ifdef __CUDA_ARCH__
#define EXACT_CLZ(x) __clzll((long long)(x))
#else
#define EXACT_CLZ(x) __builtin_clzll(x)
#endif

/* Normalizes so that the first bit is set, shifting in bits of the next digit. */
SCALAR void exact_align(struct exact_leading *self, uint32_t below)
{
    if (self->bits >> 96 == 0) {
        self->bits = self->bits << EXACT_DIGIT_BITS | below;
        self->place -= EXACT_DIGIT_BITS;
        below = 0;
    }
    const uint64_t upper = (uint64_t)(self->bits >> 64), lower = (uint64_t)self->bits;
    if (!upper && !lower)
        return;
    const int shift = upper ? EXACT_CLZ(upper) : 64 + EXACT_CLZ(lower);
    const uint64_t shifted = (uint64_t)below << shift % EXACT_DIGIT_BITS;
    self->bits = self->bits << shift | shifted >> EXACT_DIGIT_BITS;
    self->rest = self->rest || (uint32_t)shifted;
    self->place -= shift;
}

/* The leading bits of above * 2^32 + below, in units of 2^place. */
SCALAR struct exact_leading exact_leading_of(__int128 above, uint32_t below, int place)
{
    const bool negative = above < 0;
    struct exact_leading leading = {(unsigned __int128)above, place + EXACT_DIGIT_BITS, false,
                                    negative};
    if (negative) {
        leading.bits = -leading.bits - (below != 0);
        below = -below;
    }
    exact_align(&leading, below);
    return leading;
}

/* The leading bits of a sum's words, which are `step` apart; the first has weight 2^place. They
 * need not be normalized: a first pass determines the sign, a second one propagates carries. */
SCALAR struct exact_leading exact_find_leading(const int64_t *words, int count, uint64_t step,
                                               int place)
{
    struct exact_leading leading = {0, 0, false, false}, passing = leading;
    uint32_t below = 0, below_leading = 0;
    int64_t carry = 0;
    for (; count > 0 && words[(uint64_t)(count - 1) * step] == 0; count--)
        ;
    for (; count > 0 && *words == 0; count--, words += step)
        place += EXACT_DIGIT_BITS;
    for (int k = 0; k < count; k++)
        carry = (carry + words[(uint64_t)k * step]) >> EXACT_DIGIT_BITS;
    passing.negative = carry < 0;
    passing.place = place - 4 * EXACT_DIGIT_BITS;
    carry = 0;
    for (int k = 0; k < count + 2; k++) {
        const int64_t word = k < count ? words[(uint64_t)k * step] : 0;
        carry += passing.negative ? -word : word;
        passing.rest = passing.rest || below;
        below = (uint32_t)passing.bits;
        passing.bits = passing.bits >> EXACT_DIGIT_BITS | (unsigned __int128)(uint32_t)carry
                                                              << 3 * EXACT_DIGIT_BITS;
        passing.place += EXACT_DIGIT_BITS;
        if ((uint32_t)carry) {
            leading = passing;
            below_leading = below;
        }
        carry >>= EXACT_DIGIT_BITS;
    }
    exact_align(&leading, below_leading);
    return leading;
}

/* The divisor is not 0. */
SCALAR void exact_divide(struct exact_leading *self, uint64_t divisor)
{
    const unsigned __int128 quotient = self->bits / divisor;
    self->rest = self->rest || quotient * divisor != self->bits;
    self->bits = quotient;
    exact_align(self, 0);
}

/* ---- windows ---- */

/* Loops that add floats exactly as long as they fit in a few windows, in float64 vector registers.
 *
 * An accumulator that is kept near 1.5 * 2^k holds only multiples of 2^(k - 52). Adding a float to
 * it takes up the float's upper part, rounded, and the remainder is also a float, so no bit is lost
 * (S. M. Rump, T. Ogita, S. Oishi, "Accurate floating-point summation part I", SIAM J. Sci. Comput.
 * 31, 2008; W. Ahrens, J. Demmel, H. D. Nguyen, "Algorithms for efficient reproducible floating
 * point summation", ACM Trans. Math. Softw. 46, 2020). The remainder goes to the next window, and
 * that of the last window is returned to the caller. If there are too many remainders, the numbers
 * did not fit and must be added otherwise.
 *
 * Why no accumulator rounds. A lane takes at most 2^9 numbers, since there are at least
 * WINDOW_LANES lanes. If none exceeds 2^e in magnitude and k = e + 10, neither does an upper part,
 * since 2^e is a multiple of the unit. So their sum is at most 2^(k - 1), and the accumulator stays
 * between 2^k and 2^(k + 1), where its unit is 2^(k - 52) = 2^(e - 42). A remainder is at most half
 * a unit, 2^(e - 43): the e of the next window. A loop's sum, less than 2^51 units per lane of at
 * most 2^6, fits in 64 bits. */

enum {
    WINDOWS_MAX = 3,
    WINDOW_STEP = 43,     /* log2 of a window's largest number over the next one's */
    WINDOW_UNIT = 42,     /* log2 of the largest number over the sum's unit */
    WINDOW_HEADROOM = 10, /* log2 of the accumulator over the largest number */
    WINDOW_LANES = CHUNK_MAX >> (WINDOW_HEADROOM - 1),
    WINDOW_REMAINDERS = 256, /* remainders that a loop returns, most of them 0 */
    /* log2 of the first window's largest number, at most and at least: accumulators are normal. */
    WINDOW_HIGHEST = 1023 - WINDOW_HEADROOM,
    WINDOW_LOWEST = -1022 - WINDOW_HEADROOM + (WINDOWS_MAX - 1) * WINDOW_STEP,
    /* log2 of a product over its error, and of the smallest product whose error is a float. */
    WINDOW_ERROR = 53,
    WINDOW_PRODUCT_MIN = -960
};

/* The result of a loop. */
struct windowed {
    int64_t sums[WINDOWS_MAX][2]; /* in units: of elements at even and odd indices */
    int64_t lost[WINDOWS_MAX][2]; /* the same for the products' rounding errors */
    double greatest;              /* magnitude, or NaN; must fit in the first window */
    bool too_small;               /* a product is too small to compute its rounding error */
    uint64_t numbers;             /* those that are not NaN, if NaNs are skipped */
    bool whole;                   /* all remainders are in `left` */
    unsigned lefts;
    double left[WINDOW_REMAINDERS]; /* of even and odd indices, alternating */
};

/* Adds 1 to CHUNK_MAX contiguous floats; the first window holds magnitudes up to 2^highest.
 * Requires rounding to nearest and subnormal numbers. */
typedef void window_values(const void *floats, size_t n, int highest, struct windowed *);

/* Adds the products of 1 to CHUNK_MAX pairs of floats. A product of float64s is rounded, and its
 * error is a float64 unless the product is too small (T. J. Dekker, "A floating-point technique for
 * extending the available precision", Numer. Math. 18, 1971). The error is at most 2^(highest -
 * WINDOW_ERROR), so it has windows of its own. Products of narrower floats are exact in float64. */
typedef void window_products(const void *a, const void *b, size_t n, int highest,
                             struct windowed *);

/* ---- plain sums ---- */

/* Loops that add floats in float64 and then check the processor's IEEE 754 "inexact" flag, which
 * every rounding operation sets, vector operations included, and which stays set until it is
 * cleared. If it is clear, all sums are exact. That is the case for numbers of similar magnitude
 * that are not too many; also for float64s if each is split in two (W. Kahan's and T. J. Dekker's
 * "head" and "tail"), so that each half leaves half of an accumulator's bits unused. */
struct unrounded {
    double sums[2][2]; /* heads, tails (0 of narrow types); of even, odd indices */
    uint64_t numbers;  /* those that are not NaN, if NaNs are skipped */
};

/* Adds 1 to CHUNK_MAX contiguous floats. Returns whether no operation rounded and all numbers are
 * finite. Requires subnormal numbers and no trapping of exceptions. */
typedef bool unrounded_values(const void *floats, size_t n, struct unrounded *);

/* Adjacent sums of floats `stride` bytes apart; `columns` is a multiple of UNROUNDED_COLUMNS. */
enum { UNROUNDED_COLUMNS = 32, UNROUNDED_COLUMNS_MAX = 256 };
struct unrounded_sums {
    double heads[UNROUNDED_COLUMNS_MAX], tails[UNROUNDED_COLUMNS_MAX]; /* only for float64 */
};
typedef bool unrounded_columns(const void *floats, size_t n, int64_t stride, size_t columns,
                               struct unrounded_sums *);
