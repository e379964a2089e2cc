#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plan.h"

#include "execute.h"
#include "mask.h"
#include "output.h"

#include <stdio.h>
#include <string.h>

const struct backend *const plan_backends[] = {&backend_host, &backend_simulated, &backend_cuda,
                                               NULL};

static bool given(PyObject *argument)
{
    return argument && argument != Py_None;
}

static bool wrong_type(const char *name, const char *accepted, PyObject *value)
{
    PyErr_Format(PyExc_TypeError, "%s must be %s; got %R (%.200s)", name, accepted, value,
                 Py_TYPE(value)->tp_name);
    return false;
}

/* A str's text, without a NUL or a surrogate in it; NULL (no exception) if it has one. */
static const char *plain_text(PyObject *string)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(string, &length);
    if (!text)
        PyErr_Clear();
    return text && strlen(text) == (size_t)length ? text : NULL;
}

/* ---- device= ---- */

#define DEVICES_ACCEPTED "None, 'host', 'simulated', 'cuda' or 'cuda:N'"

/* "cuda:12" -> 12, "cuda" -> 0; false if it is neither. */
static bool cuda_index(const char *text, int *index)
{
    enum { DIGITS_MAX = 4 };
    *index = 0;
    if (strncmp(text, "cuda", 4) != 0)
        return false;
    if (text[4] == '\0')
        return true;
    const char *digits = text + 5;
    const size_t count = strspn(digits, "0123456789");
    if (text[4] != ':' || count == 0 || count > DIGITS_MAX || digits[count])
        return false;
    *index = atoi(digits);
    return true;
}

static int devices_of(const struct module_state *state, const struct backend *backend,
                      struct failure *why)
{
    return backend->count(execute_backend_state(state, backend), why);
}

static bool parse_device(struct module_state *state, PyObject *device,
                         const struct backend **backend, int *index)
{
    if (!PyUnicode_Check(device))
        return wrong_type("device", DEVICES_ACCEPTED, device);
    const char *text = plain_text(device);
    *backend = NULL;
    *index = 0;
    if (text && strcmp(text, "host") == 0)
        *backend = &backend_host;
    else if (text && strcmp(text, "simulated") == 0)
        *backend = &backend_simulated;
    else if (text && cuda_index(text, index))
        *backend = &backend_cuda;
    if (!*backend) {
        PyErr_Format(PyExc_ValueError,
                     "device must be " DEVICES_ACCEPTED
                     "; got %R. gred.devices() lists what is here",
                     device);
        return false;
    }
    struct failure why = {0};
    const int count = devices_of(state, *backend, &why);
    if (count < 0) {
        failure_raise(&why, state);
        return false;
    }
    if (count == 0) {
        PyErr_Format(PyExc_RuntimeError,
                     "device %R: there is no GPU to use (%s); 'host' and 'simulated' need none",
                     device, why.text);
        return false;
    }
    if (*index >= count) {
        PyErr_Format(PyExc_ValueError, "device %R: there are %d GPUs here, 'cuda:0' to 'cuda:%d'",
                     device, count, count - 1);
        return false;
    }
    return true;
}

/* A GPU that is there but fails is an error: to go on without it would be slow, and silent. */
static bool find_gpu(struct module_state *state, bool *there)
{
    struct failure why = {0};
    const int count = devices_of(state, &backend_cuda, &why);
    *there = count > 0;
    if (count < 0)
        failure_raise(&why, state);
    return count >= 0;
}

bool plan_device(struct module_state *state, PyObject *device, const struct backend **backend,
                 int *index)
{
    bool gpu;
    if (given(device))
        return parse_device(state, device, backend, index);
    if (!find_gpu(state, &gpu))
        return false;
    *backend = gpu ? &backend_cuda : &backend_simulated;
    *index = 0;
    return true;
}

/* Says whose memory it is that cannot be used. */
static void raise_for(const char *name, const struct failure *failure,
                      const struct module_state *state)
{
    struct failure named = *failure;
    if (failure->kind == FAILURE_VALUE || failure->kind == FAILURE_RUNTIME)
        snprintf(named.text, sizeof named.text, "%s: %.400s", name, failure->text);
    failure_raise(&named, state);
}

