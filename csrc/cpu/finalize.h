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

enum { WAITING_MOST = 64 };

/* States of neighbouring results of one plan, which wait to be finalized together. */
struct waiting {
    const struct plan *plan;
    char *room;   /* for WAITING_MOST of them, */
    size_t width; /* bytes each */
    struct finalize states;
    unsigned findings; /* of those before */
};

/* Where states of results from `place` on go, each of `count` elements: of *n of them, or of as
 * many as there is room for. */
char *waiting_room(struct waiting *, int64_t place, uint64_t count, uint64_t *n);

/* Fills the results, and returns what is to be said of all so far. */
unsigned waiting_finalize(struct waiting *);
