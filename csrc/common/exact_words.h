/* What a device's kernels make of an array that is summed exactly: a superaccumulator, without the
 * digits that no float of the type can reach, in words that are added one by one.
 *
 * Why no word overflows. A word of a block takes less than 2^32 from each number that is added by
 * itself, since what a number's bits are put in lies in three words, a piece in each. From what a
 * warp's windows have taken in a stretch it takes as much three times at most: windows are 43 bits
 * apart, and each is put in three words, too. A stretch is hundreds of numbers a lane, and only a
 * warp's last is shorter. Arrays are cut so that blocks have EXACT_BLOCK_MOST elements on average;
 * by warps that take tiles in turn, none has more than a tile a warp beyond that. So a word takes
 * up no more than 2^30 + 2^17 numbers' pieces, and stays below 2^62 + 2^50. It has 63 bits and a
 * sign. Along axes a thread may empty its windows after two numbers, three pieces to a word; there
 * blocks have half as many elements of a result, and a word stays below 2^62, too.
 *
 * A product that is added by itself lies in two halves of 64 bits, which may meet in a word: less
 * than 2^33. A part takes two from each pair of complex numbers, so that a block that is given no
 * more than EXACT_PRODUCTS_BLOCK_MOST pairs adds less than 2^61 to a word by them, and its windows'
 * flushes add less than that.
 *
 * What a block leaves has passed its carries on once: a word is then less than 2^32 + 2^31 in
 * magnitude. As many as 2^29 of these, of blocks or of pieces, can be added in one word, and what
 * becomes of them has passed its carries on, too. A part's topmost word passes nothing on, and
 * takes up what 2^63 numbers can carry there: it is worth 2^188 or 2^1084, and they are less than
 * 2^191 or 2^1087. Nothing counts elements in 32 bits but a thread its own, of which there are
 * fewer than its block has. */
#pragma once

#include "common/exact_sums.h"

enum {
    EXACT_BLOCK_MOST = 1 << 29,          /* elements, of which each may be two numbers */
    EXACT_PRODUCTS_BLOCK_MOST = 1 << 27, /* pairs of elements */
    EXACT_WORDS_LOAD = 2                 /* of what kernels leave; see exact.h */
};

/* Of a part, before its digits. Those that a superaccumulator has, too, are in the same place. */
enum exact_note_word {
    EXACT_NOTE_LEFT_OUT, /* how many NaNs were */
    EXACT_NOTE_NANS = EXACT_NANS,
    EXACT_NOTE_INFINITIES = EXACT_INFINITIES,
    EXACT_NOTE_NEGATIVE_INFINITIES = EXACT_NEGATIVE_INFINITIES,
    EXACT_NOTE_OTHERS, /* not 0: something else than -0 was added, if anybody wants to know */
    EXACT_NOTES
};

/* Where a sum's digits lie among all that there are (see EXACT_POINT), and of how many parts it is.
 * Those that a type of floats, or of integers, cannot reach are left out: of the ones that are
 * there the lowest have 47 bits or 18 that stay 0, and the topmost takes up the carries of 2^63
 * numbers.
 */
enum {
    EXACT_NARROW_FIRST = 61,
    EXACT_NARROW_DIGITS = 13,
    EXACT_WIDE_FIRST = 33,
    EXACT_WIDE_DIGITS = 69
};

struct exact_span {
    int first, digits, parts;
};

/* The type whose digits the sum of such elements takes. */
EXACT_FUNCTION enum element exact_accumulator(enum element input)
{
    return input == ELEMENT_FLOAT16 || input == ELEMENT_BFLOAT16 ? ELEMENT_FLOAT32 : input;
}

EXACT_FUNCTION struct exact_span exact_span_of(enum element accumulator)
{
    const bool narrow = accumulator == ELEMENT_FLOAT32 || accumulator == ELEMENT_COMPLEX64;
    const struct exact_span span = {narrow ? EXACT_NARROW_FIRST : EXACT_WIDE_FIRST,
                                    narrow ? EXACT_NARROW_DIGITS : EXACT_WIDE_DIGITS,
                                    exact_has_parts(accumulator) ? EXACT_PARTS : 1};
    return span;
}

/* The smallest product of two float64s lies as far below the point as the largest above it. The
 * squares of both parts of complex numbers are one sum. */
