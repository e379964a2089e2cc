#include "arrays/numpys_c.h"

#include "python/call.h"

#include "arrays/numpys.h"
#include "arrays/objects.h"
#include "arrays/stream.h"
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

/* ddof= and correction= are two names for one thing. */
static bool parse_ddof(PyObject *const *slots, double *ddof)
{
    PyObject *correction = numpys_is_no_value(slots[CORRECTION]) ? NULL : slots[CORRECTION];
    *ddof = 0;
    if (slots[DDOF] && correction)
        return PyErr_Format(PyExc_ValueError,
                            "ddof and correction are two names for one thing; only "
                            "one of them can be given");
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
    if (is_of_matrices(ord, axis))
        return PyErr_Format(
            PyExc_ValueError,
            "ord %R along axes %R is a norm of matrices, and gred has those of vectors; "
            "leave ord out, or give one axis",
            ord, axis);
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++)
        if (order == norms[k].order) {
            *reduction = norms[k].reduction;
            return true;
        }
    return PyErr_Format(PyExc_ValueError, "ord must be None, 2, 1, 0, inf or -inf; got %R", ord);
}

static bool make_request(struct call *call, enum reduction reduction, int frames,
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
    /* How the signature writes that there is none, and how NumPy does. */
    if (request->initial == Py_Ellipsis || numpys_is_no_value(request->initial))
        request->initial = NULL;
    if (reduction == REDUCTION_norm)
        return parse_order(slots[ORD], slots[AXIS], &request->reduction);
    return parse_ddof(slots, &request->ddof);
}

/* ---- NaN that dtype= has no value for ---- */

/* Whether NumPy, too, leaves NaN out first: its means are of floats, and extremes have no dtype. */
static bool is_left_out(enum reduction reduction, enum element to)
{
    return reduction == REDUCTION_nansum || reduction == REDUCTION_nanprod ||
           (reduction == REDUCTION_nanmean && !element_is_integer(to));
}

/* NumPy's own view of what was viewed, of no derived class. */
static PyObject *plain_array(const struct view *view, PyObject *object)
{
    const bool own = view->owner && PyArray_Check(view->owner);
    return PyArray_FROM_OF(own ? view->owner : object, NPY_ARRAY_ENSUREARRAY);
}

/* Which elements are there and are numbers. NULL with an exception set. */
static PyObject *numbers_mask(PyObject *a, const struct view *view, PyObject *where,
                              const struct mask *mask)
{
    PyObject *array = plain_array(view, a);
    PyObject *numbers = array ? PyObject_RichCompare(array, array, Py_EQ) : NULL;
    Py_XDECREF(array);
    if (numbers && mask->view.owner) {
        PyObject *there = plain_array(&mask->view, where);
        Py_SETREF(numbers, there ? PyNumber_And(numbers, there) : NULL);
        Py_XDECREF(there);
    }
    return numbers;
}

/* Where elements of an array on the host lose their NaN, converted as the request asks, a mask
 * hides NaN instead, and the reduction becomes the one that takes all others: NumPy does the same
 * by putting what changes nothing in NaN's place. False with an exception set. */
static bool nan_left_out(struct request *request, PyObject *a, PyObject *where,
                         const struct view_request *asked, struct view *view, struct mask *mask)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    enum element to;
    if (row->plain == request->reduction || !argument_given(request->dtype) || view->on_device)
        return true;
    if (!numpys_element(request->dtype, "dtype", &to))
        return false;
    if (!is_left_out(request->reduction, to) || !types_lose_nan(view->layout.input, to))
        return true;
    PyObject *numbers = numbers_mask(a, view, where, mask);
    mask_release(mask);
    request->reduction = row->plain;
    const bool masked = numbers && mask_apply(numbers, asked, view, mask);
    Py_XDECREF(numbers);
    return masked;
}

/* ---- what they are of ---- */

/* False with an exception set; what was viewed is to be released in either case. */
static bool view_arguments(struct call *call, PyObject *const *slots)
{
    struct request *request = &call->request;
    const struct where *where = &call->state->platforms.where;
    struct view_request asked = {.name = "a", .where = where};
    PyObject *const a = slots[A] ? slots[A] : slots[X];
    if (!stream_parse(slots[STREAM], &asked.consumer) ||
        !output_view(slots[OUT], &asked, &call->output))
        return false;
    request->consumer = asked.consumer;
    request->out = call->output.object ? &call->output : NULL;
    asked.in_background = call->output.view.on_device;
    if (!array_view(a, &asked, &call->view))
        return false;
    /* The mask has to lie where the array does. */
    if (slots[WHERE] && call->view.on_device && !where->locate(where, &call->view, "a"))
        return false;
    return mask_apply(slots[WHERE], &asked, &call->view, &call->mask) &&
           nan_left_out(request, a, slots[WHERE], &asked, &call->view, &call->mask);
}

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

