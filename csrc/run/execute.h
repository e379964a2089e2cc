/* What carries plans out on a machine, for whoever has all of a plan's facts. */
#pragma once

#include "run/machine.h"
#include "schedule/axes_schedule.h"

/* ---- whole arrays ---- */

/* Makes the plan's schedule, for the memory that there is room for, and has it carried out; or
 * explains it. */
bool execute_array(struct machine *, const struct plan *, struct run *);

/* Carries a schedule out: fills the run's answer or its samples. False: the machine's failure says
 * why not. In execute_pieces.c. */
bool execute_pieces(struct machine *, const struct schedule *, struct run *);

/* ---- along axes, and of segments ---- */

/* Makes all results of a plan with axes: at once, or as much at a time as there is memory for. In
 * execute_parts.c. */
bool execute_axes(struct machine *, const struct plan *, struct run *);

/* Makes the results of a schedule's plan. What is to be said of them is added to `findings` on the
 * device, or, if that is NULL and they go to the host, to the run's. In execute_axes.c. */
bool execute_axes_schedule(struct machine *, struct axes_schedule *, unsigned *findings,
                           struct run *);

/* Makes all results of a plan with segments. In execute_segments.c. */
bool execute_segments(struct machine *, const struct plan *, struct run *);
