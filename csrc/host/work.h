/* A plan's work on the host, by whichever method, so that it can be run once or measured. */
#pragma once

#include "host/job.h"
#include "host/recursion.h"

struct work {
    struct job job;
    struct copy copy; /* of methods that need one */
    void *state;      /* what was folded last; room for any */
    uint64_t count;   /* of how many elements */
};

/* Memory for it; to be ended even where that fails. */
bool work_begin(struct work *);
void work_end(struct work *);

/* Makes all as new, and then folds: the first is no part of what is measured. */
bool work_prepare(struct work *);
bool work_fold(struct work *);

/* Fills the run's answer from what was folded. */
bool work_finish(struct work *);

/* Fills the run's explanation instead; nothing has to have begun. */
void work_explain(const struct work *);
