/* Calls that do not come from Python: a Python call settles their arguments once, then they run any
 * number of times, without the GIL. */
#include "python/foreign.h"

#include "python/call.h"
#include "run/result.h"

#include <stdio.h>
#include <stdlib.h>

/* Settles the reduction of arrays like this one, on any device: reduction axes, a bit each, the
 * reduction, the types of elements and results, and whether these are exact or batch-invariant. */
SLOTS_FUNCTION(settle)
{
    SCOPED_CALL *call = call_open_op(state, slots);
    const struct plan *plan = call ? &call->plan : NULL;
    return plan ? Py_BuildValue("KsssOO", call->request.reduced,
                                reduction_row(plan->reduction)->name,
                                element_name(plan->layout->type), element_name(plan->finish.result),
                                plan->exact ? Py_True : Py_False,
                                plan->launch.batch_invariant ? Py_True : Py_False)
                : NULL;
}

/* ---- a call ---- */

/* On the heap: threads' stacks may be small. */
struct foreign_state {
    struct view view, factors;
    struct resolved_call resolved;
    struct axes axes;
    struct plan plan;
    struct run run;
};

static bool parse_names(const struct foreign_call *call, struct foreign_state *self)
{
    struct resolved_call *resolved = &self->resolved;
    int r = 0;
    while (r < REDUCTIONS && strcmp(call->reduction, reduction_row((enum reduction)r)->name) != 0)
        r++;
    resolved->reduction = (enum reduction)r;
    resolved->exact = call->exact;
    resolved->batch_invariant = call->batch_invariant;
    resolved->ddof = call->ddof;
    self->view.layout.input = element_find(call->input);
    resolved->elements = element_find(call->elements);
    resolved->result = element_find(call->result);
    return (r < REDUCTIONS && self->view.layout.input < ELEMENTS && resolved->elements < ELEMENTS &&
            resolved->result < ELEMENTS) ||
           failure_record(
               &self->run.failure, FAILURE_VALUE,
               "this version of gred has no %s of %s as %s to %s; another version traced the call",
               call->reduction, call->input, call->elements, call->result);
}

static bool view_call(const struct foreign_call *call, struct foreign_state *self)
{
    struct layout *layout = &self->view.layout;
    view_init(&self->view, call->on_device);
    layout->data = call->data;
    layout->type = layout->input;
    layout->dimensions = call->dimensions;
    for (unsigned k = 0; k < call->dimensions; k++)
        layout->shape[k] = (uint64_t)call->shape[k];
    view_set_c_order(layout);
    self->view.n = layout_length(layout);
    const uint64_t results = axes_length(layout, ~call->axes);
    return (self->view.n * element_size(layout->input) == call->data_bytes &&
            results * element_size(self->resolved.result) == call->results_bytes) ||
           failure_record(&self->run.failure, FAILURE_VALUE,
                          "%s of %s makes %llu results of %s, which do not fill %zu bytes",
                          call->reduction, call->input, (unsigned long long)results, call->result,
                          call->results_bytes);
}

/* An empty array has no device: then its results' device is used. */
static bool locate(const struct platforms *platforms, const struct foreign_call *call,
                   struct view *view, struct failure *failure)
{
    struct view results = {.n = call->results_bytes, .on_device = view->on_device};
    struct view *const target = view->n > 0 ? view : &results;
    results.layout.data = call->results;
    layout_make_flat(&results.layout, results.n);
    target->platform = platforms_on(platforms, METHOD_ON_HOST);
    const bool located =
        !target->on_device || target->n == 0 || platforms_locate(platforms, target, failure);
    view->platform = target->platform;
    view->device = target->device;
    held_release(&results.held);
    return located;
}

/* A whole array's result stays on its device, or run_plan stores it. */
static void make_plan(const struct foreign_call *call, struct foreign_state *self)
{
    const bool whole =
        __builtin_popcountll(call->axes) == (int)call->dimensions && !call->batch_invariant;
    plan_from_resolved(&self->resolved, &self->view, whole ? UINT64_MAX : call->axes,
                       whole ? NULL : &self->axes, &self->plan);
}

/* For the dot product of two vectors. */
static void make_products_plan(struct foreign_state *self)
{
    struct view *const a = &self->view, *const b = &self->factors;
    a->layout.type = b->layout.type = self->resolved.elements;
    layout_normalise(&a->layout, true);
    layout_normalise(&b->layout, true);
    products_plan_on(a->platform, a->device, a, b, self->resolved.exact, &self->plan);
    self->plan.finish.result = self->resolved.result;
}

static bool run_plan(void *backend_state, const struct foreign_call *call,
                     struct foreign_state *self)
{
    const struct plan *plan = &self->plan;
    struct run *run = &self->run;
    if (!run_empty(plan, run) && !backend_of(plan->platform)->run(backend_state, plan, run))
        return false;
    if (!plan->axes && !plan_device_result(plan)) {
        const union scalar value = scalar_narrow(run->answer.values[0], plan->finish.result);
        memcpy(call->results, &value, element_size(plan->finish.result));
    }
    return true;
}

static bool reduce_foreign(const struct platforms *platforms, const struct foreign_call *call,
                           struct foreign_state *self)
{
    struct plan *const plan = &self->plan;
    struct failure *const failure = &self->run.failure;
    if (!parse_names(call, self) || !view_call(call, self) ||
        !locate(platforms, call, &self->view, failure))
        return false;
    if (call->factors) {
        self->factors = self->view;
        self->factors.layout.data = call->factors;
        self->factors.held.pin = NULL;
        if (!locate(platforms, call, &self->factors, failure))
            return false;
        make_products_plan(self);
    } else {
        make_plan(call, self);
    }
    plan->streams.consumer = (struct stream){.given = call->on_device, .handle = call->stream};
    plan->results = single_result(call->results, self->resolved.result);
    plan->results.on_device = call->on_device;
    return run_plan(platforms_state(platforms, plan->platform), call, self);
}

bool foreign_reduce(void *state, const struct foreign_call *call, char *why, size_t length)
{
    struct foreign_state *self = call->dimensions <= DIMENSIONS_MAX ? malloc(sizeof *self) : NULL;
    if (!self) {
        snprintf(why, length, "no memory for a call, or too many dimensions, which are %u",
                 call->dimensions);
        return false;
    }
    run_begin(&self->run, 0);
    view_init_empty(&self->view);
    view_init_empty(&self->factors);
    const bool ran = reduce_foreign(&((struct module_state *)state)->platforms, call, self);
    if (!ran)
        snprintf(why, length, "%s", self->run.failure.text);
    array_release(&self->view);
    array_release(&self->factors);
    free(self);
    return ran;
}
