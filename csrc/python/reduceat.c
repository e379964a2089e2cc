/* Reductions of segments, for gred/segments.py. */
#include "arrays/array.h"
#include "arrays/stream.h"
#include "common/reduction.h"
#include "common/segments.h"
#include "plan/axes.h"
#include "python/arguments.h"
#include "python/functions.h"
#include "python/results.h"

/* It is called by gred/segments.py, whose frame is not the user's. */
enum { WRAPPER_FRAMES = 1 };

/* A call's arguments and all that they keep alive, and what becomes of them. On the heap: an
 * argument's own code may call again, and threads' stacks may be small. */
struct call {
    struct request request;
    struct view values, offsets;
    struct layout ordered; /* the values', in their own order */
    struct output output;
    struct axes axes; /* how many results there are, and no more */
    struct segments segments;
    struct array_results results;
    struct plan plan;
    struct run run;
};

/* Those of a device are converted there, if that loses nothing. */
static bool check_type(const struct view *view)
{
    const enum element type = view->layout.input;
    if (element_is_integer(type) && type != ELEMENT_UINT64)
        return true;
    return PyErr_Format(PyExc_TypeError, "offsets must be integers that int64 holds, not %s",
                        element_name(type));
}

static bool check_offsets(const struct view *view)
{
    struct layout layout = view->layout;
    if (layout.dimensions != 1)
        return PyErr_Format(PyExc_ValueError, "offsets must have one dimension; they have %u",
                            layout.dimensions);
    if (view->on_device)
        return check_type(view);
    layout_normalise(&layout, true);
    if (layout.input == ELEMENT_INT64 && (view->n == 0 || layout_is_flat(&layout)))
        return true;
    return PyErr_Format(PyExc_TypeError, "offsets must be int64, one after the other");
}

static bool check_values(const struct view *view)
{
    if (view->layout.dimensions == 1)
        return true;
    return PyErr_Format(PyExc_ValueError, "values must have one dimension; they have %u",
                        view->layout.dimensions);
}

/* The host's offsets can be looked at; NumPy's words. */
static bool check_range(const struct call *call, const char *op)
{
    const struct segments *segments = &call->segments;
    const uint64_t end = segments->elements + segments->may_be_empty;
    if (call->offsets.on_device)
        return true;
    for (uint64_t k = 0; k < segments->count; k++)
        if ((uint64_t)segments->offsets[k] >= end)
            return PyErr_Format(PyExc_IndexError,
                                "offset %lld out-of-bounds in %s.reduceat [0, %llu)",
                                (long long)segments->offsets[k], op, (unsigned long long)end);
    return true;
}

static bool view_arguments(struct call *call, PyObject *const *slots, const struct where *where)
{
    struct view_request asked = {.name = "values", .where = where};
    if (!stream_parse(slots[STREAM], &asked.consumer) ||
        !output_view(slots[OUT], &asked, &call->output))
        return false;
    call->request.consumer = asked.consumer;
    call->request.out = call->output.object ? &call->output : NULL;
    asked.in_background = call->output.view.on_device;
    if (!array_view(slots[VALUES], &asked, &call->values) || !check_values(&call->values))
        return false;
    asked.name = "offsets";
    call->request.offsets = &call->offsets;
    return array_view(slots[OFFSETS], &asked, &call->offsets) && check_offsets(&call->offsets) &&
           (!call->offsets.on_device || where->locate(where, &call->offsets, "offsets"));
}

static bool describe(struct call *call, PyObject *const *slots, const struct where *where)
{
    const int may_be_empty = PyObject_IsTrue(slots[MAY_BE_EMPTY]);
    if (may_be_empty < 0)
        return false;
    call->segments = (struct segments){.offsets = call->offsets.layout.data,
                                       .count = call->offsets.n,
                                       .elements = call->values.n,
                                       .may_be_empty = may_be_empty};
    call->axes.results = call->offsets.n;
    call->results.dimensions = 1;
    call->results.shape[0] = call->offsets.n;
    if (!call->output.object)
        return true;
    return output_has_shape(&call->output, 1, call->results.shape) &&
           output_locate(&call->output, where);
}

/* Offsets come to where the values are reduced from the host only. */
static bool check_place(const struct call *call, const struct plan *plan)
{
    const struct view *offsets = &call->offsets;
    if (!offsets->on_device || offsets->n == 0 ||
        (offsets->platform == plan->platform && offsets->device == plan->device))
        return true;
    return PyErr_Format(PyExc_ValueError, "offsets are on another device than values; move both to "
                                          "one place");
}

static bool lies_flat(const struct layout *layout)
{
    struct layout normal;
    layout_copy(layout, &normal);
    layout_normalise(&normal, true);
    return layout_is_flat(&normal);
}

/* Where elements are matters: the plan's own order is any that is good for memory. */
static void keep_order(struct call *call, struct plan *plan)
{
    call->ordered.type = plan->layout->type;
    plan->flat = lies_flat(&call->ordered);
    plan->layout = &call->ordered;
}

/* What the device has seen of its offsets, where the call has waited for it. */
static bool check_findings(const struct call *call, const struct run *run, const char *op)
{
    const struct segments *segments = &call->segments;
    if (!(run->findings & FOUND_OUTSIDE))
        return true;
    return PyErr_Format(PyExc_IndexError, "an offset is out-of-bounds in %s.reduceat [0, %llu)", op,
                        (unsigned long long)(segments->elements + segments->may_be_empty));
}

static PyObject *reduce_segments(struct call *call, const char *op)
{
    struct plan *plan = &call->plan;
    struct run *run = &call->run;
    call->ordered = call->values.layout;
    if (!plan_make(&call->request, &call->values, NULL, plan) || !check_place(call, plan) ||
        !check_range(call, op))
        return NULL;
    keep_order(call, plan);
    plan->out = NULL;
    plan->axes = &call->axes;
    plan->segments = &call->segments;
    plan->offsets = call->offsets.on_device ? &call->offsets.layout : NULL;
    plan->producers[1] = call->offsets.producer;
    run_begin(run, WRAPPER_FRAMES);
    if (!array_results_make(&call->results, plan) ||
        !array_results_run(&call->results, plan, run) || !check_findings(call, run, op))
        return NULL;
    return array_results_deliver(&call->results, plan);
}

PyObject *reduceat_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names)
{
    static const struct signature signature = {
        "reduceat", 8, 8, 8, {OP, VALUES, OFFSETS, DTYPE, OUT, MAY_BE_EMPTY, DEVICE, STREAM}};
    struct module_state *state = PyModule_GetState(module);
    const struct where *where = &state->platforms.where;
    PyObject *slots[ARGUMENTS_END];
    if (!arguments_parse(&signature, arguments, count, names, slots))
        return NULL;
    struct call *call = PyMem_Calloc(1, sizeof *call);
    PyObject *result = NULL;
    if (!call)
        return PyErr_NoMemory();
    call->request = (struct request){.platforms = &state->platforms,
                                     .dtype = slots[DTYPE],
                                     .device = slots[DEVICE],
                                     .frames = WRAPPER_FRAMES};
    array_results_begin(&call->results, state, slots[VALUES], &call->values, &call->output);
    call->results.beside = &call->offsets;
    if (reduction_parse(slots[OP], &call->request.reduction) &&
        view_arguments(call, slots, where) && describe(call, slots, where))
        result = reduce_segments(call, reduction_row(call->request.reduction)->name);
    array_results_end(&call->results);
    array_release(&call->values);
    array_release(&call->offsets);
    output_release(&call->output);
    PyMem_Free(call);
    return result;
}
