/* What gred.explain reports about a plan. */
#pragma once

#include "run/backend.h"
#include "schedule/axes_schedule.h"
#include "schedule/schedule.h"

enum explained { EXPLAINED_LOOPS, EXPLAINED_SCHEDULE, EXPLAINED_AXES };

struct explanation {
    enum explained by;
    uint64_t at_once; /* results per execution of these steps; 0: all */
    struct plan plan; /* including the device's choices; outlives the run, as do `kernels` */
    struct kernels kernels;
    struct schedule schedule;
    struct axes_slice along; /* the first of several equal parts */
    struct loops loops;
};
