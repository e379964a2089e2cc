/* What becomes of exact sums in the end. */
#pragma once

#include "common/exact_sums.h"
#include "host/job.h"

/* Fills the run's answer. False: the run's failure says why not. */
bool exact_finish(struct job *, struct exact_sums *);
