#include "python/reduce.h"

#include "arrays/array.h"
#include "arrays/mask.h"
#include "arrays/output.h"
#include "arrays/stream.h"
#include "plan/plan.h"
#include "plan/wrong.h"
#include "python/answer.h"
#include "python/arguments.h"
#include "python/execute.h"

#include <math.h>

/* A call's arguments and all that they keep alive. */
struct call {
    struct module_state *state;
    struct request request;
    struct view view;
    struct mask mask;
    struct output output;
};

/* The slot after the array is a norm's ord, and others' ddof. */
enum {
    A,
    ORD,
    DDOF = ORD,
    CORRECTION,
    METHOD,
    BLOCK_SIZE,
    DTYPE,
    DEVICE,
    WHERE,
    OUT,
    STREAM,
    INITIAL
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
    PyObject *correction = array_is_no_value(slots[CORRECTION]) ? NULL : slots[CORRECTION];
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

/* Which norm it is. */
static bool parse_order(PyObject *ord, enum reduction *reduction)
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
        !output_parse(slots[OUT], &asked, &call->output))
        return false;
    request->consumer = asked.consumer;
    request->out = call->output.object ? &call->output : NULL;
    asked.in_background = call->output.view.on_device;
    if (!array_view(slots[A], &asked, &call->view))
        return false;
    /* The mask has to lie where the array does. */
    if (slots[WHERE] && call->view.on_device && !where->locate(where, &call->view, "a"))
        return false;
    return mask_apply(slots[WHERE], &asked, &call->view, &call->mask);
}

/* describe is called by gred/summary.py, whose frame is not the user's. */
static int frames_of(enum reduction reduction)
{
    return reduction == REDUCTION_describe;
}

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
    if (request->initial == Py_Ellipsis || array_is_no_value(request->initial))
        request->initial = NULL;
    if (reduction == REDUCTION_norm)
        return parse_order(slots[ORD], &request->reduction);
    return parse_ddof(slots, &request->ddof);
}

static PyObject *deliver(struct call *call, const struct plan *plan, const struct run *run)
{
    struct output *output = &call->output;
    const bool known = !plan->out || plan->n == 0;
    if (known && !answer_is_sound(plan, run))
        return NULL;
    if (plan->out)
        return Py_NewRef(output->object);
    if (!output->object)
        return answer_to_python(plan, run);
    const enum element result = plan->finish.result;
    output_store(output, scalar_narrow(run->answer.values[0], result), result);
    return Py_NewRef(output->object);
}

/* All that can be asked. */
static PyObject *reduce_as_asked(struct module_state *state, enum reduction reduction,
                                 PyObject *const *slots)
{
    struct call call = {.state = state};
    struct plan plan;
    struct run run;
    PyObject *result = NULL;
    if (!make_request(&call, reduction, slots))
        return NULL;
    run_begin(&run, call.request.frames);
    if (view_arguments(&call, slots) && plan_make(&call.request, &call.view, &call.mask, &plan) &&
        execute_plan(state, &plan, &run))
        result = deliver(&call, &plan, &run);
    array_release(&call.view);
    mask_release(&call.mask);
    output_release(&call.output);
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
        !standing_plan(state->standing, reduction, &layout, &plan))
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
    if (!arguments_parse(signature, arguments, count, names, slots))
        return NULL;
    return reduce_as_asked(state, reduction, slots);
}

/* ---- one function each ---- */

/* Slots from the second on; see the enumeration above. */
#define KEYWORDS(name, second, third, dtype, out, initial)                                         \
    static const char *const keywords_of_##name[] = {second,   third,    "method", "block_size",   \
                                                     dtype,    "device", "where",  out,            \
                                                     "stream", initial,  NULL};

KEYWORDS(folded, "", "", "dtype", "out", "initial")
KEYWORDS(averaged, "", "", "dtype", "out", "")
KEYWORDS(spread, "ddof", "correction", "dtype", "out", "")
KEYWORDS(counted, "", "", "", "out", "")
KEYWORDS(measured, "ord", "", "dtype", "out", "")
KEYWORDS(recorded, "", "", "dtype", "", "")
KEYWORDS(described, "ddof", "", "dtype", "", "")

#define DEFINE_REDUCTION(name, positional, kind)                                                   \
    PyObject *reduce_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t count,        \
                            PyObject *names)                                                       \
    {                                                                                              \
        static const struct signature signature = {#name, 1, positional, keywords_of_##kind, 1};   \
        return reduce(module, &signature, REDUCTION_##name, arguments, count, names);              \
    }

DEFINE_REDUCTION(sum, 1, folded)
DEFINE_REDUCTION(prod, 1, folded)
DEFINE_REDUCTION(min, 1, folded)
DEFINE_REDUCTION(max, 1, folded)
DEFINE_REDUCTION(mean, 1, averaged)
DEFINE_REDUCTION(any, 1, counted)
DEFINE_REDUCTION(all, 1, counted)
DEFINE_REDUCTION(count_nonzero, 1, counted)
DEFINE_REDUCTION(argmin, 1, counted)
DEFINE_REDUCTION(argmax, 1, counted)
DEFINE_REDUCTION(var, 1, spread)
DEFINE_REDUCTION(std, 1, spread)
DEFINE_REDUCTION(ptp, 1, averaged)
DEFINE_REDUCTION(nansum, 1, folded)
DEFINE_REDUCTION(nanprod, 1, folded)
DEFINE_REDUCTION(nanmin, 1, folded)
DEFINE_REDUCTION(nanmax, 1, folded)
DEFINE_REDUCTION(nanmean, 1, averaged)
DEFINE_REDUCTION(norm, 2, measured)
DEFINE_REDUCTION(minmax, 1, recorded)
DEFINE_REDUCTION(describe, 2, described)
