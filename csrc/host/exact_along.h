/* Exact sums along axes: one result after the other, each like an array by itself. */
#pragma once

#include "host/job.h"

/* Fills the plan's results and the run's findings. False: the run's failure says why not. */
bool exact_along(struct job *);

/* Fills the run's explanation instead. */
void exact_along_explain(const struct job *);
