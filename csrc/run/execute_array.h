/* Reductions of whole arrays on a machine. */
#pragma once

#include "run/passes.h"

/* Makes the plan's schedule, for the memory that there is room for, and has it carried out; or
 * explains it. */
bool execute_array(struct machine *, const struct plan *, struct run *);

/* Carries a schedule out: fills the run's answer or its samples. False: the machine's failure says
 * why not. In execute_pieces.c. */
bool execute_pieces(struct machine *, const struct schedule *, struct run *);
