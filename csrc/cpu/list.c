/* Lists of arrays: each is folded like a single array, one after the other. */
#include "cpu/exact/exact.h"

#include <stdlib.h>
#include <string.h>

/* One array of the list, as a job. */
struct listed_job {
    struct job job;
    struct plan plan;
    struct layout layout;
    const struct array_list *list;
    enum element type; /* that elements are converted to */
    uint64_t k;
};

static void begin(struct listed_job *self, const struct job *all)
{
    self->job = *all;
    self->job.plan = &self->plan;
    self->plan = *all->plan;
    self->list = all->plan->elements.list;
    self->type = all->plan->layout->type;
    self->k = 0;
}

/* Moves to array k. False if interrupted. */
static bool select_array(struct listed_job *self)
{
    const struct list_entry *const array = &self->list->at[self->k];
    if (self->k && !self->list->each)
        self->plan.elements.position += self->plan.n;
    list_entry_layout(array, self->type, &self->layout);
    plan_retarget(&self->plan, &self->layout, array->n, !array->layout);
    return !(self->k && run_check_interrupt(self->job.run));
}

/* ---- all together ---- */

bool list_fold(struct job *job, void *state)
{
    const struct plan *plan = job->plan;
    const uint64_t count = plan->elements.list->count;
    const size_t width = state_bytes(plan->fold, plan->accumulator);
    char *const states = malloc(count * width);
    struct listed_job one;
    bool folded = true;
    uint64_t ignored;
    if (!states)
        return failure_record(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
    for (begin(&one, job); folded && one.k < count; one.k++)
        folded = select_array(&one) && folding_run(&one.job, states + one.k * width, &ignored);
    if (folded) {
        merge_loop(plan->fold, plan->accumulator)(states, count);
        memcpy(state, states, width);
    }
    free(states);
    return folded;
}

bool list_add_exactly(struct job *job, struct exact_sums *sums)
{
    struct listed_job one;
    struct exact_sums partial;
    memset(sums, 0, sizeof *sums);
    for (begin(&one, job); one.k < one.list->count; one.k++) {
        if (!select_array(&one) || !exact_run(&one.job, &partial))
            return false;
        for (int part = 0; part < EXACT_PARTS; part++)
            exact_merge(&sums->parts[part], &partial.parts[part]);
    }
    return true;
}

/* ---- a result of each ---- */

bool list_run_each(struct job *job)
{
    struct listed_job one;
    for (begin(&one, job); one.k < one.list->count; one.k++)
        if (!select_array(&one) || !run_and_store(&one.job, (int64_t)one.k))
            return false;
    return true;
}
