/* The host's backend: a call's work as its parts share it, and the ways in which it is done. */
#pragma once

#include "common/cpu_kernels.h"
#include "common/exact_sums.h"
#include "run/backend.h"
#include "threads/threads.h"

struct job {
    const struct plan *plan; /* NULL: nothing is planned, such as where memory is read */
    struct run *run;         /* NULL: nobody asks how it went */
    struct crew threads;
    enum instructions instructions;
    bool tells_rounding; /* the processor does: see unrounded_is_told */
};

/* Whether elements of a type may be longer than any float's significand. */
static inline bool is_long_integer(enum element type)
{
    return type == ELEMENT_INT64 || type == ELEMENT_UINT64;
}

/* What work that is no plan's has to share, of the backend's state. */
struct job host_job(void *state);

/* Each way has a function that does it. False: the run's failure says why not. */

/* Folds all of the plan's elements to a state, and counts those that take part; or says how. */
bool folding_run(struct job *, void *state, uint64_t *count);
bool folding_explain(const struct job *);

/* Whether that takes some microseconds at most; of elements that lie flat. */
bool folding_is_short(const struct plan *);

/* Fill the plan's results and the run's findings: along axes, where the run may ask for an
 * explanation instead, sums of products along axes, whose mask is the factors, and of segments; and
 * the answer: a dot product. */
bool along_run(struct job *);
bool exact_along(struct job *);
bool dots_run(struct job *);
bool dot_run(struct job *);
bool segments_run(struct job *);

/* Writes all results of a selection, order statistics. False: memory is short. */
bool selection_run(struct job *, const struct selection *);

/* Makes one result after the other, each like an array by itself. */
bool folding_one_by_one(struct job *);

/* Makes one answer, as of a plan without axes, and stores it as the result there. */
bool work_store(struct job *, int64_t place);

/* Of the arrays of a list: all together, as a state or exact sums, or a result of each. */
bool list_fold(struct job *, void *state);
bool list_add_exactly(struct job *, struct exact_sums *);
bool list_run_each(struct job *);

/* Along axes where results are folded side by side: whether there are loops for the plan's results,
 * and these are so many beside so few elements, or lie so, that it pays. */
bool columns_suit(const struct job *);
bool columns_run(struct job *);

/* Adds all of the plan's elements up, and then fills the run's answer. */
bool exact_run(struct job *, struct exact_sums *);
bool exact_finish(struct job *, struct exact_sums *);
bool exact_explain(const struct job *);
