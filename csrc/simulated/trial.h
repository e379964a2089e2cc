/* A part of a plan, small enough to be run at once: it tells how long the whole will take. */
#pragma once

#include "plan/axes.h"
#include "plan/plan.h"

/* It stays where it is: the plan refers to the rest. */
struct trial {
    struct plan plan;
    struct layout layout;
    struct axes axes;
    union scalar out;
    void *results; /* memory for them; NULL: there are no axes */
};

/* How many elements a plan takes in, for all of its results. */
double trial_elements(const struct plan *);

/* Of a plan of no segments; NULL: there is no memory for it or for its results. */
struct trial *trial_begin(const struct plan *, uint64_t elements);
void trial_end(struct trial *);
