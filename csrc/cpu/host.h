/* The host backend: a call's job, and the functions that run it. */
#pragma once

#include "common/cpu_kernels.h"
#include "common/exact_sums.h"
#include "run/backend.h"
#include "threads/threads.h"

struct job {
    const struct plan *plan; /* NULL if there is none, for example when measuring reads */
    struct run *run;         /* NULL: no findings or explanation are needed */
    struct thread_team threads;
    enum instructions instructions;
    bool reports_rounding; /* the inexact flag works: see inexact_flag_works */
};

/* Whether integers of this type may be too wide for any float's significand. */
static inline bool is_64bit_integer(enum element type)
{
    return type == ELEMENT_INT64 || type == ELEMENT_UINT64;
}

/* A job without a plan, with the backend's threads and instructions. */
struct job host_job(void *state);

/* The functions below return false if the run's failure is set. */

/* Folds all elements of the plan to a state and counts the unmasked ones; or explains how. */
bool folding_run(struct job *, void *state, uint64_t *count);
bool folding_explain(const struct job *);

/* Whether that takes at most some microseconds. Only for flat elements. */
bool folding_is_short(const struct plan *);

/* Fill the plan's results and the run's findings, or the run's explanation, where supported:
 * reductions along axes, exact ones, sums of products along axes (with the factors as mask), and
 * segments. dot_run computes a dot product as the answer. */
bool along_run(struct job *);
bool exact_along(struct job *);
bool dots_run(struct job *);
bool dot_run(struct job *);
bool segments_run(struct job *);

/* Computes all results of a selection (order statistics). False if out of memory. */
bool selection_run(struct job *, const struct selection *);

/* Computes results one after the other, each like a whole array. */
bool folding_run_each(struct job *);

/* Computes one answer, as for a plan without axes, and stores it at index `place`. */
bool run_and_store(struct job *, int64_t place);

/* Lists of arrays: all together, to a state or to exact sums; or a result of each. */
bool list_fold(struct job *, void *state);
bool list_add_exactly(struct job *, struct exact_sums *);
bool list_run_each(struct job *);

/* Reductions along axes in columns. columns_preferred: there are loops for the plan, and its shape
 * and strides make columns faster. */
bool columns_preferred(const struct job *);
bool columns_run(struct job *);

/* Adds all of the plan's elements, and then computes the run's answer. */
bool exact_run(struct job *, struct exact_sums *);
bool exact_finish(struct job *, struct exact_sums *);
bool exact_explain(const struct job *);
