/* How a run of a plan would go: what a backend answers where it is asked for that, rather than for
 * the run. */
#pragma once

#include "plan/schedule.h"
#include "run/loops.h"

struct explanation {
    bool launches;            /* true: `schedule`; false: `loops` */
    struct schedule schedule; /* of `plan`, which has what the device decides, and of `kernels`,
                                 which outlast the run */
    struct plan plan;
    struct kernels kernels;
    struct loops loops;
};
