#include "host/work.h"

#include "host/along.h"
#include "host/exact.h"
#include "host/exact_along.h"
#include "host/exact_answer.h"
#include "host/folding.h"
#include "run/explanation.h"
#include "run/result.h"

/* The only method that this backend has by name. */
static bool is_recursive(const struct work *self)
{
    return self->job.plan->method;
}

bool work_begin(struct work *self)
{
    return !is_recursive(self) || copy_make(&self->job, &self->copy);
}

void work_end(struct work *self)
{
    copy_free(&self->copy);
}

bool work_prepare(struct work *self)
{
    return !is_recursive(self) || copy_fill(&self->job, &self->copy);
}

bool work_fold(struct work *self)
{
    if (self->job.plan->exact)
        return exact_run(&self->job, self->state);
    if (!is_recursive(self))
        return folding_run(&self->job, self->state, &self->count);
    self->count = self->copy.n;
    return recursion_run(&self->job, &self->copy, self->state);
}

bool work_finish(struct work *self)
{
    struct job *const job = &self->job;
    if (job->plan->exact)
        return exact_finish(job, self->state);
    run_finish(job->run, job->plan, job->plan->accumulator, self->state, self->count);
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
    else if (plan->axes && plan->exact)
        exact_along_explain(&self->job);
    else if (plan->axes)
        along_explain(&self->job);
    else if (plan->exact)
        exact_explain(&self->job, loops);
    else
        folding_explain(&self->job, loops);
}
