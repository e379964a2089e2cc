#include "python/reduce.h"

#include "arrays/array.h"
#include "arrays/mask.h"
#include "arrays/means.h"
#include "arrays/numpys.h"
#include "arrays/output.h"
#include "arrays/stream.h"
#include "plan/axes.h"
#include "plan/plan.h"
#include "plan/wrong.h"
#include "python/answer.h"
#include "python/arguments.h"
#include "python/array_results.h"
#include "python/execute.h"
#include "python/nan_argument.h"
#include "python/several.h"
#include "python/state.h"

#include <math.h>

/* A call's arguments and all that they keep alive, and what becomes of them. On the heap: an
 * argument's own code may call again, to any depth that Python allows, and threads' stacks may be
 * small. */
struct call {
    struct module_state *state;
    struct request request;
    struct view view;
    struct mask mask;
    struct output output;
    struct axes axes;
    struct array_results results; /* where there are several or keepdims= asks for them */
    struct means means;
    struct plan plan;
    struct run run;
};

enum {
    A,
    AXIS,
    DTYPE,
    OUT,
    KEEPDIMS,
    INITIAL,
    WHERE,
    ORD,
    DDOF,
    MEAN,
    CORRECTION,
    METHOD,
    BLOCK_SIZE,
    DEVICE,
    STREAM
};

/* ---- arguments of some reductions ---- */

static bool parse_number(PyObject *object, const char *name, double *number)
{
    *number = PyFloat_AsDouble(object);
    if (*number != -1 || !PyErr_Occurred())
        return true;
    if (!PyErr_ExceptionMatches(PyExc_TypeError))
        return false;
    PyErr_Clear();
    return wrong_type(name, "a number", object);
}

/* ddof= and correction= are two names for one thing. */
static bool parse_ddof(PyObject *const *slots, double *ddof)
{
    PyObject *correction = numpys_is_no_value(slots[CORRECTION]) ? NULL : slots[CORRECTION];
    *ddof = 0;
    if (slots[DDOF] && correction) {
        PyErr_SetString(PyExc_ValueError, "ddof and correction are two names for one thing; only "
                                          "one of them can be given");
        return false;
    }
    if (slots[DDOF])
        return parse_number(slots[DDOF], "ddof", ddof);
    return !correction || parse_number(correction, "correction", ddof);
}

/* NumPy's norm of two axes is a matrix's, which is a vector's only where no order is asked for. */
static bool is_of_matrices(PyObject *ord, PyObject *axis)
{
    return argument_given(ord) && axis && PyTuple_Check(axis) && PyTuple_GET_SIZE(axis) > 1;
}

/* Which norm it is. */
static bool parse_order(PyObject *ord, PyObject *axis, enum reduction *reduction)
{
    static const struct {
        double order;
        enum reduction reduction;
    } norms[] = {{2, REDUCTION_norm},
                 {1, REDUCTION_norm_1},
                 {0, REDUCTION_norm_0},
                 {INFINITY, REDUCTION_norm_inf},
                 {-INFINITY, REDUCTION_norm_neg_inf}};
    double order = 2;
    if (argument_given(ord) && !parse_number(ord, "ord", &order))
        return false;
    if (is_of_matrices(ord, axis)) {
        PyErr_Format(PyExc_ValueError,
                     "ord %R along axes %R is a norm of matrices, and gred has those of vectors; "
                     "leave ord out, or give one axis",
                     ord, axis);
        return false;
    }
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++)
        if (order == norms[k].order) {
            *reduction = norms[k].reduction;
            return true;
        }
    PyErr_Format(PyExc_ValueError, "ord must be None, 2, 1, 0, inf or -inf; got %R", ord);
    return false;
}

/* ---- a call ---- */

/* False with an exception set; what was viewed is to be released in either case. */
static bool view_arguments(struct call *call, PyObject *const *slots)
{
    struct request *request = &call->request;
    const struct where *where = &call->state->platforms.where;
    struct view_request asked = {.name = "a", .where = where};
    call->view.owner = call->mask.view.owner = call->output.view.owner = NULL;
    call->view.pin = call->mask.view.pin = call->output.view.pin = NULL;
    if (!stream_parse(slots[STREAM], &asked.consumer) ||
        !output_view(slots[OUT], &asked, &call->output))
        return false;
    request->consumer = asked.consumer;
    request->out = call->output.object ? &call->output : NULL;
    asked.in_background = call->output.view.on_device;
    if (!array_view(slots[A], &asked, &call->view))
        return false;
    /* The mask has to lie where the array does. */
    if (slots[WHERE] && call->view.on_device && !where->locate(where, &call->view, "a"))
        return false;
    return mask_apply(slots[WHERE], &asked, &call->view, &call->mask) &&
           nan_left_out(request, slots[A], slots[WHERE], &asked, &call->view, &call->mask);
}

