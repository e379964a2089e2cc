/* The host's way along axes: one result after the other, or neighbouring columns side by side. */
#pragma once

#include "host/job.h"

/* Fills the plan's results and the run's findings. False: the run's failure says why not. */
bool along_run(struct job *);
