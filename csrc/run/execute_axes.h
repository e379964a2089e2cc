/* Results along axes, and of segments, on a machine. */
#pragma once

#include "plan/axes_schedule.h"
#include "run/passes.h"

/* Makes all results of a plan with axes: at once, or as much at a time as there is memory for. In
 * execute_parts.c. */
bool execute_axes(struct machine *, const struct plan *, struct run *);

/* Makes the results of a schedule's plan. What is to be said of them is added to `findings` on the
 * device, or, if that is NULL and they go to the host, to the run's. */
bool execute_axes_schedule(struct machine *, struct axes_schedule *, unsigned *findings,
                           struct run *);

/* Makes all results of a plan with segments. */
bool execute_segments(struct machine *, const struct plan *, struct run *);
