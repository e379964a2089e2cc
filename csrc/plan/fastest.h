/* The fastest rung on a device, and its shape there, where the caller leaves both to gred: what a
 * plan has before is right for every device. */
#pragma once

#include "plan/schedule.h"

/* Gives the plan the method that is fastest there for its array, and the shape of its launches. */
void fastest_choose(const struct facts *, struct plan *);

/* Of a launch. */
struct shape {
    unsigned block;       /* threads */
    unsigned data_blocks; /* elements that a thread should get at least */
};

/* From now on rung 21 in this shape for every array; of a block of 0: what is fastest. */
void fastest_force(struct shape);
