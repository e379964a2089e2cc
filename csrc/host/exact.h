/* Exact sums: elements are taken in as they are, whatever type the plan has for them, and nothing
 * is rounded. */
#pragma once

#include "common/exact_sums.h"
#include "host/job.h"
#include "run/loops.h"

/* Adds all of the plan's elements up. False: the run's failure says why not. */
bool exact_run(struct job *, struct exact_sums *);

/* How exact_run would go about it. */
void exact_explain(const struct job *, struct loops *);
