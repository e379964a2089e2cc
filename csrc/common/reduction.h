/* Reductions and the folds they rest on, from the one table in reductions.def. A fold is what
 * passes compute: a state, of a size that depends on the type of the values, that elements are
 * taken into and that merges with another. A reduction is what becomes of a state in the end. */
#pragma once

#include "common/element.h"
#include "common/processor.h"
#include "common/scalar.h"

enum fold {
#define FOLD(name, ...) FOLD_##name,
#include "common/reductions.def"
    FOLDS
};

enum reduction {
#define REDUCTION(name, ...) REDUCTION_##name,
#include "common/reductions.def"
    REDUCTIONS,
    FIRST_VARIANT = REDUCTION_sum_of_truth
};

/* What elements are converted to before they are taken in; see reductions.def. */
enum values { VALUES_own, VALUES_wide, VALUES_floating };

enum result { RESULT_same, RESULT_real, RESULT_bool, RESULT_index, RESULT_count, RESULT_record };

/* What there is of no elements. */
enum nothing { NOTHING_value, NOTHING_initial, NOTHING_nan, NOTHING_error };

struct reduction_row {
    const char *name;
    const char *called; /* in messages */
    enum fold fold;
    enum reduction plain; /* what it is where elements cannot be NaN */
    enum reduction bools; /* what it is of truth values */
    enum values values;
    enum result result;
    enum nothing nothing;
    bool counts; /* it has to know how many elements took part */
    const char *summary;
};

/* Whether an element's position in the array matters. */
SCALAR bool fold_is_indexed(enum fold fold)
{
    return
#define FOLD(name, ladder, indexed, types) (fold == FOLD_##name && indexed) ||
#include "common/reductions.def"
        false;
}

/* Whether a state is a count, a mean and the sum of squared deviations from it. */
SCALAR bool fold_is_variance(enum fold fold)
{
    return fold == FOLD_variance || fold == FOLD_nanvariance;
}

