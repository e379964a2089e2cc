/* How a run of a plan would go. */
#pragma once

#include "run/backend.h"
#include "schedule/axes_schedule.h"
#include "schedule/schedule.h"

enum explained { EXPLAINED_LOOPS, EXPLAINED_SCHEDULE, EXPLAINED_ALONG };

struct explanation {
    enum explained by;
    uint64_t at_once; /* results that these steps make; 0: all */
    struct plan plan; /* with what the device decides; it outlasts the run, as do `kernels` */
    struct kernels kernels;
    struct schedule schedule;
    struct axes_part along; /* the first of equal parts */
    struct loops loops;
};
