/* From states along axes to results, many at a time. */
#pragma once

#include "cpu/host.h"

/* States of as many elements each, for results that lie `step` results apart. */
struct finalize {
    void *states;
    uint64_t n;
    uint64_t count;         /* elements that took part in each, where that has to be known, */
    const uint32_t *counts; /* or, unless this is NULL, in which it is not so many in all */
    int64_t place, step;
};

/* Fills the plan's results, which uses the states up, and returns what is to be said of them: bits
 * of common/reduction.h. */
unsigned finalize_run(const struct plan *, const struct finalize *);

/* The latter alone, of states that are results. */
unsigned finalize_findings(const struct plan *, const struct finalize *);
