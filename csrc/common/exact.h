/* Exact sums: a superaccumulator is one long fixed-point number in which every float, and every
 * product of two, has its place. It is added to in any order, without floating-point arithmetic
 * that could round, alike on every backend, and rounded once, when somebody asks what it is.
 *
 * Its digits have 32 bits, each in a signed word of 64, whose upper half takes up carries, so that
 * these are seldom passed on (R. M. Neal, "Fast exact summation using small and large
 * superaccumulators", arXiv:1505.05571, 2015). To merge two, words are added. Other words count
 * what was added and what is not finite.
 *
 * Why no word overflows. Say that a superaccumulator has load L if no digit's word is more than
 * L * (2^32 - 1) in magnitude.
 *   - Normalised words are digits: load 1.
 *   - What is added lies in pieces of less than 2^32, at most one a word: load 1 more. A product
 *     lies in two halves of 64 bits, which may meet in a word: load 2 more.
 *   - Merging adds loads, since it adds words.
 * Loads are kept to EXACT_LOAD_MOST = 2^30, so words stay below 2^62, and a carry from below, less
 * than 2^30 + 1, fits beside them. The topmost word hands no carries on: 2^63 products of the
 * largest float64 do not reach it by more than its own 2^32. So 2^30 - 1 deposits fit before
 * carries are passed on, and 2^30 normalised parts can be added word by word. */
#pragma once

#include "common/reduction.h"

enum {
    EXACT_DIGIT_BITS = 32,
    EXACT_POINT = 2148, /* bits after the point: the smallest product is 2^-1074 squared */
    EXACT_DIGITS = 134, /* a product is less than 2^2048; 2^63 of them are less than 2^2111 */
    EXACT_PIECES = 3,   /* words that 64 bits may lie in */
    EXACT_LOAD_MOST = 1 << 30
};

#define EXACT_DIGIT_MASK (((uint64_t)1 << EXACT_DIGIT_BITS) - 1)

/* What others may hand in: words with room for carries, whose sum no 2^63 numbers are beyond. */
#define EXACT_WORD_MOST ((int64_t)1 << 62)
#define EXACT_TOP_MOST  ((int64_t)EXACT_DIGIT_MASK)

/* How many of each were added; what is taken away again counts as -1. */
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
    int64_t digits[EXACT_DIGITS]; /* number k is worth 2^(32 k - EXACT_POINT) */
    uint64_t load;                /* see above */
};

/* ---- floats as integers ---- */

/* A type of floats: the bits of its significands, the exponent of its smallest number, and all its
 * bits. */
struct exact_format {
    int bits, lowest, width;
};

SCALAR bool exact_has_format(enum element element)
{
    return !element_is_integer(element) && !element_is_complex(element);
}

/* Of one of these types. */
SCALAR struct exact_format exact_format_of(enum element element)
{
    const struct exact_format float16 = {11, -24, 16}, bfloat16 = {8, -133, 16},
                              float32 = {24, -149, 32}, float64 = {53, -1074, 64};
    return element == ELEMENT_FLOAT16    ? float16
           : element == ELEMENT_BFLOAT16 ? bfloat16
           : element == ELEMENT_FLOAT32  ? float32
                                         : float64;
}

/* An infinity's bits; NaNs are above. */
SCALAR uint64_t exact_infinity(struct exact_format format)
{
    return (((uint64_t)1 << (format.width - format.bits)) - 1) << (format.bits - 1);
}

enum exact_kind { EXACT_FINITE, EXACT_INFINITE, EXACT_NAN };

/* significand * 2^exponent, or what is none such. */
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

/* Of a real element type. */
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

/* Piece k of the EXACT_PIECES words that magnitude * 2^place lies in, from the digit on that place
 * lies in. */
SCALAR uint64_t exact_piece(uint64_t magnitude, unsigned place, unsigned k)
{
    const unsigned shift = place % EXACT_DIGIT_BITS;
    const uint64_t low = magnitude << shift, high = magnitude >> 1 >> (63 - shift);
    return k == 0 ? low & EXACT_DIGIT_MASK : k == 1 ? low >> EXACT_DIGIT_BITS : high;
}

/* Adds magnitude * 2^place to digits, of which the first is worth 1. */
SCALAR void exact_put_at(int64_t *digits, uint64_t magnitude, unsigned place, bool negative)
{
    const int64_t flip = -(int64_t)negative; /* signs come at random, so that no branch is taken */
    digits += place / EXACT_DIGIT_BITS;
    digits[0] += ((int64_t)exact_piece(magnitude, place, 0) ^ flip) - flip;
    digits[1] += ((int64_t)exact_piece(magnitude, place, 1) ^ flip) - flip;
    digits[2] += ((int64_t)exact_piece(magnitude, place, 2) ^ flip) - flip;
}

