/* The arrays of a list, one after the other, each folded like an array by itself. */
#include "cpu/chunk.h"
#include "cpu/exact/exact.h"
#include "plan/axes.h"
#include "run/result.h"

#include <stdlib.h>

/* One of the arrays, as a job. */
struct listed_job {
    struct job job;
    struct plan plan;
    struct layout layout;
    uint64_t k;
};

typedef bool listed_work(struct listed_job *, void *context);

static bool do_each(struct job *job, listed_work *work, void *context)
{
    const struct plan *const plan = job->plan;
    const struct array_list *const list = plan->elements.list;
    struct listed_job *self = malloc(sizeof *self); /* the caller's stack may be small */
    if (!self)
        return failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for a list");
    self->job = *job;
    self->job.plan = &self->plan;
    self->plan = *plan;
    self->plan.elements.list = NULL;
    self->plan.axes = NULL;
    self->plan.layout = &self->layout;
    bool done = true;
    for (self->k = 0; done && self->k < list->count; self->k++) {
        listed_layout(&list->at[self->k], plan->layout->type, &self->layout);
        self->plan.n = self->plan.finish.count = list->at[self->k].n;
        self->plan.elements.flat = !list->at[self->k].layout;
        self->plan.elements.direct = types_convert_directly(&self->layout, self->plan.accumulator);
        done = !(self->k && watch_interrupted_lately(job->run)) && work(self, context);
        self->plan.elements.position += list->each ? 0 : self->plan.n;
    }
    free(self);
    return done;
}

/* ---- all together ---- */

struct states {
    char *at;
    size_t width;
};

static bool fold_state(struct listed_job *self, void *context)
{
    const struct states *states = context;
    uint64_t count;
    return folding_run(&self->job, states->at + self->k * states->width, &count);
}

bool list_fold(struct job *job, void *state)
{
    const struct plan *plan = job->plan;
    const uint64_t count = plan->elements.list->count;
    struct states states = {.width = state_bytes(plan->fold, plan->accumulator)};
    states.at = malloc(count * states.width);
    if (!states.at)
        return failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
    const bool folded = do_each(job, fold_state, &states);
    if (folded) {
        loop_of_states(plan->fold, plan->accumulator)(states.at, count);
        memcpy(state, states.at, states.width);
    }
    free(states.at);
    return folded;
}

static bool add_exactly(struct listed_job *self, void *context)
{
    struct exact_sums *const all = context, own;
    if (!exact_run(&self->job, &own))
        return false;
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_merge(&all->parts[part], &own.parts[part]);
    return true;
}

bool list_add_exactly(struct job *job, struct exact_sums *sums)
{
    exact_sums_clear(sums);
    return do_each(job, add_exactly, sums);
}

/* ---- each ---- */

static bool make_listed_result(struct listed_job *self, void *context)
{
    const struct results *const results = &self->plan.results;
    (void)context;
    if (!work_run(&self->job))
        return false;
    for (unsigned v = 0; v < results->values; v++)
        run_store(self->job.run, &self->plan, v,
                  (char *)results->at[v] + self->k * element_size(results->types[v]));
    return true;
}

bool list_run_each(struct job *job)
{
    return do_each(job, make_listed_result, NULL);
}
