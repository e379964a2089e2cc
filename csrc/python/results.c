#include "python/results.h"

#include "arrays/numpys.h"
#include "common/reduction.h"
#include "plan/arguments.h"
#include "plan/axes.h"
#include "python/execute.h"
#include "python/memory.h"
#include "python/tuples.h"

#include <string.h>

/* ---- values ---- */

static bool warn(const struct run *run, const char *text)
{
    return PyErr_WarnEx(PyExc_RuntimeWarning, text, 1 + run->frames) == 0;
}

static bool warn_of_findings(const struct plan *plan, const struct run *run)
{
    if (run->findings & FOUND_NOT_ENOUGH)
        return warn(run, plan->fold == FOLD_variance ? "Degrees of freedom <= 0 for slice"
                                                     : "Mean of empty slice");
    return !(run->findings & FOUND_ALL_NAN) || warn(run, "All-NaN slice encountered");
}

bool answer_is_sound(const struct plan *plan, const struct run *run)
{
    if (run->findings & FOUND_NOTHING)
        return PyErr_Format(PyExc_ValueError, "%s has no value: the mask hides all elements",
                            reduction_row(plan->reduction)->called);
    return warn_of_findings(plan, run);
}

/* In the order in which kernels/reductions/summary.cuh answers; each of the type that the reduction
 * of its name has. */
static unsigned described_types(enum element type, bool maybe_nothing, enum element *types)
{
    const bool integer = element_is_integer(type);
    const enum element mean = integer ? ELEMENT_FLOAT64 : type;
    types[0] = types[1] = ELEMENT_INT64;
    types[2] = types[3] = integer && maybe_nothing ? ELEMENT_FLOAT64 : type;
    types[4] = mean;
    types[5] = element_real_part(mean);
    types[6] = !integer ? type : type <= ELEMENT_INT64 ? ELEMENT_INT64 : ELEMENT_UINT64;
    return 7;
}

unsigned answer_types(const struct plan *plan, bool maybe_nothing, enum element *types)
{
    if (plan->reduction == REDUCTION_describe)
        return described_types(plan->finish.type, maybe_nothing, types);
    types[0] = types[1] = plan->finish.result;
    return plan->reduction == REDUCTION_minmax ? 2 : 1;
}

static PyObject *value(const struct run *run, size_t k, enum element type)
{
    return numpys_scalar(scalar_narrow(run->answer.values[k], type), type);
}

/* What a record's values are made of. */
struct record {
    const struct run *run;
    const enum element *types;
};

static PyObject *value_at(const void *context, size_t k)
{
    const struct record *self = context;
    return value(self->run, k, self->types[k]);
}

PyObject *answer_to_python(const struct plan *plan, const struct run *run)
{
    enum element types[ANSWER_VALUES];
    const unsigned count = answer_types(plan, run->answer.values[0].integer == 0, types);
    if (count == 1)
        return value(run, 0, types[0]);
    return tuple_of(count, value_at, &(struct record){run, types});
}

/* ---- arrays ---- */

void array_results_begin(struct array_results *self, struct module_state *state, PyObject *like,
                         const struct view *view, struct output *output)
{
    self->state = state;
    self->like = like;
    self->view = view;
    self->beside = NULL;
    self->output = output;
    self->dimensions = 0;
    self->own = false;
    self->count = 0;
    memset(self->arrays, 0, sizeof self->arrays);
}

void array_results_end(struct array_results *self)
{
    for (unsigned k = 0; k < ANSWER_VALUES; k++)
        Py_XDECREF(self->arrays[k]);
    while (self->count > 0)
        result_release(&self->made[--self->count]);
}

static bool accepts_output(const struct array_results *self)
{
    struct output *out = self->output;
    return !out->object || ((self->dimensions ? output_has_shape(out, self->dimensions, self->shape)
                                              : output_is_one(out)) &&
                            output_locate(out, &self->state->platforms.where));
}

bool array_results_choose(struct array_results *self, struct request *request, PyObject *axis,
                          PyObject *keepdims, struct axes *axes)
{
    const struct layout *layout = &self->view->layout;
    bool kept;
    if (!axis_parse(axis, request->reduction, layout->dimensions, &request->reduced) ||
        !keepdims_parse(keepdims, &kept))
        return false;
    request->along = argument_given(axis) || kept;
    self->dimensions = axes_left(layout, request->reduced, kept, self->shape);
    request->axes = self->dimensions ? axes : NULL;
    return accepts_output(self);
}