/* Adds magnitude * 2^exponent. Needs room for a load of 1. */
SCALAR void exact_put(struct exact *self, uint64_t magnitude, int exponent, bool negative)
{
    exact_put_at(self->digits, magnitude, (unsigned)(exponent + EXACT_POINT), negative);
}

/* The word that counts what is not finite. */
SCALAR int exact_count_of(enum exact_kind kind, bool negative)
{
    return kind == EXACT_NAN ? EXACT_NANS : negative ? EXACT_NEGATIVE_INFINITIES : EXACT_INFINITIES;
}

/* Needs room for a load of 1. Does not count the number itself. */
SCALAR void exact_add(struct exact *self, struct exact_number x)
{
    if (x.kind == EXACT_FINITE)
        exact_put(self, x.significand, x.exponent, x.negative);
    else
        self->counts[exact_count_of(x.kind, x.negative)] += 1;
}

/* What kind of number a product is: infinity times 0 is NaN. */
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

/* The same of a product, which needs room for 2. */
SCALAR void exact_add_product(struct exact *self, struct exact_number a, struct exact_number b)
{
    const enum exact_kind kind = exact_kind_of_product(a, b);
    const bool negative = a.negative != b.negative;
    if (kind != EXACT_FINITE) {
        self->counts[exact_count_of(kind, negative)] += 1;
        return;
    }
    const unsigned __int128 product = (unsigned __int128)a.significand * b.significand;
    exact_put(self, (uint64_t)product, a.exponent + b.exponent, negative);
    exact_put(self, (uint64_t)(product >> 64), a.exponent + b.exponent + 64, negative);
}

/* ---- carrying ---- */

/* Digits from 0 to 2^32 - 1 each, but for the topmost, which has the sign. */
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

/* Brings equal sums into equal words: digits below 2^32, all of the sum's sign. */
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

/* Makes room for a load of less than EXACT_LOAD_MOST that comes next. */
SCALAR void exact_reserve(struct exact *self, uint64_t load)
{
    if (self->load + load > EXACT_LOAD_MOST)
        exact_normalise(self);
    self->load += load;
}

/* Adds another one, whose load is less than EXACT_LOAD_MOST. */
SCALAR void exact_merge(struct exact *self, const struct exact *other)
{
    exact_reserve(self, other->load);
    for (int k = 0; k < EXACT_COUNTS; k++)
        self->counts[k] += other->counts[k];
    for (int k = 0; k < EXACT_DIGITS; k++)
        self->digits[k] += other->digits[k];
}

/* ---- the bits that decide how a sum is rounded ---- */

/* A magnitude's 128 bits from the first that is 1 on, the last of them worth 2^place, and whether
 * anything lies after these; of 0 there are none. Divided by a number of 64 bits, 65 are left:
 * enough for any float and what lies half way between two. */
struct exact_leading {
    unsigned __int128 bits;
    int place;
    bool rest, negative;
};

/* How many bits lie above the first that is 1, of a number that is not 0. */
#ifdef __CUDA_ARCH__
#define EXACT_BITS_ABOVE(x) __clzll((long long)(x))
#else
#define EXACT_BITS_ABOVE(x) __builtin_clzll(x)
#endif

/* Moves the first bit that is 1 to the front; a digit comes in from below. */
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
    const int shift = upper ? EXACT_BITS_ABOVE(upper) : 64 + EXACT_BITS_ABOVE(lower);
    const uint64_t shifted = (uint64_t)below << shift % EXACT_DIGIT_BITS;
    self->bits = self->bits << shift | shifted >> EXACT_DIGIT_BITS;
    self->rest = self->rest || (uint32_t)shifted;
    self->place -= shift;
}

/* Of above * 2^32 + below, in units of 2^place. */
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

/* Of a sum's words, each `step` after the one before, the first worth 2^place. They need not be
 * normalised: what each hands on to the next is found on the way, and whether the sum is negative
 * beforehand. */
SCALAR struct exact_leading exact_lead(const int64_t *words, int count, uint64_t step, int place)
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

/* Divides by a divisor that is not 0. */
SCALAR void exact_divide(struct exact_leading *self, uint64_t divisor)
{
    const unsigned __int128 quotient = self->bits / divisor;
    self->rest = self->rest || quotient * divisor != self->bits;
    self->bits = quotient;
    exact_align(self, 0);
}

/* ---- windows ---- */

