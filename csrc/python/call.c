#include "arrays/numpys.h"

#include "python/call.h"

#include "common/scratch.h"
#include "plan/arguments.h"

#include <math.h>

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

bool ddof_parse(PyObject *const *slots, double *ddof)
{
    PyObject *const correction = numpy_is_no_value(slots[CORRECTION]) ? NULL : slots[CORRECTION];
    PyObject *const given = slots[DDOF] ? slots[DDOF] : correction;
    *ddof = 0;
    if (slots[DDOF] && correction)
        return value_error("ddof and correction are aliases; pass only one of them");
    return !given || parse_number(given, slots[DDOF] ? "ddof" : "correction", ddof);
}

/* Reads ord=. With an order, NumPy's norm along two axes is a matrix norm, which is refused. */
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
    double order;
    if (!argument_given(ord))
        return true;
    if (!parse_number(ord, "ord", &order))
        return false;
    if (axis && PyTuple_Check(axis) && PyTuple_GET_SIZE(axis) > 1)
        return value_error("ord %.200R along axes %.200R is a matrix norm, and gred computes "
                           "vector norms; omit ord, or pass one axis",
                           ord, axis);
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++)
        if (order == norms[k].order) {
            *reduction = norms[k].reduction;
            return true;
        }
    return value_error("ord must be None, 2, 1, 0, inf or -inf; got %.200R", ord);
}

static bool read_request(struct call *call, enum reduction reduction, int frames,
                         PyObject *const *slots)
{
    struct request *request = &call->request;
    *request = (struct request){.platforms = &call->state->platforms,
                                .reduction = reduction,
                                .method = slots[METHOD],
                                .block_size = slots[BLOCK_SIZE],
                                .dtype = slots[DTYPE],
                                .device = slots[DEVICE],
                                .initial = slots[INITIAL],
                                .frames = frames};
    /* Both the signature's `...` and NumPy's _NoValue mean that there is none. */
    if (request->initial == Py_Ellipsis || numpy_is_no_value(request->initial))
        request->initial = NULL;
    if (reduction == REDUCTION_norm)
        return parse_order(slots[ORD], slots[AXIS], &request->reduction);
    return ddof_parse(slots, &request->ddof);
}

/* If the conversion to dtype would lose a host array's NaN, masks NaN and changes to the plain
 * reduction. NumPy does the same by replacing NaN with the identity. */
static bool mask_nan(struct call *call, PyObject *where)
{
    struct request *request = &call->request;
    const struct reduction_row *row = reduction_row(request->reduction);
    enum element to;
    if (!reduction_skips_nan(request->reduction) || !argument_given(request->dtype) ||
        call->view.on_device)
        return true;
    if (!numpy_element_of_dtype(request->dtype, "dtype", &to))
        return false;
    /* NumPy's means are of floats, and its extremes take no dtype. */
    if ((request->reduction != REDUCTION_nansum && request->reduction != REDUCTION_nanprod &&
         (request->reduction != REDUCTION_nanmean || element_is_integer(to))) ||
        !types_lose_nan(call->view.layout.input, to))
        return true;
    where = where && !numpy_is_no_value(where) ? where : Py_True;
    OWNED *found = python_call("gred.checks", "values_and_not_nan", "(OO)", call->like, where);
    array_release(&call->mask);
    request->reduction = row->plain;
    return found &&
           mask_apply(PyTuple_GET_ITEM(found, 1), &call->view_request, &call->view, &call->mask);
}

/* ---- arrays ---- */

bool call_view(struct call *call, const char *name, bool masked, PyObject *const *slots)
{
    struct request *request = &call->request;
    struct view_request *view_request = &call->view_request;
    *view_request = (struct view_request){.name = name, .locator = &call->state->platforms.locator};
    if (!stream_parse(slots[STREAM], &view_request->consumer) ||
        !output_view(slots[OUT], view_request, &call->output))
        return false;
    request->consumer = view_request->consumer;
    request->out = call->output.object ? &call->output : NULL;
    view_request->in_background = call->output.view.on_device;
    struct view_request with_nulls = *view_request;
    with_nulls.valid_mask = masked ? &call->valid_mask : NULL;
    return array_view(call->like, &with_nulls, &call->view);
}

