/* Exact sums of an array, how they are rounded, and the words in which a device's kernels return
 * them. The same on every backend. */
#pragma once

#include "common/exact.h"
#include "common/reduction.h"

/* ---- rounding ---- */

/* The bits of the nearest float, ties to even; infinity on overflow. The position of the
 * significand's last bit determines the exponent field; adding its leading bit increments it. */
SCALAR uint64_t exact_nearest(struct exact_leading x, struct exact_format format)
{
    const uint64_t first = (uint64_t)(x.bits >> 64);
    const int place = x.place + 64, significand = 64 - format.bits, least = format.lowest - place;
    const int dropped = significand > least ? significand : least;
    if (dropped > 64) /* less than half of the smallest float */
        return 0;
    const uint64_t half = (uint64_t)1 << (dropped - 1);
    const bool rest = (first & (half - 1)) || (uint64_t)x.bits || x.rest;
    uint64_t kept = first >> (dropped - 1) >> 1;
    kept += (first & half) && ((kept & 1) || rest);
    const uint64_t exponent = (uint64_t)(place + dropped - format.lowest);
    const uint64_t bits = (exponent << (format.bits - 1)) + kept;
    const uint64_t infinity = exact_infinity(format);
    return bits < infinity ? bits : infinity;
}

/* Rounds a sum, divided by `divisor` unless that is 1, once, and returns the float's bits. Division
 * by 0 gives NaN; a sum of 0 is positive. Removing an infinity adds the opposite one. */
SCALAR uint64_t exact_round_leading(struct exact_leading leading, const int64_t *counts,
                                    int64_t divisor, struct exact_format format)
{
    const uint64_t infinity = exact_infinity(format), sign = (uint64_t)1 << (format.width - 1);
    const int64_t up = counts[EXACT_INFINITIES], down = counts[EXACT_NEGATIVE_INFINITIES];
    const bool rises = up > 0 || down < 0;
    const bool falls = down > 0 || up < 0;
    if (counts[EXACT_NANS] || (rises && falls) || divisor == 0)
        return infinity | (uint64_t)1 << (format.bits - 2); /* the default quiet NaN */
    if (rises || falls)
        return infinity | (falls != (divisor < 0) ? sign : 0);
    if (!leading.bits)
        return 0;
    if (divisor != 1)
        exact_divide(&leading, divisor < 0 ? -(uint64_t)divisor : (uint64_t)divisor);
    return exact_nearest(leading, format) | (leading.negative != (divisor < 0) ? sign : 0);
}

/* Why the first 64 bits of a root, and whether any bit after them is set, are enough. Let the sum
 * be nonzero, N its first 127 or 128 bits, the last of them at an even exponent, and f < 1 the
 * remainder after these. The root is sqrt(N + f) times a power of two. r = floor(sqrt(N)) is also
 * floor(sqrt(N + f)): N < (r + 1)^2 implies N + f < (r + 1)^2, both being integers. r has 64 bits,
 * since N is at least 2^126. The bits after them are 0 if and only if N = r^2 and f = 0. Floats,
 * and midpoints of two floats, have fewer bits. */

/* floor(sqrt(n)), bit by bit. */
SCALAR uint64_t exact_integer_root(unsigned __int128 n)
{
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t)1 << 63; bit; bit >>= 1)
        if ((unsigned __int128)(root | bit) * (root | bit) <= n)
            root |= bit;
    return root;
}

/* The rounded square root of a sum that is not negative, as a float's bits. */
SCALAR uint64_t exact_round_root(struct exact_leading square, const int64_t *counts,
                                 struct exact_format format)
{
    if (!square.bits || counts[EXACT_NANS] || counts[EXACT_INFINITIES])
        return exact_round_leading(square, counts, 1, format);
    if (square.place & 1) {
        square.rest = square.rest || (square.bits & 1);
        square.bits >>= 1;
        square.place++;
    }
    const unsigned __int128 root = exact_integer_root(square.bits);
    square.rest = square.rest || root * root != square.bits;
    square.bits = root << 64;
    square.place = square.place / 2 - 64;
    return exact_nearest(square, format);
}

/* ---- values ---- */

/* The float with these bits. */
SCALAR union scalar exact_scalar(uint64_t bits, struct exact_format format)
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

SCALAR struct exact_leading exact_leading_of_sum(const struct exact *self)
{
    return exact_find_leading(self->digits, EXACT_DIGITS, 1, -EXACT_POINT);
}

/* The rounded sum, divided, as a value of a float type. */
SCALAR union scalar exact_value(const struct exact *self, int64_t divisor, enum element type)
{
    const struct exact_format format = exact_format_of(type);
    return exact_scalar(
        exact_round_leading(exact_leading_of_sum(self), self->counts, divisor, format), format);
}

/* ---- the sums of an array ---- */

enum { EXACT_REAL, EXACT_IMAGINARY, EXACT_PARTS };

