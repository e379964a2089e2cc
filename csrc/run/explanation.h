/* How a run of a plan would go. */
#pragma once

#include "run/backend.h"
#include "schedule/axes_schedule.h"
#include "schedule/schedule.h"

enum explained { EXPLAINED_LOOPS, EXPLAINED_SCHEDULE, EXPLAINED_ALONG };

/* A launch that makes results along axes. */
struct explained_along {
    struct axes_schedule schedule; /* of the first of equal parts */
    struct plan plan;
    struct axes axes;
};

struct explanation {
    enum explained by;
    uint64_t at_once;         /* results that these steps make; 0: all */
    struct schedule schedule; /* of `plan`, which has what the device decides, and of `kernels`,
                                 which outlast the run */
    struct plan plan;
    struct kernels kernels;
    struct explained_along along;
    struct loops loops;
};