#ifdef __cplusplus
extern "C" {
#endif

/* By the name that Python knows it by. */
bool reduction_find(const char *name, enum reduction *found);

const struct reduction_row *reduction_row(enum reduction);

/* Whether it leaves NaN out, where elements can be NaN. */
static inline bool reduction_skips_nan(enum reduction reduction)
{
    return reduction_row(reduction)->plain != reduction;
}

/* Whether every rung of the ladder takes it: its state is one value. */
bool fold_is_on_ladder(enum fold);

/* Whether a state tells of how many elements it is made: of none, or, of variances, their count. */
static inline bool fold_tells_count(enum fold fold)
{
    return fold_is_indexed(fold) || fold_is_variance(fold);
}

/* Whether the least or the greatest element is asked for, or that of numbers. */
bool fold_is_extreme(enum fold);

/* Whether its state, divided by how many elements took part, is a mean of floats. */
bool fold_makes_means(enum fold, enum element accumulator);

/* ---- what becomes of a state ---- */

/* What a state is finished with. */
struct finish {
    enum element accumulator; /* the values that the state was made of */
    enum element type;        /* what elements were converted to */
    enum element result;      /* of the answer's first value */
    bool has_initial;
    bool from_nothing;    /* the value of nothing takes part: no initial= replaces it */
    union scalar initial; /* an accumulator */
    uint64_t count;       /* elements that took part, where the reduction counts */
    double ddof;
    bool has_mean; /* a spread is about the one that is given */
    struct complex128 mean;
};

enum { ANSWER_VALUES = 8 };

/* One value for most reductions; a record's in order. Not rounded to the result's type. */
struct answer {
    struct scalar_wide values[ANSWER_VALUES];
};

/* The same for a state whose values were accumulated in another type. */
static inline struct finish finish_in(const struct finish *how, enum element accumulator)
{
    struct finish other = *how;
    if (accumulator != how->accumulator)
        other.initial = scalar_convert(how->initial, how->accumulator, accumulator);
    other.accumulator = accumulator;
    return other;
}

/* ---- states on the host, compiled from kernels/reductions/ by kernels/cpu/ ---- */

enum { STATE_BYTES_MAX = 128, STATE_ALIGNMENT = 16 };

size_t state_bytes(enum fold, enum element accumulator);

/* What merges with any state to that state. */
void state_identity(enum fold, enum element accumulator, void *state);

/* Whether the result, of real values whose type it has and without initial=, is the state, or,
 * where the reduction counts, the state divided by the count. */
bool reduction_is_stored(enum reduction);

/* Whether the result, without initial=, is made of the state alone, as one value: of the type of
 * the state's values, where results are of the elements', or else an int64 or, if real or
 * nanmean's, a float64. */
bool reduction_has_value(enum reduction);

void state_finish(enum reduction, const struct finish *, const void *state, struct answer *);

/* Where results go: value v of number k to at[v], k * step values on. */
struct finished {
    void *at[ANSWER_VALUES];
    int64_t step;
    enum element held[ANSWER_VALUES]; /* what each is stored as, ... */
    unsigned values; /* of one result; one alone is rounded to finish.result first */
};

/* The same for n states that lie one after the other. Unless it is NULL, `counts` is of how many
 * elements each is, which the reduction counts. */
void states_finish(enum reduction, const struct finish *, const uint32_t *counts,
                   const void *states, uint64_t n, const struct finished *);

/* Whether one of those states at least has too few elements: none, or, of variances, no more than
 * ddof. Of folds that leave NaN out, of positions and of variances. */
bool states_lack_numbers(enum fold, enum element accumulator, const void *states, uint64_t n,
                         double ddof);

/* States of the variance's fold, n of them, as if about other means, `step` numbers apart. */
void states_about(enum element accumulator, void *states, uint64_t n,
                  const struct complex128 *means, int64_t step);

/* Values that one loop folds at most. */
enum { LOOP_MOST = 4096 };

/* Folds 1 to LOOP_MOST values, aligned and one after the other, to a state; the first is number
 * `first` of the array. Where positions matter they are folded onto what *state has before. */
typedef void fold_values(const void *values, size_t n, uint64_t first, void *state);

/* Folds n >= 1 states, one after the other, onto the first; the others become anything. */
typedef void merge_states(void *states, size_t n);

/* Merges each of n states with the one at its place in `onto`. On the ladder a state is a value. */
typedef void fold_pairs(void *onto, const void *states, size_t n);

/* Whether what comes later can change no answer, where so many values have made this state. */
typedef bool is_settled(const void *state, size_t n);

/* A loop over elements of type `input` that are converted to `type` on the way. NULL where no loop
 * does both at once: then they have to be converted first. */
fold_values *loop_of_elements(enum instructions, enum fold, enum element input, enum element type);

/* Over values that are in their accumulator already. */
fold_values *loop_of_values(enum instructions, enum fold, enum element accumulator);
merge_states *loop_of_states(enum fold, enum element accumulator);

/* Of truth values and whether there are any; NULL: all elements matter. */
is_settled *settling_of(enum reduction, enum element type);

/* Of folds on the ladder, and of those that there are loops over slabs for. */
fold_pairs *loop_of_pairs(enum fold, enum element accumulator);

#ifdef __cplusplus
}
#endif

/* ---- what is to be said of results that were made of too little ---- */

enum {
    FOUND_NOTHING = 1,    /* no element took part in one that needs some */
    FOUND_NOT_ENOUGH = 2, /* a quotient's divisor was not positive */
    FOUND_ALL_NAN = 4,    /* nothing but NaN took part in one that leaves NaN out */
    FOUND_OUTSIDE = 8,    /* a segment does not lie in the array */
};

/* How many elements a quotient was made of. */
SCALAR double answer_made_of(enum reduction reduction, enum fold fold, double ddof,
                             const struct answer *answer, uint64_t count)
{
    if (fold_is_variance(fold))
        return answer->values[1].real - ddof;
    return reduction == REDUCTION_nanmean ? (double)answer->values[1].integer : (double)count;
}

/* Bits, of `count` elements that took part. What is indexed tells by its position. */
SCALAR unsigned findings_of(enum reduction reduction, enum fold fold, enum nothing nothing,
                            double ddof, const struct answer *answer, uint64_t count)
{
    const struct scalar_wide *const first = &answer->values[0];
    const bool indexed = fold_is_indexed(fold),
               is_nan = first->kind == SCALAR_FLOAT &&
                        (first->real != first->real || first->imag != first->imag);
    unsigned found = 0;
    if (nothing == NOTHING_error && (indexed ? first->integer < 0 : count == 0))
        found |= FOUND_NOTHING;
    if (nothing == NOTHING_nan && !(answer_made_of(reduction, fold, ddof, answer, count) > 0))
        found |= FOUND_NOT_ENOUGH;
    if ((fold == FOLD_nanmin || fold == FOLD_nanmax) && is_nan)
        found |= FOUND_ALL_NAN;
    return found;
}
