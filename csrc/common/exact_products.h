/* What a device's kernels make of products that are added exactly: superaccumulators as in
 * exact_words.h, with all digits, since the smallest product of two float64s lies as far below the
 * point as the largest above it.
 *
 * Why no word overflows. A product that is added by itself lies in two halves of 64 bits, which may
 * meet in a word: less than 2^33. A part takes two from each pair of complex numbers, so that a
 * block that is given no more than EXACT_PRODUCTS_BLOCK_MOST pairs adds less than 2^61 to a word by
 * them, and its windows' flushes add less than that. What it leaves is as in exact_words.h. */
#pragma once

#include "common/exact_root.h"
#include "common/exact_words.h"

enum {
    EXACT_PRODUCTS_BLOCK_MOST = 1 << 27,
    EXACT_PRODUCTS_PART = EXACT_NOTES + EXACT_DIGITS /* words */
};

#ifdef __cplusplus
static_assert(sizeof(struct exact) == EXACT_PRODUCTS_PART * sizeof(int64_t),
              "words become superaccumulators where they are");
static_assert(int(EXACT_NOTE_NANS) == int(EXACT_NANS) &&
                  int(EXACT_NOTE_NEGATIVE_INFINITIES) == int(EXACT_NEGATIVE_INFINITIES),
              "they are counted in the same places");
#endif

/* Whether a fold of such elements has two sums: the squares of both parts are one. */
EXACT_FUNCTION bool exact_products_have_parts(enum fold fold, enum element accumulator)
{
    return fold != FOLD_norm2 && exact_has_parts(accumulator);
}

EXACT_FUNCTION int exact_products_words(enum fold fold, enum element accumulator)
{
    return EXACT_PRODUCTS_PART * (exact_products_have_parts(fold, accumulator) ? EXACT_PARTS : 1);
}

/* A part's words become a superaccumulator where they are: there are as many of either kind, and
 * what is no finite number is counted in the same places. */
EXACT_FUNCTION void exact_products_convert(int64_t *words)
{
    words[EXACT_COUNT] = 0;
    for (int k = 0; k < EXACT_DIGITS; k++)
        words[EXACT_COUNTS + k] = words[EXACT_NOTES + k];
    words[EXACT_PRODUCTS_PART - 1] = EXACT_WORDS_LOAD;
}

/* The answer of the words that kernels have left, which are converted where they are: sums, or the
 * root of one. */
EXACT_FUNCTION struct scalar_wide exact_finish_products(const struct finish *finish, enum fold fold,
                                                        enum element accumulator,
                                                        struct exact_sums *words)
{
    int64_t *const first = (int64_t *)words;
    exact_products_convert(first);
    if (exact_products_have_parts(fold, accumulator))
        exact_products_convert(first + EXACT_PRODUCTS_PART);
    if (fold != FOLD_norm2)
        return exact_sums_round(finish, false, 1, words);
    exact_normalise(&words->parts[EXACT_REAL]);
    return scalar_widen(exact_root(&words->parts[EXACT_REAL], finish->result), finish->result);
}
