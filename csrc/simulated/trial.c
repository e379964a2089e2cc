/* The work grows with the number of elements, so a run on a first part of them tells how long all
 * of it will take. Along axes it is the first results, as many as there is work for, and of a
 * single one the first of its elements: so the same kernel makes them. */
#include "simulated/trial.h"

#include "common/arithmetic.h"

#include <stdlib.h>

static uint64_t product(const uint64_t *shape, unsigned dimensions)
{
    uint64_t length = 1;
    for (unsigned k = 0; k < dimensions; k++)
        length *= shape[k];
    return length;
}

/* Leaves no more than about so many. */
static void cut(uint64_t *shape, unsigned dimensions, uint64_t length)
{
    for (unsigned k = 0; k < dimensions; k++) {
        const uint64_t times = product(shape, dimensions) / length;
        if (times > 1)
            shape[k] = shape[k] > times ? shape[k] / times : 1;
    }
}

double trial_elements(const struct plan *plan)
{
    return (double)plan->n * (double)(plan->axes ? plan->axes->results : 1);
}

/* The results that are left are next to one another. */
static void cut_results(struct axes *axes, uint64_t results)
{
    int64_t place = 1;
    cut(axes->shape, axes->kept, results);
    for (unsigned k = axes->kept; k-- > 0; place *= (int64_t)axes->shape[k])
        axes->places[k] = place;
    axes->results = (uint64_t)place;
    axes->first = 0;
}

/* Not about given means, whose places are those of all results. */
static bool begin_along(struct trial *self, uint64_t elements)
{
    struct plan *plan = &self->plan;
    struct results *results = &plan->results;
    struct axes *axes = &self->axes;
    axes_copy(plan->axes, axes);
    if (plan->n < elements)
        cut_results(axes, elements / plan->n);
    else
        cut_results(axes, 1);
    cut(axes->reduced.shape, axes->reduced.dimensions, divide_up(elements, axes->results));
    const size_t bytes = axes->results * results_widest(results);
    self->results = malloc(bytes * results->values);
    plan->axes = axes;
    plan->layout = &axes->reduced;
    plan->means = NULL;
    results->out = NULL;
    for (unsigned k = 0; k < results->values; k++)
        results->at[k] = (char *)self->results + k * bytes;
    return self->results;
}

static bool begin_whole(struct trial *self, uint64_t elements)
{
    struct plan *plan = &self->plan;
    layout_copy(plan->layout, &self->layout);
    cut(self->layout.shape, self->layout.dimensions, elements);
    plan->layout = &self->layout;
    plan->out = plan->out ? &self->out : NULL;
    return true;
}

struct trial *trial_begin(const struct plan *plan, uint64_t elements)
{
    struct trial *self = malloc(sizeof *self); /* threads' stacks may be small */
    if (!self)
        return NULL;
    self->plan = *plan;
    self->results = NULL;
    if (!(plan->axes ? begin_along(self, elements) : begin_whole(self, elements))) {
        trial_end(self);
        return NULL;
    }
    self->plan.n = layout_length(self->plan.layout);
    return self;
}

void trial_end(struct trial *self)
{
    free(self->results);
    free(self);
}
