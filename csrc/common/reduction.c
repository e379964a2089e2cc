#include "common/reduction.h"

#include <string.h>

static const struct {
    bool ladder, indexed;
} folds[FOLDS] = {
#define FOLD(name, ladder, indexed, types) [FOLD_##name] = {ladder, indexed},
#include "common/reductions.def"
};

/* Names are pasted at once: what another macro is given is expanded, and bool is a macro of C's. */
static const struct reduction_row rows[REDUCTIONS] = {
#define ROW(name, called, ...) [REDUCTION_##name] = {#name, called, __VA_ARGS__},
#define REDUCTION(name, fold, plain, bools, values, result, nothing, counts, summary)              \
    ROW(name, #name, FOLD_##fold, REDUCTION_##plain, REDUCTION_##bools, VALUES_##values,           \
        RESULT_##result, NOTHING_##nothing, counts, summary)
#define VARIANT(called, name, fold, plain, bools, values, result, nothing, counts, summary)        \
    ROW(name, called, FOLD_##fold, REDUCTION_##plain, REDUCTION_##bools, VALUES_##values,          \
        RESULT_##result, NOTHING_##nothing, counts, summary)
#include "common/reductions.def"
};

bool reduction_find(const char *name, enum reduction *found)
{
    for (int r = 0; r < FIRST_VARIANT; r++)
        if (strcmp(name, rows[r].name) == 0) {
            *found = (enum reduction)r;
            return true;
        }
    return false;
}

const struct reduction_row *reduction_row(enum reduction reduction)
{
    return &rows[reduction];
}

bool fold_is_on_ladder(enum fold fold)
{
    return folds[fold].ladder;
}

bool fold_is_extreme(enum fold fold)
{
    return fold == FOLD_min || fold == FOLD_max || fold == FOLD_nanmin || fold == FOLD_nanmax;
}

bool fold_is_indexed(enum fold fold)
{
    return folds[fold].indexed;
}

bool fold_makes_means(enum fold fold, enum element accumulator)
{
    return fold == FOLD_sum && !element_is_integer(accumulator);
}