/* ---- the whole ---- */

/* All that closing looks at. */
static struct call *call_begin(struct module_state *state, PyObject *like)
{
    struct call *call = PyMem_Malloc(sizeof *call); /* most of which a short call never touches */
    if (!call) {
        PyErr_NoMemory();
        return NULL;
    }
    call->state = state;
    call->view.owner = call->mask.view.owner = call->output.view.owner = NULL;
    call->view.pin = call->mask.view.pin = call->output.view.pin = NULL;
    means_begin(&call->means);
    array_results_begin(&call->results, state, like, &call->view, &call->output);
    return call;
}

struct call *call_open(struct module_state *state, enum reduction reduction, int frames,
                       PyObject *const *slots)
{
    struct call *call = call_begin(state, slots[A] ? slots[A] : slots[X]);
    if (!call)
        return NULL;
    if (make_request(call, reduction, frames, slots) && view_arguments(call, slots) &&
        array_results_choose(&call->results, &call->request, slots[AXIS], slots[KEEPDIMS],
                             &call->axes) &&
        view_means(call, slots[MEAN]) &&
        plan_make(&call->request, &call->view, &call->mask, &call->plan)) {
        run_begin(&call->run, frames);
        return call;
    }
    call_close(call);
    return NULL;
}

void call_close(struct call *call)
{
    array_results_end(&call->results);
    means_release(&call->means);
    array_release(&call->view);
    mask_release(&call->mask);
    output_release(&call->output);
    PyMem_Free(call);
}

/* ---- lists of arrays ---- */

/* DLPack's name for memory of the host. */
enum { DLPACK_CPU = 1 };

/* What has an interface of CUDA's has it for memory of a GPU; what speaks DLPack says where it is.
 */
static bool lies_on_device(PyObject *object)
{
    if (PyObject_HasAttrString(object, "__cuda_array_interface__"))
        return true;
    long type = DLPACK_CPU, index;
    PyObject *place = PyObject_HasAttrString(object, "__dlpack_device__")
                          ? PyObject_CallMethod(object, "__dlpack_device__", NULL)
                          : NULL;
    if (place && !PyArg_ParseTuple(place, "ll", &type, &index))
        type = DLPACK_CPU;
    Py_XDECREF(place);
    PyErr_Clear();
    return type != DLPACK_CPU;
}

bool several_are_given(PyObject *object)
{
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object))
        return false;
    PyObject *first = Py_SIZE(object) ? PySequence_GetItem(object, 0) : NULL;
    const bool given =
        first && !PyFloat_CheckExact(first) && !PyLong_CheckExact(first) && lies_on_device(first);
    PyErr_Clear();
    Py_XDECREF(first);
    return given;
}

/* Other elements than the first are asked only here: of a list of numbers that takes long. */
static bool holds_any(PyObject *object)
{
    bool found = false;
    for (Py_ssize_t k = 0; !found && k < PySequence_Size(object); k++) {
        PyObject *one = PySequence_GetItem(object, k);
        found = one && lies_on_device(one);
        Py_XDECREF(one);
    }
    PyErr_Clear();
    return found;
}

bool several_were_given(PyObject *object)
{
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object))
        return false;
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        return false;
    const struct raised why = raised_set_aside();
    const bool given = holds_any(object);
    if (given)
        raised_forget(why);
    else
        raised_again(why);
    return given;
}

/* A new reference. */
static PyObject *function_of(PyObject *module, const char *name)
{
    if (!PyObject_HasAttrString(module, name))
        return PyErr_Format(PyExc_TypeError,
                            "%s does not take several arrays on devices; sum and mean do", name);
    return PyObject_GetAttrString(module, name);
}

PyObject *several_reduce(const char *name, PyObject *const *arguments, Py_ssize_t count,
                         PyObject *names)
{
    PyObject *module = PyImport_ImportModule("gred.several");
    PyObject *function = module ? function_of(module, name) : NULL;
    PyObject *result =
        function ? PyObject_Vectorcall(function, arguments, (size_t)count, names) : NULL;
    Py_XDECREF(function);
    Py_XDECREF(module);
    return result;
}
