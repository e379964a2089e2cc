#include "host/recursion.h"

#include "common/arithmetic.h"
#include "run/gather.h"
#include "run/watch.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 24 }; /* elements between two thoughts of the watch */

/* ---- the working copy ---- */

bool copy_make(struct job *job, struct copy *copy)
{
    const struct plan *plan = job->plan;
    size_t bytes;
    *copy = (struct copy){0};
    if (!__builtin_mul_overflow(plan->n, element_size(plan->accumulator), &bytes))
        copy->values = malloc(bytes ? bytes : 1);
    if (!copy->values)
        failure_note(&job->run->failure, FAILURE_MEMORY,
                     "out of memory for a working copy of %llu elements",
                     (unsigned long long)plan->n);
    return copy->values;
}

bool copy_fill(struct job *job, struct copy *copy)
{
    const struct plan *plan = job->plan;
    const size_t width = element_size(plan->accumulator);
    copy->n = 0;
    for (uint64_t at = 0; at < plan->n; at += PIECE) {
        if (at && watch_interrupted_lately(job->run, &job->asked))
            return false;
        copy->n += gather(job->instructions, plan->layout, at, least(plan->n - at, PIECE),
                          copy->values + copy->n * width);
    }
    return true;
}

void copy_free(struct copy *copy)
{
    free(copy->values);
    copy->values = NULL;
}

/* ---- the recursion ---- */

/* Folds the upper half onto the lower, and then the lower in the same way. */
static bool recurse(struct job *job, fold_pairs *fold_upper, size_t width, char *values, uint64_t n)
{
    if (n <= 1)
        return true;
    const uint64_t half = n - n / 2;
    for (uint64_t at = 0; at < n / 2; at += PIECE) {
        if (at && watch_interrupted_lately(job->run, &job->asked))
            return false;
        fold_upper(values + at * width, values + (half + at) * width, least(n / 2 - at, PIECE));
    }
    return recurse(job, fold_upper, width, values, half);
}

/* On the ladder a state is a value. */
bool recursion_run(struct job *job, const struct copy *copy, void *state)
{
    const struct plan *plan = job->plan;
    const size_t width = element_size(plan->accumulator);
    fold_pairs *const fold_upper = loop_of_pairs(plan->fold, plan->accumulator);
    if (!recurse(job, fold_upper, width, copy->values, copy->n))
        return false;
    if (copy->n)
        memcpy(state, copy->values, width);
    else
        state_identity(plan->fold, plan->accumulator, state);
    return true;
}