/* describe is called by gred/summary.py, whose frame is not the user's. */
static int frames_of(enum reduction reduction)
{
    return reduction == REDUCTION_describe;
}

/* ---- axes ---- */

/* What spreads are about is broadcast to the shape that means have with keepdims=True. */
static bool view_means(struct call *call, PyObject *means)
{
    struct request *request = &call->request;
    const struct view_request asked = {.where = &call->state->platforms.where,
                                       .consumer = request->consumer,
                                       .in_background = true};
    if (!means || numpys_is_no_value(means))
        return true;
    uint64_t shape[DIMENSIONS_MAX];
    const unsigned dimensions = axes_left(&call->view.layout, request->reduced, true, shape);
    if (!means_view(means, &asked, &call->view, dimensions, shape, &call->means))
        return false;
    if (call->view.n > 0) /* of nothing, it does not matter what it would be about */
        request->means = &call->means;
    return true;
}

static bool choose_axes(struct call *call, PyObject *const *slots)
{
    return array_results_choose(&call->results, &call->request, slots[AXIS], slots[KEEPDIMS],
                                &call->axes) &&
           view_means(call, slots[MEAN]);
}

/* ---- the whole ---- */

static bool make_request(struct call *call, enum reduction reduction, PyObject *const *slots)
{
    struct request *request = &call->request;
    *request = (struct request){.platforms = &call->state->platforms,
                                .reduction = reduction,
                                .method = slots[METHOD],
                                .block_size = slots[BLOCK_SIZE],
                                .dtype = slots[DTYPE],
                                .device = slots[DEVICE],
                                .initial = slots[INITIAL],
                                .frames = frames_of(reduction)};
    /* How the signature writes that there is none, and how NumPy does. */
    if (request->initial == Py_Ellipsis || numpys_is_no_value(request->initial))
        request->initial = NULL;
    if (reduction == REDUCTION_norm)
        return parse_order(slots[ORD], slots[AXIS], &request->reduction);
    return parse_ddof(slots, &request->ddof);
}

static PyObject *deliver(struct call *call)
{
    const struct plan *const plan = &call->plan;
    const struct run *const run = &call->run;
    struct output *output = &call->output;
    const bool known = !plan->out || plan->n == 0;
    if (known && !answer_is_sound(plan, run))
        return NULL;
    if (plan->axes)
        return array_results_deliver(&call->results, plan);
    if (plan->out)
        return Py_NewRef(output->object);
    if (!output->object)
        return answer_to_python(plan, run);
    const enum element result = plan->finish.result;
    output_store(output, scalar_narrow(run->answer.values[0], result), result);
    return Py_NewRef(output->object);
}

static PyObject *run_call(struct call *call, PyObject *const *slots)
{
    struct array_results *results = &call->results;
    struct plan *plan = &call->plan;
    run_begin(&call->run, call->request.frames);
    const bool ran = view_arguments(call, slots) && choose_axes(call, slots) &&
                     plan_make(&call->request, &call->view, &call->mask, plan) &&
                     array_results_make(results, plan) &&
                     array_results_run(results, plan, &call->run);
    return ran ? deliver(call) : NULL;
}

/* All that can be asked. */
static PyObject *reduce_as_asked(struct module_state *state, enum reduction reduction,
                                 PyObject *const *slots)
{
    struct call *call = PyMem_Malloc(sizeof *call); /* most of which a short call never touches */
    PyObject *result = NULL;
    if (!call)
        return PyErr_NoMemory();
    call->state = state;
    if (make_request(call, reduction, slots)) {
        means_begin(&call->means);
        array_results_begin(&call->results, state, slots[A], &call->view, &call->output);
        result = run_call(call, slots);
        array_results_end(&call->results);
        means_release(&call->means);
        array_release(&call->view);
        mask_release(&call->mask);
        output_release(&call->output);
    }
    PyMem_Free(call);
    return result;
}

/* Of nothing but an array, by the plan that stands. NULL without an exception set: the call has to
 * go the long way. */
static PyObject *reduce_flat(struct module_state *state, enum reduction reduction, PyObject *array)
{
    struct layout layout;
    struct plan plan;
    struct run run;
    if (!array_lies_flat(array, &layout) ||
        !cached_plan(state->cached_plans, reduction, &layout, &plan))
        return NULL;
    run_begin(&run, frames_of(reduction));
    Py_INCREF(array); /* so that nobody resizes it meanwhile */
    const bool sound = execute_plan(state, &plan, &run) && answer_is_sound(&plan, &run);
    Py_DECREF(array);
    return sound ? answer_to_python(&plan, &run) : NULL;
}

