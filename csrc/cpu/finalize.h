/* Finishes many states of a reduction along axes. */
#pragma once

#include "cpu/host.h"

/* States of results that are `step` results apart in the output. */
struct finalize {
    void *states;
    uint64_t n;
    uint64_t count;         /* elements per result, if needed */
    const uint32_t *counts; /* the same per result, or NULL */
    int64_t place, step;
};

/* Stores the plan's results, overwriting the states. Returns FOUND_ bits. */
unsigned finalize_run(const struct plan *, const struct finalize *);

/* Only returns the FOUND_ bits, for states that are results. */
unsigned finalize_findings(const struct plan *, const struct finalize *);