bool plan_locate(struct module_state *state, struct view *view, const char *name)
{
    struct failure failure = {0};
    bool gpu = true;
    if (view->backend)
        return true;
    if (view->n == 0 && !find_gpu(state, &gpu))
        return false;
    if (!gpu) { /* nothing lies everywhere */
        view->backend = &backend_simulated;
        return true;
    }
    for (int k = 0; plan_backends[k]; k++) {
        const struct backend *backend = plan_backends[k];
        const enum located located =
            backend->locate ? backend->locate(execute_backend_state(state, backend), view, &failure)
                            : LOCATED_ELSEWHERE;
        if (located == LOCATED_HERE)
            return true;
        if (located == LOCATED_NOWHERE)
            break;
    }
    raise_for(name, &failure, state);
    return false;
}

/* ---- method= and block_size= ---- */

/* "recursive, halving, ..."; a new reference. */
static PyObject *method_names(void)
{
    PyObject *names = PyUnicode_FromString("'auto'");
    for (int m = 0; m < METHODS && names; m++) {
        const struct method *method = method_at((enum method_index)m);
        PyObject *longer = PyUnicode_FromFormat("%U, %s", names, method->name);
        Py_DECREF(names);
        names = longer;
    }
    return names;
}

static void unknown_method(PyObject *method, const char *text)
{
    const char *nearest = text ? method_nearest(text) : NULL;
    PyObject *names = method_names();
    if (names && nearest)
        PyErr_Format(
            PyExc_ValueError,
            "method %R does not exist; did you mean '%s'? The methods are %U (see gred.methods())",
            method, nearest, names);
    else if (names)
        PyErr_Format(PyExc_ValueError,
                     "method %R does not exist; the methods are %U (see gred.methods())", method,
                     names);
    Py_XDECREF(names);
}

/* NULL in *found for "auto". */
static bool parse_method(PyObject *method, const struct method **found)
{
    *found = NULL;
    if (!method)
        return true;
    if (!PyUnicode_Check(method))
        return wrong_type("method", "a str", method);
    const char *text = plain_text(method);
    if (text && strcmp(text, "auto") == 0)
        return true;
    *found = text ? method_find(text) : NULL;
    if (!*found)
        unknown_method(method, text);
    return *found;
}

static bool parse_block_size(PyObject *block_size, unsigned *block)
{
    if (!PyIndex_Check(block_size) || PyBool_Check(block_size))
        return wrong_type("block_size", "None or a power of two from 32 to 1024", block_size);
    PyObject *number = PyNumber_Index(block_size);
    if (!number)
        return false;
    int overflow;
    const long value = PyLong_AsLongAndOverflow(number, &overflow);
    Py_DECREF(number);
    if (overflow || value < BLOCK_SIZE_MIN || value > BLOCK_SIZE_MAX || (value & (value - 1))) {
        PyErr_Format(PyExc_ValueError,
                     "block_size must be None or a power of two from 32 to 1024; got %R",
                     block_size);
        return false;
    }
    *block = (unsigned)value;
    return true;
}

/* ---- where ---- */

/* "cuda:0" for a backend with devices that are numbered; a new reference. */
static PyObject *device_name(const struct backend *backend, int device)
{
    return backend->place == METHOD_ON_CUDA ? PyUnicode_FromFormat("'%s:%d'", backend->name, device)
                                            : PyUnicode_FromFormat("'%s'", backend->name);
}

/* What lies on a device is reduced there, and nowhere else. */
static bool stay_where(const struct view *view, const char *name, const struct request *request,
                       struct plan *plan)
{
    plan->backend = view->backend;
    plan->device = view->device;
    if (!given(request->device))
        return true;
    if (!parse_device(request->state, request->device, &plan->backend, &plan->device))
        return false;
    if (view->n == 0 || (plan->backend == view->backend && plan->device == view->device))
        return true;
    PyObject *place = device_name(view->backend, view->device);
    if (place)
        PyErr_Format(PyExc_ValueError,
                     "device %R: %s lies on %U and the work is done there; leave device out",
                     request->device, name, place);
    Py_XDECREF(place);
    return false;
}

/* Where arrays are decides, unless the caller does; a rung without a device goes to the best that
 * runs rungs. */
