#include "host/work.h"

#include "common/arithmetic.h"
#include "host/exact.h"
#include "host/exact_answer.h"
#include "host/folding.h"
#include "run/explanation.h"
#include "run/gather.h"
#include "run/result.h"
#include "run/watch.h"

#include <stdlib.h>

/* The only method that this backend has by name. */
static bool is_recursive(const struct work *self)
{
    return self->job.plan->method;
}

bool work_begin(struct work *self)
{
    const struct plan *plan = self->job.plan;
    self->state = malloc(plan->exact ? sizeof(struct exact_sums)
                                     : state_bytes(plan->fold, plan->accumulator));
    if (!self->state)
        failure_note(&self->job.run->failure, FAILURE_MEMORY, "out of memory for a state");
    return self->state && (!is_recursive(self) || copy_make(&self->job, &self->copy));
}

void work_end(struct work *self)
{
    copy_free(&self->copy);
    free(self->state);
}

bool work_prepare(struct work *self)
{
    return !is_recursive(self) || copy_fill(&self->job, &self->copy);
}

bool work_fold(struct work *self)
{
    if (self->job.plan->exact)
        return exact_run(&self->job, self->state);
    return is_recursive(self) ? recursion_run(&self->job, &self->copy, self->state)
                              : folding_run(&self->job, self->state);
}

/* How many elements took part: a mask is read again, for reductions alone that want to know. */
static bool count_shown(struct job *job, uint64_t *count)
{
    enum { STRETCH = 1 << 26 }; /* elements between two thoughts of the watch */
    const struct plan *plan = job->plan;
    *count = plan->n;
    if (!plan->layout->mask || !plan->counts)
        return true;
    *count = 0;
    for (uint64_t at = 0; at < plan->n; at += STRETCH) {
        if (watch_interrupted_lately(job->run, &job->asked))
            return false;
        *count += gather_count(plan->layout, at, least(plan->n - at, STRETCH));
    }
    return true;
}

bool work_finish(struct work *self)
{
    struct job *job = &self->job;
    uint64_t count;
    if (job->plan->exact)
        return exact_finish(job, self->state);
    if (!count_shown(job, &count))
        return false;
    run_finish(job->run, job->plan, job->plan->accumulator, self->state, count);
    return true;
}

void work_explain(const struct work *self)
{
    const struct plan *plan = self->job.plan;
    struct loops *loops = &self->job.run->explanation->loops;
    if (is_recursive(self))
        *loops = (struct loops){.way = "copied, and its upper half folded onto the lower",
                                .threads = 1,
                                .copied = plan->n * element_size(plan->accumulator)};
    else if (plan->exact)
        exact_explain(&self->job, loops);
    else
        folding_explain(&self->job, loops);
}
