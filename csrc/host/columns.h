/* The host's way along axes where results are folded side by side. */
#pragma once

#include "host/job.h"
#include "run/loops.h"

/* Whether there are loops for the plan's results, and these are so many beside so few elements, or
 * lie so, that it pays. */
bool columns_suit(const struct job *);

/* Fills the plan's results and the run's findings. False: the run's failure says why not. */
bool columns_run(struct job *);

void columns_explain(const struct job *, struct loops *);