static bool choose_device(const struct request *request, struct view *view, struct plan *plan)
{
    if (view->n == 0 && request->out && request->out->view.on_device)
        return stay_where(&request->out->view, "out", request, plan);
    if (view->on_device)
        return plan_locate(request->state, view, "a") && stay_where(view, "a", request, plan);
    if (request->out && request->out->view.on_device)
        return stay_where(&request->out->view, "out", request, plan);
    if (given(request->device))
        return parse_device(request->state, request->device, &plan->backend, &plan->device);
    plan->device = 0;
    plan->backend = &backend_host;
    if (!plan->method || plan->method->places == METHOD_ON_HOST)
        return true;
    bool gpu;
    if (!find_gpu(request->state, &gpu))
        return false;
    plan->backend =
        gpu || plan->method->places == METHOD_ON_CUDA ? &backend_cuda : &backend_simulated;
    return true;
}

static bool check_out(const struct output *out, struct plan *plan)
{
    if (!out || !out->view.on_device)
        return true;
    if (out->view.backend != plan->backend || out->view.device != plan->device) {
        PyErr_SetString(PyExc_ValueError, "out lies on another device than the array");
        return false;
    }
    plan->out = (void *)out->view.source.data;
    plan->out_element = out->view.source.input;
    plan->producers[2] = out->view.producer;
    return true;
}

static bool check_method_runs_there(const struct module_state *state, const struct method *method,
                                    const struct backend *backend)
{
    struct failure why = {0};
    if (method->places & backend->place) {
        if (devices_of(state, backend, &why) > 0)
            return true;
        PyErr_Format(PyExc_RuntimeError, "method '%s' runs on a GPU, and there is none to use (%s)",
                     method->name, why.text);
        return false;
    }
    PyErr_Format(PyExc_ValueError, "method '%s' does not run on '%s'; it runs on%s%s%s",
                 method->name, backend->name, method->places & METHOD_ON_HOST ? " 'host'" : "",
                 method->places & METHOD_ON_SIMULATED ? " 'simulated' and" : "",
                 method->places & METHOD_ON_CUDA ? " 'cuda'" : "");
    return false;
}

static bool choose_block(const struct request *request, struct plan *plan)
{
    plan->block = plan->method ? plan->method->block_size : 0;
    if (!given(request->block_size))
        return true;
    unsigned block;
    if (!parse_block_size(request->block_size, &block))
        return false;
    if (plan->block == 0) {
        PyErr_Format(PyExc_ValueError,
                     "block_size has no meaning for %s on '%s'; got %R. It is for the rungs on "
                     "'cuda' or 'simulated'",
                     plan->method ? plan->method->name : "method 'auto'", plan->backend->name,
                     request->block_size);
        return false;
    }
    plan->block = block;
    return true;
}

/* ---- types ---- */

static bool warn_of_lost_imaginary_part(void)
{
    PyObject *exceptions = PyImport_ImportModule("numpy.exceptions");
    PyObject *category = exceptions ? PyObject_GetAttrString(exceptions, "ComplexWarning") : NULL;
    const bool fine =
        category &&
        PyErr_WarnEx(category, "Casting complex values to real discards the imaginary part", 1) ==
            0;
    Py_XDECREF(category);
    Py_XDECREF(exceptions);
    return fine;
}

/* With an out, NumPy reduces in the type that the elements and out promote to; but means of
 * integers in float64, and those of float16 in float32. */
static bool choose_type_for_output(const struct request *request, struct source *source)
{
    if (request->mean && element_is_integer(source->input))
        source->type = ELEMENT_FLOAT64;
    else if (request->mean && source->input == ELEMENT_FLOAT16)
        source->type = ELEMENT_FLOAT32;
    else
        return array_promote(source->input, request->out->view.source.input, &source->type);
    return true;
}

/* Whether a complex number is true depends on both its parts. */
static bool loses_imaginary_part(enum element from, enum element to)
{
    return element_is_complex(from) && !element_is_complex(to) && to != ELEMENT_BOOL;
}

static bool choose_type(const struct request *request, struct source *source, struct plan *plan)
{
    if (given(request->dtype)) {
        if (!array_element(request->dtype, "dtype", &source->type))
            return false;
    } else if (request->out) {
        if (!choose_type_for_output(request, source))
            return false;
    } else {
        source->type = op_default_type(request->op, request->mean, source->input);
    }
    plan->accumulator = element_accumulator(source->type);
    const bool lost =
        loses_imaginary_part(source->input, source->type) ||
        (request->out && loses_imaginary_part(source->type, request->out->view.source.input));
    return !lost || warn_of_lost_imaginary_part();
}

