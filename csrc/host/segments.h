/* The host's way through segments of an array, each to a result. */
#pragma once

#include "host/job.h"

/* Fills the plan's results. False: the run's failure says why not. */
bool segments_run(struct job *);