static PyObject *reduce(PyObject *module, const struct signature *signature,
                        enum reduction reduction, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *slots[ARGUMENTS_MAX];
    PyObject *result = count == 1 && !names ? reduce_flat(state, reduction, arguments[0]) : NULL;
    if (result || PyErr_Occurred())
        return result;
    if (count && several_are_given(arguments[0]))
        return several_reduce(reduction_row(reduction)->name, arguments, count, names);
    if (!arguments_parse(signature, arguments, count, names, slots))
        return NULL;
    result = reduce_as_asked(state, reduction, slots);
    if (!result && count && several_were_given(arguments[0]))
        return several_reduce(reduction_row(reduction)->name, arguments, count, names);
    return result;
}

/* ---- one function each ---- */

/* KIND(kind, positional, unnamed, (slots), keywords): NumPy's arguments in its order, of which the
 * first can be given by position, and gred's own after them. */
#define OWN_NAMES "method", "block_size", "device", "stream", NULL
#define OWN_SLOTS METHOD, BLOCK_SIZE, DEVICE, STREAM
#define KIND(kind, how_many, without_name, numpys, ...)                                            \
    enum { POSITIONAL_##kind = how_many, UNNAMED_##kind = without_name };                          \
    static const unsigned char slots_of_##kind[] = {UNPACKED numpys, OWN_SLOTS};                   \
    static const char *const keywords_of_##kind[] = {__VA_ARGS__, OWN_NAMES};
#define UNPACKED(...) __VA_ARGS__

KIND(folded, 7, 0, (A, AXIS, DTYPE, OUT, KEEPDIMS, INITIAL, WHERE), "a", "axis", "dtype", "out",
     "keepdims", "initial", "where")
KIND(extreme, 6, 0, (A, AXIS, OUT, KEEPDIMS, INITIAL, WHERE, DTYPE), "a", "axis", "out", "keepdims",
     "initial", "where", "dtype")
KIND(averaged, 5, 0, (A, AXIS, DTYPE, OUT, KEEPDIMS, WHERE), "a", "axis", "dtype", "out",
     "keepdims", "where")
KIND(spread, 6, 0, (A, AXIS, DTYPE, OUT, DDOF, KEEPDIMS, WHERE, MEAN, CORRECTION), "a", "axis",
     "dtype", "out", "ddof", "keepdims", "where", "mean", "correction")
KIND(truth, 4, 0, (A, AXIS, OUT, KEEPDIMS, WHERE), "a", "axis", "out", "keepdims", "where")
KIND(counted, 2, 0, (A, AXIS, KEEPDIMS, OUT, WHERE), "a", "axis", "keepdims", "out", "where")
KIND(position, 3, 0, (A, AXIS, OUT, KEEPDIMS, WHERE), "a", "axis", "out", "keepdims", "where")
KIND(ranged, 4, 0, (A, AXIS, OUT, KEEPDIMS, DTYPE, WHERE), "a", "axis", "out", "keepdims", "dtype",
     "where")
KIND(measured, 4, 0, (A, ORD, AXIS, KEEPDIMS, DTYPE, OUT, WHERE), "x", "ord", "axis", "keepdims",
     "dtype", "out", "where")
KIND(recorded, 2, 0, (A, AXIS, KEEPDIMS, DTYPE, WHERE), "a", "axis", "keepdims", "dtype", "where")
KIND(described, 2, 1, (A, DDOF, AXIS, DTYPE, KEEPDIMS, WHERE), "ddof", "axis", "dtype", "keepdims",
     "where")

#define DEFINE_REDUCTION(name, kind)                                                               \
    PyObject *reduce_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t count,        \
                            PyObject *names)                                                       \
    {                                                                                              \
        static const struct signature signature = {                                                \
            #name, 1, POSITIONAL_##kind, UNNAMED_##kind, keywords_of_##kind, slots_of_##kind};     \
        return reduce(module, &signature, REDUCTION_##name, arguments, count, names);              \
    }

DEFINE_REDUCTION(sum, folded)
DEFINE_REDUCTION(prod, folded)
DEFINE_REDUCTION(min, extreme)
DEFINE_REDUCTION(max, extreme)
DEFINE_REDUCTION(mean, averaged)
DEFINE_REDUCTION(any, truth)
DEFINE_REDUCTION(all, truth)
DEFINE_REDUCTION(count_nonzero, counted)
DEFINE_REDUCTION(argmin, position)
DEFINE_REDUCTION(argmax, position)
DEFINE_REDUCTION(var, spread)
DEFINE_REDUCTION(std, spread)
DEFINE_REDUCTION(ptp, ranged)
DEFINE_REDUCTION(nansum, folded)
DEFINE_REDUCTION(nanprod, folded)
DEFINE_REDUCTION(nanmin, extreme)
DEFINE_REDUCTION(nanmax, extreme)
DEFINE_REDUCTION(nanmean, averaged)
DEFINE_REDUCTION(norm, measured)
DEFINE_REDUCTION(minmax, recorded)
DEFINE_REDUCTION(describe, described)