/* Combines `where` with the mask of nulls. False with an exception set. */
static bool mask_nulls(struct call *call, PyObject **where)
{
    PyObject *const given = *where;
    if (!call->valid_mask || given == Py_None)
        return true;
    if (given && given != Py_True && !numpy_is_no_value(given)) {
        CLEANUP(array_release) struct view mask;
        view_init_empty(&mask);
        Py_SETREF(call->valid_mask, array_view_bool(given, "where", &mask)
                                        ? PyNumber_And(mask.held.owner, call->valid_mask)
                                        : NULL);
    }
    if (!call->valid_mask)
        return false;
    *where = call->valid_mask;
    OWNED *any = PyObject_CallMethod(call->valid_mask, "any", NULL);
    const int nonempty = any ? PyObject_IsTrue(any) : -1;
    call->request.mask_nonempty = nonempty > 0;
    return nonempty >= 0;
}

/* The mask has to be on the array's device, which is therefore located first. */
static bool view_mask(struct call *call, PyObject *mask)
{
    const struct locator *locator = call->view_request.locator;
    return mask_nulls(call, &mask) && (!mask || locator->locate(locator, &call->view, "a")) &&
           mask_apply(mask, &call->view_request, &call->view, &call->mask) && mask_nan(call, mask);
}

/* Views mean=, broadcast to the shape that means have with keepdims=True. */
static bool view_means(struct call *call, PyObject *means)
{
    struct request *request = &call->request;
    if (!means || numpy_is_no_value(means))
        return true;
    uint64_t shape[DIMENSIONS_MAX];
    const unsigned dimensions = axes_out_shape(&call->view.layout, request->reduced, true, shape);
    if (!means_view(means, &call->view_request, &call->view, dimensions, shape, &call->means))
        return false;
    if (call->view.n > 0) /* empty arrays have no deviations */
        request->means = &call->means;
    return true;
}

struct call *call_begin(struct module_state *state, enum reduction reduction, int frames,
                        PyObject *const *slots)
{
    struct call *call = scratch_acquire(sizeof *call); /* a short call uses little of it */
    if (!call)
        return (void *)PyErr_NoMemory();
    memset(call, 0, offsetof(struct call, view_request));
    call->state = state;
    call->like = slots[A] ? slots[A] : slots[X] ? slots[X] : slots[VALUES];
    view_init_empty(&call->view);
    view_init_empty(&call->mask);
    view_init_empty(&call->segmented.offsets);
    view_init_empty(&call->output.view);
    call->output.object = NULL;
    view_init_empty(&call->means.view);
    call->means.here = NULL;
    call->output.as_array = false;
    run_begin(&call->run, frames);
    if (!read_request(call, reduction, frames, slots))
        call_close(&call);
    return call;
}

struct call *call_open(struct module_state *state, enum reduction reduction, int frames,
                       PyObject *const *slots)
{
    struct call *call = call_begin(state, reduction, frames, slots);
    if (!call || !call_view(call, "a", true, slots) || !view_mask(call, slots[WHERE]) ||
        !results_choose_shape(call, slots) || !view_means(call, slots[MEAN]) ||
        !plan_make(&call->request, &call->view, &call->mask, &call->plan))
        call_close(&call);
    return call;
}

struct call *call_open_op(struct module_state *state, PyObject *const *slots)
{
    enum reduction reduction;
    return reduction_parse(slots[OP], &reduction) ? call_open(state, reduction, 1, slots) : NULL;
}

void call_close(struct call **at)
{
    struct call *const call = *at;
    *at = NULL;
    if (!call)
        return;
    while (call->count > 0)
        result_release(&call->memory[--call->count]);
    array_release(&call->means.view);
    array_release(&call->view);
    array_release(&call->mask);
    array_release(&call->segmented.offsets);
    array_release(&call->output.view);
    list_state_free(call->list);
    Py_XDECREF(call->valid_mask);
    scratch_release(call, sizeof *call);
}
