/* The host's way along axes: results side by side where that suits them, or one after the other. */
#pragma once

#include "host/job.h"

/* Fills the plan's results and the run's findings. False: the run's failure says why not. */
bool along_run(struct job *);

/* Fills the run's explanation instead. */
void along_explain(const struct job *);
