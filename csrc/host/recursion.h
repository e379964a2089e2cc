/* The recursion that the ladder starts from: on one core, in a working copy, for folds on the
 * ladder. */
#pragma once

#include "host/job.h"

/* The elements that take part, as accumulators, for the recursion to work on. */
struct copy {
    char *values;
    uint64_t n;
};

/* Room for all elements. */
bool copy_make(struct job *, struct copy *);
bool copy_fill(struct job *, struct copy *);
void copy_free(struct copy *);

/* Folds what the copy was filled with; it is used up. */
bool recursion_run(struct job *, const struct copy *, void *state);
