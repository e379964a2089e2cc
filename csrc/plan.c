#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plan.h"

#include "backend.h"

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

static bool parse_device(PyObject *device, const struct backend **backend, int *index)
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
    const int count = (*backend)->count(&why);
    if (count <= 0) {
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
static bool find_gpu(bool *there)
{
    struct failure why = {0};
    const int count = backend_cuda.count(&why);
    *there = count > 0;
    if (count < 0)
        PyErr_Format(PyExc_RuntimeError,
                     "the GPU cannot be used: %s; name device='host' or 'simulated' to go without",
                     why.text);
    return count >= 0;
}

bool plan_device(PyObject *device, const struct backend **backend, int *index)
{
    bool gpu;
    if (given(device))
        return parse_device(device, backend, index);
    if (!find_gpu(&gpu))
        return false;
    *backend = gpu ? &backend_cuda : &backend_simulated;
    *index = 0;
    return true;
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

/* ---- the plan ---- */

/* Where the array is decides, unless the caller does; a rung without a device goes to the best that
 * runs rungs. */
static bool choose_device(const struct request *request, struct view *view,
                          const struct method *method, struct plan *plan)
{
    if (view->on_gpu) {
        struct failure failure = {0};
        if (!backend_cuda.locate(view, &view->gpu, &failure)) {
            failure_raise(&failure);
            return false;
        }
        plan->backend = &backend_cuda;
        plan->device = view->gpu;
        if (!given(request->device))
            return true;
        if (!parse_device(request->device, &plan->backend, &plan->device))
            return false;
        if (plan->backend == &backend_cuda && (plan->device == view->gpu || view->n == 0))
            return true;
        PyErr_Format(PyExc_ValueError,
                     "device %R: the array lies on cuda:%d and is reduced there; leave device out",
                     request->device, view->gpu);
        return false;
    }
    if (given(request->device))
        return parse_device(request->device, &plan->backend, &plan->device);
    plan->device = 0;
    plan->backend = &backend_host;
    if (!method || method->places == METHOD_ON_HOST)
        return true;
    bool gpu;
    if (!find_gpu(&gpu))
        return false;
    plan->backend = gpu || method->places == METHOD_ON_CUDA ? &backend_cuda : &backend_simulated;
    return true;
}

static bool check_method_runs_there(const struct method *method, const struct backend *backend)
{
    struct failure why = {0};
    if (method->places & backend->place) {
        if (backend->count(&why) > 0)
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

static bool choose_accumulator(const struct request *request, struct plan *plan)
{
    if (!given(request->dtype)) {
        plan->accumulator = op_accumulator(request->op, request->mean, plan->input);
        return true;
    }
    return array_element(request->dtype, "dtype", &plan->accumulator);
}

static bool check_size(const struct request *request, const struct plan *plan)
{
    const uint64_t grid_max = INT32_MAX;
    if (plan->n == 0 && !request->mean && !op_has_value_of_nothing(plan->op)) {
        PyErr_Format(PyExc_ValueError, "%s of an empty array has no value", op_name(plan->op));
        return false;
    }
    if (plan->block && plan->n / plan->block / plan->method->data_blocks >= grid_max) {
        PyErr_Format(PyExc_ValueError,
                     "%s of %llu elements in blocks of %u needs more blocks than a grid can have; "
                     "choose a larger block_size",
                     plan->method->name, (unsigned long long)plan->n, plan->block);
        return false;
    }
    return true;
}

bool plan_make(const struct request *request, struct view *view, struct plan *plan)
{
    *plan = (struct plan){
        .op = request->op,
        .input = view->element,
        .data = view->data,
        .n = view->n,
        .data_on_device = view->on_gpu,
        .has_stream = view->has_stream,
        .stream = view->stream,
    };
    if (!parse_method(request->method, &plan->method) ||
        !choose_device(request, view, plan->method, plan))
        return false;
    if (plan->method && !check_method_runs_there(plan->method, plan->backend))
        return false;
    if (!plan->method && plan->backend != &backend_host)
        plan->method = method_at(METHOD_last_block);
    return choose_block(request, plan) && choose_accumulator(request, plan) &&
           check_size(request, plan);
}
