/* The host's own way: loops over chunks, shared among the cores. */
#pragma once

#include "host/job.h"

/* Folds all of the plan's elements to a state. False: the run's failure says why not. */
bool folding_run(struct job *, void *state);
