/* How a run of a plan would go: what a backend answers where it is asked for that, rather than for
 * the run. */
#pragma once

#include "plan/schedule.h"

/* How a backend that launches nothing goes through an array. */
struct loops {
    const char *way;  /* in which its elements come to a loop, in words */
    uint64_t chunk;   /* elements that one loop folds to a state */
    unsigned threads; /* that may share the work, at most */
    uint64_t copied;  /* bytes of a working copy */
};

struct explanation {
    bool launches; /* true: `schedule`; false: `loops` */
    struct schedule schedule;
    struct loops loops;
};