/* Whether C's conversion from the elements to the accumulator is all that is asked. */
static bool converts_directly(const struct source *source, enum element accumulator)
{
    const enum element input = source->input, type = source->type;
    if (input == type)
        return true;
    if (type != accumulator || element_is_complex(input) || element_is_complex(type))
        return false;
    return element_is_integer(input) || !element_is_integer(type);
}

/* The sum of truth values is whether there is a true one, their product whether all are, as in
 * NumPy. */
static void reduce_truth(struct plan *plan)
{
    union scalar nothing = {0};
    if (plan->op == OP_SUM || plan->op == OP_PROD) {
        nothing.i32 = plan->op == OP_PROD;
        plan->op = plan->op == OP_SUM ? OP_MAX : OP_MIN;
        plan->finish.op = plan->op;
        if (!plan->finish.has_initial)
            plan->finish.initial = nothing;
        plan->finish.has_initial = true;
    }
}

static bool choose_initial(const struct request *request, const struct source *source,
                           struct plan *plan)
{
    const bool named = request->initial && request->initial != Py_None;
    const bool has_value = named || (op_has_value_of_nothing(plan->op) && !request->initial);
    plan->finish = (struct finish){.op = plan->op,
                                   .from_nothing = !request->initial,
                                   .mean = request->mean,
                                   .has_initial = named,
                                   .accumulator = plan->accumulator,
                                   .type = source->type,
                                   .count = plan->n};
    if (!has_value && !request->mean && plan->n == 0) {
        PyErr_Format(PyExc_ValueError, "%s of an empty array has no value; initial= gives it one",
                     op_name(plan->op));
        return false;
    }
    if (!has_value && !request->mean && source->mask) {
        PyErr_Format(PyExc_ValueError,
                     "%s has no value where the mask hides all; where= needs initial=, too",
                     op_name(plan->op));
        return false;
    }
    union scalar initial;
    if (!named)
        return true;
    if (!array_value(request->initial, source->type, &initial))
        return false;
    plan->finish.initial = scalar_convert(initial, source->type, plan->accumulator);
    return true;
}

/* ---- the plan ---- */

static bool check_complex(const struct plan *plan)
{
    if (!element_is_complex(plan->accumulator) || !plan->method ||
        plan->method == method_at(METHOD_last_block) || plan->method->places == METHOD_ON_HOST)
        return true;
    PyErr_Format(PyExc_TypeError,
                 "method '%s' does not take complex elements; 'auto', last_block and recursive do",
                 plan->method->name);
    return false;
}

static bool check_size(const struct plan *plan)
{
    const uint64_t grid_max = INT32_MAX;
    if (plan->block && plan->n / plan->block / plan->method->data_blocks >= grid_max) {
        PyErr_Format(PyExc_ValueError,
                     "%s of %llu elements in blocks of %u needs more blocks than a grid can have; "
                     "choose a larger block_size",
                     plan->method->name, (unsigned long long)plan->n, plan->block);
        return false;
    }
    return true;
}

static bool choose_method(const struct request *request, struct view *view, struct plan *plan)
{
    if (!parse_method(request->method, &plan->method) || !choose_device(request, view, plan))
        return false;
    if (plan->method && !check_method_runs_there(request->state, plan->method, plan->backend))
        return false;
    if (!plan->method && plan->backend != &backend_host)
        plan->method = method_at(METHOD_last_block);
    return choose_block(request, plan);
}

bool plan_make(const struct request *request, struct view *view, const struct mask *mask,
               struct plan *plan)
{
    struct source *source = &view->source;
    *plan = (struct plan){
        .op = request->op,
        .source = source,
        .n = view->n,
        .on_device = view->on_device,
        .mask_on_device = mask && mask->on_device,
        .consumer = request->consumer,
    };
    if (!choose_method(request, view, plan) || !check_out(request->out, plan) ||
        !choose_type(request, source, plan) || !choose_initial(request, source, plan) ||
        !check_complex(plan) || !check_size(plan))
        return false;
    source_normalise(source);
    plan->flat = source_is_flat(source);
    plan->direct = converts_directly(source, plan->accumulator);
    plan->producers[0] = view->producer;
    if (mask)
        plan->producers[1] = mask->producer;
    if (source->type == ELEMENT_BOOL)
        reduce_truth(plan);
    return true;
}
