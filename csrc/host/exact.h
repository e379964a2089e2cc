/* Exact sums: elements are taken in as they are, whatever type the plan has for them, and the sum
 * is rounded once, to the type of the result. */
#pragma once

#include "common/exact.h"
#include "host/job.h"

enum { EXACT_REAL, EXACT_IMAGINARY, EXACT_PARTS };

/* Of a complex number's parts; of real numbers the second stays 0. */
struct exact_sums {
    struct exact parts[EXACT_PARTS];
};

/* Adds all of the plan's elements up. False: the run's failure says why not. */
bool exact_run(struct job *, struct exact_sums *);

/* Fills the run's answer. */
bool exact_finish(struct job *, struct exact_sums *);