/* The second part is that of complex numbers, otherwise 0. */
struct exact_sums {
    struct exact parts[EXACT_PARTS];
};

SCALAR struct exact_format exact_format_of_part(const struct finish *finish)
{
    return exact_format_of(element_real_part(finish->result));
}

/* A part of initial=. */
SCALAR double exact_initial_part(const struct finish *finish, int part)
{
    const struct scalar_wide initial = scalar_widen(finish->initial, finish->accumulator);
    return part == EXACT_REAL ? initial.real : initial.imag;
}

SCALAR struct exact_number exact_initial(const struct finish *finish, int part)
{
    const double value = exact_initial_part(finish, part);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return exact_decode(bits, exact_format_of(ELEMENT_FLOAT64));
}

/* The answer from the bits of rounded parts. */
SCALAR struct scalar_wide exact_answer(const struct finish *finish, uint64_t real, uint64_t imag)
{
    const enum element type = element_real_part(finish->result);
    const struct exact_format format = exact_format_of(type);
    struct scalar_wide answer = scalar_widen(exact_scalar(real, format), type);
    if (element_is_complex(finish->result))
        answer.imag = scalar_widen(exact_scalar(imag, format), type).real;
    return answer;
}

/* What is rounded: the sum, the mean, or the square root of a sum of squares. */
enum exact_rounding { EXACT_SUM, EXACT_MEAN, EXACT_ROOT };

/* The bits of a rounded part. A sum of 0 may be -0. */
SCALAR uint64_t exact_round_part(const struct finish *finish, enum exact_rounding rounding,
                                 uint64_t count, const int64_t *counts, bool negative_zero,
                                 const struct exact_leading *leading)
{
    const struct exact_format format = exact_format_of_part(finish);
    if (rounding == EXACT_ROOT)
        return exact_round_root(*leading, counts, format);
    const bool mean = rounding == EXACT_MEAN;
    const uint64_t bits = exact_round_leading(*leading, counts, mean ? (int64_t)count : 1, format);
    const bool signs = negative_zero && !mean && bits == 0 && !leading->bits;
    return signs ? (uint64_t)1 << (format.width - 1) : bits;
}

/* Adds initial= to the sums and rounds each once, to the type of the result's parts. Every float
 * type's values are also float64s. */
SCALAR struct scalar_wide exact_sums_round(const struct finish *finish,
                                           enum exact_rounding rounding, uint64_t count,
                                           const bool negative_zeros[EXACT_PARTS],
                                           struct exact_sums *sums)
{
    const int parts = element_is_complex(finish->result) ? EXACT_PARTS : 1;
    uint64_t bits[EXACT_PARTS] = {0, 0};
    for (int part = 0; part < parts; part++) {
        struct exact *const sum = &sums->parts[part];
        if (finish->has_initial) {
            exact_reserve(sum, 1);
            exact_add(sum, exact_initial(finish, part));
        }
        exact_normalise(sum);
        const struct exact_leading leading = exact_leading_of_sum(sum);
        bits[part] =
            exact_round_part(finish, rounding, count, sum->counts, negative_zeros[part], &leading);
    }
    return exact_answer(finish, bits[EXACT_REAL], bits[EXACT_IMAGINARY]);
}

/* ---- the words that kernels compute ---- */

/* Kernels compute a superaccumulator without the digits that no float of the type can reach, in
 * words that are added separately.
 *
 * Why no word overflows. A word of a block takes less than 2^32 from each number that is added
 * directly, which spans three words, and at most three times as much from a warp's windows per
 * stretch, since windows are 43 bits apart. A stretch is hundreds of numbers per lane, except for a
 * warp's last. Blocks have EXACT_BLOCK_MAX elements on average, and at most a tile per warp more.
 * So a word takes the pieces of at most 2^30 + 2^17 numbers, and stays below 2^62 + 2^50. Along
 * axes, a thread may empty its windows after two numbers; there, blocks have half as many elements
 * of a result.
 *
 * A product that is added directly may add less than 2^33 to a word, and a part takes two products
 * from each pair of complex numbers: EXACT_PRODUCTS_BLOCK_MAX pairs add less than 2^61, and their
 * windows less than that.
 *
 * A block's result has propagated its carries once: its words are less than 2^32 + 2^31 in
 * magnitude, and 2^29 of them, from blocks or pieces, can be added in one word. A part's topmost
 * word does not carry: its weight is 2^188 or 2^1084, and the sum of 2^63 numbers is less than
 * 2^191 or 2^1087. Only a thread's own elements are counted in 32 bits. */

enum {
    EXACT_BLOCK_MAX = 1 << 29,          /* elements, each of which may be two numbers */
    EXACT_PRODUCTS_BLOCK_MAX = 1 << 27, /* pairs of elements */
    EXACT_WORDS_LOAD = 2                /* load of the words that kernels return; see exact.h */
};