/* In out itself, where nothing that is read lies there, too, as segments' offsets may; else in
 * arrays of NumPy's. */
static bool make_here(struct array_results *self, struct plan *plan)
{
    struct output *const out = self->output;
    struct results *results = &plan->results;
    if (out->object && !plan->segments &&
        output_is_ready(out, results->type, &self->view->layout)) {
        results->at[0] = (void *)out->view.layout.data;
        return true;
    }
    for (unsigned k = 0; k < results->values; k++) {
        self->arrays[k] =
            numpys_new(self->dimensions, self->shape, &results->types[k], &results->at[k]);
        if (!self->arrays[k])
            return false;
    }
    return true;
}

/* In memory of gred's own. NULL with an exception set. */
static PyObject *make_own(struct array_results *self, const struct result_request *request,
                          struct plan *plan, void **at)
{
    struct device_memory memory = {.at = NULL};
    const size_t bytes = plan->axes->results * element_size(request->type);
    PyObject *keeper = device_memory_new(self->state, plan->platform, plan->device, bytes, &memory);
    PyObject *array = keeper ? result_own(request, keeper) : NULL;
    Py_XDECREF(keeper);
    *at = memory.at;
    plan->producers[3] = memory.stream;
    self->own = true;
    return array;
}

/* Value k, of the caller's own library, where the caller's array lies. */
static struct result_request request_of(const struct array_results *self, const struct plan *plan,
                                        unsigned k)
{
    return (struct result_request){.like = self->like,
                                   .device = plan->device,
                                   .type = plan->results.types[k],
                                   .dimensions = self->dimensions,
                                   .shape = self->shape};
}

static bool make_there(struct array_results *self, struct plan *plan)
{
    struct results *results = &plan->results;
    for (unsigned k = 0; k < results->values; k++) {
        const struct result_request request = request_of(self, plan, k);
        const int made = result_allocate(&request, &self->made[k], &results->at[k]);
        if (made == 0)
            self->arrays[k] = make_own(self, &request, plan, &results->at[k]);
        self->count = k + 1;
        if (made < 0 || (made == 0 && !self->arrays[k]))
            return false;
    }
    return true;
}

/* Into out as they are made, or once they are. */
static void go_to_output(const struct array_results *self, struct results *results)
{
    const struct layout *layout = &self->output->view.layout;
    if (output_is_ready(self->output, results->type, &self->view->layout) &&
        !(self->beside && output_overlaps(self->output, &self->beside->layout)))
        results->at[0] = (void *)layout->data;
    else
        results->out = layout;
}

void array_results_describe(const struct array_results *self, struct plan *plan)
{
    struct results *results = &plan->results;
    const bool to_device = self->output->view.on_device;
    results->values = answer_types(plan, plan->n == 0 || plan->layout->mask, results->types);
    results->type = results->types[0];
    results->on_device = to_device || (self->view->on_device && !self->output->object);
    if (to_device)
        go_to_output(self, results);
}

bool array_results_make(struct array_results *self, struct plan *plan)
{
    if (!plan->axes)
        return true;
    array_results_describe(self, plan);
    if (!plan->results.on_device)
        return make_here(self, plan);
    return self->output->view.on_device || make_there(self, plan);
}

/* Value k, as its owner gets it: in an array of the library that the caller's is of. */
static PyObject *hand_over(struct array_results *self, const struct plan *plan, unsigned k)
{
    PyObject *const array = self->arrays[k];
    if (array)
        return self->own ? result_hand_over(array, self->like) : Py_NewRef(array);
    const struct result_request request = request_of(self, plan, k);
    return result_array(&request, &self->made[k]);
}

struct delivery {
    struct array_results *results;
    const struct plan *plan;
};

static PyObject *array_at(const void *context, size_t k)
{
    const struct delivery *self = context;
    return hand_over(self->results, self->plan, (unsigned)k);
}

PyObject *array_results_deliver(struct array_results *self, const struct plan *plan)
{
    const struct results *results = &plan->results;
    if (self->output->object) {
        if (self->arrays[0] && !results->on_device)
            output_store_all(self->output, results->at[0], results->type);
        return Py_NewRef(self->output->object);
    }
    if (results->values == 1)
        return hand_over(self, plan, 0);
    return tuple_of(results->values, array_at, &(struct delivery){self, plan});
}

bool array_results_run(struct array_results *self, const struct plan *plan, struct run *run)
{
    return (plan->axes && plan->axes->results == 0) || execute_plan(self->state, plan, run);
}