/* Loops that add floats exactly while they lie within windows: in float64s, in vector registers.
 *
 * An accumulator that is kept near 1.5 * 2^k holds only multiples of 2^(k - 52), so that what it
 * takes of a float when that is added to it is the float's upper part, rounded, and what is left of
 * the float is a float, too: no bit is lost (S. M. Rump, T. Ogita, S. Oishi, "Accurate
 * floating-point summation part I", SIAM J. Sci. Comput. 31, 2008; W. Ahrens, J. Demmel,
 * H. D. Nguyen, "Algorithms for efficient reproducible floating point summation", ACM Trans. Math.
 * Softw. 46, 2020). What is left goes to the next window, and what the last one leaves is handed
 * out. Where that is much, the numbers did not fit, and somebody else has to add them.
 *
 * Why no accumulator rounds. One lane takes at most 2^9 numbers, WINDOW_LANES lanes being the
 * fewest. Where none is more than 2^e in magnitude, and k = e + 10, the upper parts are not either,
 * since 2^e is a multiple of the unit; so their sum is at most 2^(k - 1), and the accumulator stays
 * between 2^k and 2^(k + 1), where its unit is 2^(k - 52) = 2^(e - 42). What is left is at most
 * half a unit, 2^(e - 43): the e of the next window. A loop's sum, less than 2^51 units a lane of
 * at most 2^6, is an integer of 64 bits. */

enum {
    WINDOWS_MOST = 3,
    WINDOW_STEP = 43, /* exponents between a window's largest number and the next one's */
    WINDOW_UNIT = 42, /* and between it and the unit of its sum */
    WINDOW_HEAD = 10, /* and between the accumulator and it */
    WINDOW_LANES = LOOP_MOST >> (WINDOW_HEAD - 1),
    WINDOW_LEFT = 256, /* numbers, most of them 0, that a loop hands out */
    /* The largest number of the first window, as an exponent: all accumulators are normal. */
    WINDOW_HIGHEST = 1023 - WINDOW_HEAD,
    WINDOW_LOWEST = -1022 - WINDOW_HEAD + (WINDOWS_MOST - 1) * WINDOW_STEP,
    /* Of a product, what is lost when it is rounded; and the smallest of which that is a float. */
    WINDOW_LOST = 53,
    WINDOW_LEAST_PRODUCT = -960
};

/* What a loop makes of numbers. */
struct windowed {
    int64_t sums[WINDOWS_MOST][2]; /* of those in even places, and in odd ones, in units */
    int64_t lost[WINDOWS_MOST][2]; /* the same of what products have lost */
    double greatest;  /* of their magnitudes, or NaN; must be none beyond the first window */
    bool too_small;   /* a product is, to know what it has lost */
    uint64_t numbers; /* that are not NaN, where those are left out */
    bool whole;       /* all that the windows have left is here: */
    unsigned lefts;
    double left[WINDOW_LEFT]; /* of those in even places, and in odd ones, in turn */
};

/* Adds 1 to LOOP_MOST floats that lie one after the other, the first window being for magnitudes up
 * to 2^highest. Arithmetic has to round to nearest, and to keep subnormal numbers. */
typedef void window_values(const void *floats, size_t n, int highest, struct windowed *);

/* Adds the products of 1 to LOOP_MOST pairs of floats. A product of float64s is rounded, and what
 * it loses is a float64 (T. J. Dekker, "A floating-point technique for extending the available
 * precision", Numer. Math. 18, 1971), unless the product is too small: of magnitudes up to
 * 2^(highest - WINDOW_LOST), and so it has windows of its own. Narrower floats' products are
 * float64s. */
typedef void window_products(const void *a, const void *b, size_t n, int highest,
                             struct windowed *);

/* ---- plain sums ---- */

/* Loops that just add floats, in float64s, and then ask the processor whether it has rounded: the
 * exception "inexact" of IEEE 754 is a flag that every operation that rounds sets, in vector
 * registers too, and that stays set until it is cleared. Where it is not set, all sums are exact.
 * Numbers that are near each other in magnitude, and not too many, leave it alone: float64s too,
 * once they are cut in two (W. Kahan's and T. J. Dekker's "head" and "tail"), so that each half has
 * half of an accumulator's bits to spare. */
struct unrounded {
    double sums[2][2]; /* of a float64's heads and tails, or of all of a narrower type, and then
                          nothing: of those in even places, and in odd ones */
    uint64_t numbers;  /* that are not NaN, where those are left out */
};

/* Adds 1 to LOOP_MOST floats that lie one after the other, and returns whether nothing was rounded
 * and all is finite. Arithmetic has to keep subnormal numbers, and to trap nothing. */
typedef bool unrounded_values(const void *floats, size_t n, struct unrounded *);

/* So many sums side by side: the floats of each lie `stride` bytes apart, its neighbour's beside
 * them. `columns` is a multiple of UNROUNDED_COLUMNS. */
enum { UNROUNDED_COLUMNS = 32, UNROUNDED_COLUMNS_MOST = 256 };
struct unrounded_sums {
    double heads[UNROUNDED_COLUMNS_MOST],
        tails[UNROUNDED_COLUMNS_MOST]; /* only float64s have these */
};
typedef bool unrounded_columns(const void *floats, size_t n, int64_t stride, size_t columns,
                               struct unrounded_sums *);
