/* Folds and reductions, from the table in reductions.def. A fold is what passes compute: a state
 * that takes elements and merges with other states. A reduction turns a state into a result. */
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

/* The type that elements are converted to before the fold; see reductions.def. */
enum values { VALUES_own, VALUES_wide, VALUES_floating };

enum result { RESULT_same, RESULT_real, RESULT_bool, RESULT_index, RESULT_count, RESULT_record };

/* The result of no elements. */
enum nothing { NOTHING_value, NOTHING_initial, NOTHING_nan, NOTHING_error };

struct reduction_row {
    const char *name;
    const char *called; /* in messages */
    enum fold fold;
    enum reduction plain; /* if elements cannot be NaN */
    enum reduction bools; /* of truth values */
    enum values values;
    enum result result;
    enum nothing nothing;
    bool counts; /* needs the number of elements */
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

/* Whether a state is a count, a mean and the sum of squared deviations from the mean. */
SCALAR bool fold_is_variance(enum fold fold)
{
    return fold == FOLD_variance || fold == FOLD_nanvariance;
}

#ifdef __cplusplus
extern "C" {
#endif

/* Looks a reduction up by its Python name. */
bool reduction_find(const char *name, enum reduction *found);

const struct reduction_row *reduction_row(enum reduction);

/* Whether it skips NaNs, if elements can be NaN. */
static inline bool reduction_skips_nan(enum reduction reduction)
{
    return reduction_row(reduction)->plain != reduction;
}

/* Whether every rung of the ladder supports it: its state is one value. */
bool fold_is_on_ladder(enum fold);

/* Whether a state tells its number of elements, or at least whether there were any. */
static inline bool fold_state_has_count(enum fold fold)
{
    return fold_is_indexed(fold) || fold_is_variance(fold);
}

/* Whether it is a minimum or maximum, with or without NaNs. */
bool fold_is_extreme(enum fold);

/* Whether its state, divided by the number of elements, is a mean of floats. */
bool fold_gives_mean(enum fold, enum element accumulator);

/* ---- finishing a state ---- */

/* The parameters of finishing a state. */
struct finish {
    enum element accumulator; /* type of the state's values */
    enum element type;        /* type that elements were converted to */
    enum element result;      /* type of the answer's first value */
    bool has_initial;
    bool includes_identity; /* the identity is included: initial= does not replace it */
    union scalar initial;   /* in the accumulator's type */
    uint64_t count;         /* number of elements, if the reduction counts */
    double ddof;
    bool has_mean; /* deviations are from the given mean */
    struct complex128 mean;
};

enum { ANSWER_VALUES = 8 };

/* One value for most reductions; a record's in order. Not rounded to the result's type. */
struct answer {
    struct scalar_wide values[ANSWER_VALUES];
};

/* The same parameters for a state of another accumulator. */
static inline struct finish finish_convert(const struct finish *how, enum element accumulator)
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

/* Stores the identity, which merges with any state to that state. */
void state_identity(enum fold, enum element accumulator, void *state);

/* Whether the result is the state or, if the reduction counts, the state divided by the count.
 * Assumes real values of the result's type and no initial=. */
bool reduction_is_stored(enum reduction);

/* Whether the result, without initial=, is one value computed from the state only: of the state's
 * type if results have the elements' type, else int64, or float64 for real results and nanmean. */
bool reduction_has_value(enum reduction);

void state_finish(enum reduction, const struct finish *, const void *state, struct answer *);

/* Where results go: value v of result k is stored at at[v] + k * step values. */
struct finished {
    void *at[ANSWER_VALUES];
    int64_t step;
    enum element held[ANSWER_VALUES]; /* type that each value is stored as */
    unsigned values; /* per result; a single one is first rounded to finish.result */
};

/* Finishes n contiguous states. `counts`: elements of each, if the reduction counts; or NULL. */
void states_finish(enum reduction, const struct finish *, const uint32_t *counts,
                   const void *states, uint64_t n, const struct finished *);

/* Whether any of n states has too few elements: none or, for variances, at most ddof. For folds
 * that skip NaNs, of positions and of variances. */
bool states_have_too_few(enum fold, enum element accumulator, const void *states, uint64_t n,
                         double ddof);

/* Moves n states of the variance's fold to other means, which are `step` elements apart. */
void states_recenter(enum element accumulator, void *states, uint64_t n,
                     const struct complex128 *means, int64_t step);

/* Most values that one loop folds. */
enum { CHUNK_MAX = 4096 };

/* Folds 1 to CHUNK_MAX aligned, contiguous values to a state. `first` is the position of the first
 * value. Folds of positions also include the previous *state. */
typedef void fold_values(const void *values, size_t n, uint64_t first, void *state);

/* Merges n >= 1 contiguous states into the first; the others are unspecified afterwards. */
typedef void merge_states(void *states, size_t n);

/* Merges each of n states into its counterpart in `onto`. On the ladder a state is a value. */
typedef void merge_pairs(void *onto, const void *states, size_t n);

/* Whether no later element can change the answer, given this state of n values. */
typedef bool is_settled(const void *state, size_t n);

/* A loop over elements of type `input`, converted to `type` on the way. NULL if no loop does both:
 * convert the elements first. */
fold_values *loop_of_elements(enum instructions, enum fold, enum element input, enum element type);

/* A loop over values of the accumulator's type. */
fold_values *loop_of_values(enum instructions, enum fold, enum element accumulator);
merge_states *merge_loop(enum fold, enum element accumulator);

/* For any and all over truth values; NULL if all elements matter. */
is_settled *is_settled_test(enum reduction, enum element type);

/* For folds on the ladder, and those with slab loops. */
merge_pairs *merge_pairs_loop(enum fold, enum element accumulator);

#ifdef __cplusplus
}
#endif

/* ---- findings: results of too few elements ---- */

enum {
    FOUND_EMPTY = 1,   /* no elements, where some are required */
    FOUND_TOO_FEW = 2, /* a divisor was not positive */
    FOUND_ALL_NAN = 4, /* all elements were NaN, in a reduction that skips NaNs */
    FOUND_OUTSIDE = 8, /* a segment or a key is out of bounds */
};

/* The divisor of a quotient. */
SCALAR double answer_divisor(enum reduction reduction, enum fold fold, double ddof,
                             const struct answer *answer, uint64_t count)
{
    if (fold_is_variance(fold))
        return answer->values[1].real - ddof;
    return reduction == REDUCTION_nanmean ? (double)answer->values[1].integer : (double)count;
}

/* The FOUND_ bits of an answer over `count` elements; folds of positions report none as -1. */
SCALAR unsigned findings_of(enum reduction reduction, enum fold fold, enum nothing nothing,
                            double ddof, const struct answer *answer, uint64_t count)
{
    const struct scalar_wide *const first = &answer->values[0];
    const bool indexed = fold_is_indexed(fold),
               is_nan = first->kind == SCALAR_FLOAT &&
                        (first->real != first->real || first->imag != first->imag);
    unsigned found = 0;
    if (nothing == NOTHING_error && (indexed ? first->integer < 0 : count == 0))
        found |= FOUND_EMPTY;
    if (nothing == NOTHING_nan && !(answer_divisor(reduction, fold, ddof, answer, count) > 0))
        found |= FOUND_TOO_FEW;
    if ((fold == FOLD_nanmin || fold == FOLD_nanmax) && is_nan)
        found |= FOUND_ALL_NAN;
    return found;
}