EXACT_FUNCTION struct exact_span exact_span_of_products(enum fold fold, enum element accumulator)
{
    const bool parts = fold != FOLD_norm2 && exact_has_parts(accumulator);
    const struct exact_span span = {0, EXACT_DIGITS, parts ? EXACT_PARTS : 1};
    return span;
}

EXACT_FUNCTION int exact_words_of_part(struct exact_span span)
{
    return EXACT_NOTES + span.digits;
}

EXACT_FUNCTION int exact_words_of(struct exact_span span)
{
    return exact_words_of_part(span) * span.parts;
}

/* Of any sum. */
enum { EXACT_WORDS_MOST = EXACT_PARTS * (EXACT_NOTES + EXACT_DIGITS) };

/* What blocks add together, 0 before and after a launch. */
struct exact_together {
    unsigned tickets;
    unsigned long long words[EXACT_WORDS_MOST];
};

/* A part's words as a superaccumulator. */
EXACT_FUNCTION void exact_of_words(const int64_t *words, struct exact_span span, struct exact *sum)
{
    sum->counts[EXACT_NANS] = words[EXACT_NOTE_NANS];
    sum->counts[EXACT_INFINITIES] = words[EXACT_NOTE_INFINITIES];
    sum->counts[EXACT_NEGATIVE_INFINITIES] = words[EXACT_NOTE_NEGATIVE_INFINITIES];
    for (int k = 0; k < span.digits; k++)
        sum->digits[span.first + k] = words[EXACT_NOTES + k];
    sum->load = EXACT_WORDS_LOAD;
}

/* Whether a sum of 0 can be negative: if all that was added, and what it begins with, is. */
EXACT_FUNCTION bool exact_asks_for_signs(const struct finish *finish)
{
    return !finish->from_nothing;
}

EXACT_FUNCTION bool exact_is_negative_zero(double x)
{
    return x == 0 && 1 / x < 0;
}

/* Whether what a part begins with leaves it negative, if all that is added is -0. */
EXACT_FUNCTION bool exact_begins_negative(const struct finish *finish, int part)
{
    const struct scalar_wide initial = scalar_widen(finish->initial, finish->accumulator);
    return exact_asks_for_signs(finish) &&
           (!finish->has_initial ||
            exact_is_negative_zero(exact_part(initial.real, initial.imag, part)));
}

/* Adds what the caller wants a part to begin with to its words, whose digits are all that a
 * superaccumulator has. */
EXACT_FUNCTION void exact_words_begin(const struct finish *finish, int part, int64_t *words)
{
    const struct exact_number x = exact_initial(finish, part);
    if (x.kind == EXACT_FINITE)
        exact_put_at(words + EXACT_NOTES, x.significand, (unsigned)(x.exponent + EXACT_POINT),
                     x.negative);
    else
        words[exact_count_of(x.kind, x.negative)] += 1;
}

/* The answer of the words that kernels have left: sums, or the root of one, of an array whose
 * elements were `count` with those that were left out; *count becomes how many took part. */
EXACT_FUNCTION struct scalar_wide exact_finish_words(const struct finish *finish, enum fold fold,
                                                     bool mean, const int64_t *words,
                                                     struct exact_span span, uint64_t *count,
                                                     struct exact_sums *sums)
{
    bool negative_zeros[EXACT_PARTS] = {false, false};
    exact_sums_clear(sums);
    *count -= (uint64_t)words[EXACT_NOTE_LEFT_OUT];
    for (int part = 0; part < span.parts; part++, words += exact_words_of_part(span)) {
        exact_of_words(words, span, &sums->parts[part]);
        negative_zeros[part] = exact_begins_negative(finish, part) && !words[EXACT_NOTE_OTHERS];
    }
    return fold == FOLD_norm2
               ? exact_sums_root(finish, sums)
               : exact_sums_round(finish, mean, (int64_t)*count, negative_zeros, sums);
}

#ifdef __cplusplus
static_assert(int(EXACT_NOTE_NANS) == int(EXACT_NANS) &&
                  int(EXACT_NOTE_INFINITIES) == int(EXACT_INFINITIES) &&
                  int(EXACT_NOTE_NEGATIVE_INFINITIES) == int(EXACT_NEGATIVE_INFINITIES),
              "they are counted in the same places");
#endif
