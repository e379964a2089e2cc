/* The host's own way: loops over chunks, shared among the cores. */
#pragma once

#include "host/job.h"
#include "run/loops.h"

/* Folds all of the plan's elements to a state, and counts those that take part. False: the run's
 * failure says why not. */
bool folding_run(struct job *, void *state, uint64_t *count);

/* Whether that takes some microseconds at most; of elements that lie flat. */
bool folding_is_short(const struct plan *);

/* How folding_run would go about it. */
void folding_explain(const struct job *, struct loops *);