/* Words of a part before its digits; non-finite numbers have a superaccumulator's indices. */
enum {
    EXACT_SKIPPED = EXACT_COUNT,            /* number of NaNs skipped */
    EXACT_NOT_NEGATIVE_ZERO = EXACT_COUNTS, /* nonzero: elements other than -0 were seen */
    EXACT_HEADER
};

/* The range of a sum's digits within those of a superaccumulator (see EXACT_POINT), without digits
 * that the float or integer type cannot reach, and the number of parts. The topmost digit takes up
 * the carries of 2^63 numbers. */
enum {
    EXACT_NARROW_FIRST = 61,
    EXACT_NARROW_DIGITS = 13,
    EXACT_WIDE_FIRST = 33,
    EXACT_WIDE_DIGITS = 69
};

struct exact_span {
    int first, digits, parts;
};

/* The type whose digits are used for the sum. */
SCALAR enum element exact_accumulator(enum element input)
{
    return input == ELEMENT_FLOAT16 || input == ELEMENT_BFLOAT16 ? ELEMENT_FLOAT32 : input;
}

SCALAR struct exact_span exact_span_of(enum element accumulator)
{
    const bool narrow = accumulator == ELEMENT_FLOAT32 || accumulator == ELEMENT_COMPLEX64;
    const struct exact_span span = {narrow ? EXACT_NARROW_FIRST : EXACT_WIDE_FIRST,
                                    narrow ? EXACT_NARROW_DIGITS : EXACT_WIDE_DIGITS,
                                    element_is_complex(accumulator) ? EXACT_PARTS : 1};
    return span;
}

/* The exponent ranges of float64 products below and above the point are equally large. The squares
 * of both parts of complex numbers are one sum. */
SCALAR struct exact_span exact_span_of_products(enum fold fold, enum element accumulator)
{
    const bool parts = fold != FOLD_norm2 && element_is_complex(accumulator);
    const struct exact_span span = {0, EXACT_DIGITS, parts ? EXACT_PARTS : 1};
    return span;
}

SCALAR int exact_words_of_part(struct exact_span span)
{
    return EXACT_HEADER + span.digits;
}

SCALAR int exact_words_of(struct exact_span span)
{
    return exact_words_of_part(span) * span.parts;
}

/* The most words of any sum. */
enum { EXACT_WORDS_MAX = EXACT_PARTS * (EXACT_HEADER + EXACT_DIGITS) };

/* The words that blocks add to together; 0 before and after a launch. */
struct exact_shared_words {
    unsigned tickets;
    unsigned long long words[EXACT_WORDS_MAX];
};

/* Copies a part's words into a superaccumulator. */
SCALAR void exact_from_words(const int64_t *words, struct exact_span span, struct exact *sum)
{
    for (int k = EXACT_NANS; k < EXACT_COUNTS; k++)
        sum->counts[k] = words[k];
    for (int k = 0; k < span.digits; k++)
        sum->digits[span.first + k] = words[EXACT_HEADER + k];
    sum->load = EXACT_WORDS_LOAD;
}

/* Whether a sum can be -0: if all elements, and the initial value, are. */
SCALAR bool exact_needs_zero_signs(const struct finish *finish)
{
    return !finish->includes_identity;
}

/* Whether a part's initial value leaves the sum -0 if all elements are -0. */
SCALAR bool exact_allows_negative_zero(const struct finish *finish, int part)
{
    const double initial = exact_initial_part(finish, part);
    return exact_needs_zero_signs(finish) &&
           (!finish->has_initial || (initial == 0 && 1 / initial < 0));
}

/* Adds a part of initial= to its words, which have all digits of a superaccumulator. */
SCALAR void exact_words_add_initial(const struct finish *finish, int part, int64_t *words)
{
    const struct exact_number x = exact_initial(finish, part);
    if (x.kind == EXACT_FINITE)
        exact_deposit_at(words + EXACT_HEADER, x.significand, (unsigned)(x.exponent + EXACT_POINT),
                         x.negative);
    else
        words[exact_count_index(x.kind, x.negative)] += 1;
}

/* The answer from the words of kernels. `count` is the number of elements including skipped ones;
 * it becomes the number without them. */
SCALAR struct scalar_wide exact_finish_words(const struct finish *finish,
                                             enum exact_rounding rounding, const int64_t *words,
                                             struct exact_span span, uint64_t *count,
                                             struct exact_sums *sums)
{
    bool negative_zeros[EXACT_PARTS] = {false, false};
    memset(sums, 0, sizeof *sums);
    *count -= (uint64_t)words[EXACT_SKIPPED];
    for (int part = 0; part < span.parts; part++, words += exact_words_of_part(span)) {
        exact_from_words(words, span, &sums->parts[part]);
        negative_zeros[part] =
            exact_allows_negative_zero(finish, part) && !words[EXACT_NOT_NEGATIVE_ZERO];
    }
    return exact_sums_round(finish, rounding, *count, negative_zeros, sums);
}
