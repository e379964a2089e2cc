#include "python/measure.h"

#include "python/answer.h"
#include "python/arguments.h"
#include "python/execute.h"
#include "python/reduction_argument.h"

/* These functions are called by gred/measure.py, whose frame is not the user's. */
enum { WRAPPER_FRAMES = 1 };

enum { SAMPLES_DEFAULT = 20, WARMUP_DEFAULT = 2, SAMPLES_LIMIT = 1000000, READ_DEFAULT = 1 << 28 };
enum { LAUNCHES_DEFAULT = 1000, LAUNCHES_WARMUP = 100 };

/* An integer argument from `least` to `most`; the default where it was left out. */
static bool count_argument(PyObject *object, const char *name, long least, long most, long missing,
                           long *value)
{
    *value = missing;
    if (!object)
        return true;
    if (!PyIndex_Check(object) || PyBool_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s must be an integer; got %R", name, object);
        return false;
    }
    PyObject *index = PyNumber_Index(object);
    if (!index)
        return false;
    int overflow;
    *value = PyLong_AsLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow || *value < least || *value > most) {
        PyErr_Format(PyExc_ValueError, "%s must be from %ld to %ld; got %R", name, least, most,
                     object);
        return false;
    }
    return true;
}

static PyObject *floats(const double *values, unsigned count)
{
    PyObject *list = PyList_New(count);
    for (unsigned k = 0; list && k < count; k++) {
        PyObject *value = PyFloat_FromDouble(values[k]);
        if (!value)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, k, value);
    }
    return list;
}

static PyObject *block_or_none(unsigned block)
{
    return block ? PyLong_FromUnsignedLong(block) : Py_NewRef(Py_None);
}

static bool timing_alloc(struct timing *timing)
{
    timing->seconds = PyMem_Calloc(timing->samples, sizeof *timing->seconds);
    timing->first_pass = PyMem_Calloc(timing->samples, sizeof *timing->first_pass);
    if (timing->seconds && timing->first_pass)
        return true;
    PyErr_NoMemory();
    return false;
}

static void timing_free(struct timing *timing)
{
    PyMem_Free(timing->seconds);
    PyMem_Free(timing->first_pass);
}

static PyObject *timed(struct module_state *state, const struct plan *plan, struct timing *timing)
{
    struct run run = {.timing = timing, .frames = WRAPPER_FRAMES};
    timing->method = plan->method;
    if (!timing_alloc(timing) || !execute_plan(state, plan, &run))
        return NULL;
    return Py_BuildValue("NNKIKNsNN", floats(timing->seconds, timing->samples),
                         floats(timing->first_pass, timing->samples),
                         (unsigned long long)(plan->n * element_size(plan->layout->input)),
                         timing->passes, (unsigned long long)timing->grid,
                         block_or_none(timing->block),
                         plan->exact      ? "exact"
                         : timing->method ? timing->method->name
                                          : "auto",
                         platform_name(plan->platform, plan->device), answer_to_python(plan, &run));
}

PyObject *measure_kernel_time(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                              PyObject *names)
{
    enum { A, OP, METHOD, BLOCK_SIZE, DTYPE, DEVICE, SAMPLES, WARMUP, COLD };
    static const char *const keywords[] = {"method",  "block_size", "dtype", "device",
                                           "samples", "warmup",     "cold",  NULL};
    static const struct signature signature = {"kernel_time", 1, 2, 2, keywords, NULL};
    PyObject *slots[ARGUMENTS_MAX];
    struct view view = {0};
    struct plan plan;
    long samples, warmup;
    if (!arguments_parse(&signature, arguments, count, names, slots))
        return NULL;
    struct module_state *state = PyModule_GetState(module);
    struct request request = {.platforms = &state->platforms,
                              .method = slots[METHOD],
                              .block_size = slots[BLOCK_SIZE],
                              .dtype = slots[DTYPE],
                              .device = slots[DEVICE],
                              .frames = WRAPPER_FRAMES};
    const int cold = slots[COLD] ? PyObject_IsTrue(slots[COLD]) : 1;
    if (cold < 0 || !reduction_parse(slots[OP], &request.reduction) ||
        !count_argument(slots[SAMPLES], "samples", 1, SAMPLES_LIMIT, SAMPLES_DEFAULT, &samples) ||
        !count_argument(slots[WARMUP], "warmup", 0, SAMPLES_LIMIT, WARMUP_DEFAULT, &warmup) ||
        !array_view(slots[A], &(struct view_request){.name = "a", .where = &state->platforms.where},
                    &view))
        return NULL;
    struct timing timing = {.samples = (unsigned)samples, .warmup = (unsigned)warmup, .cold = cold};
    PyObject *result = NULL;
    if (plan_make(&request, &view, NULL, &plan)) {
        if (plan.n)
            result = timed(state, &plan, &timing);
        else
            PyErr_SetString(PyExc_ValueError, "a is empty: there is nothing to measure");
    }
    timing_free(&timing);
    array_release(&view);
    return result;
}

PyObject *measure_read_limit(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names)
{
    enum { DEVICE, NBYTES, SAMPLES, COLD };
    static const char *const keywords[] = {"samples", "cold", NULL};
    static const struct signature signature = {"read_limit", 0, 2, 2, keywords, NULL};
    PyObject *slots[ARGUMENTS_MAX];
    struct module_state *state = PyModule_GetState(module);
    const struct platform *platform;
    int index;
    long samples, nbytes;
    if (!arguments_parse(&signature, arguments, count, names, slots))
        return NULL;
    const int cold = slots[COLD] ? PyObject_IsTrue(slots[COLD]) : 1;
    if (cold < 0 ||
        !count_argument(slots[SAMPLES], "samples", 1, SAMPLES_LIMIT, SAMPLES_DEFAULT, &samples) ||
        !count_argument(slots[NBYTES], "nbytes", 1024, LONG_MAX, READ_DEFAULT, &nbytes) ||
        !platforms_choose(&state->platforms, slots[DEVICE], &platform, &index))
        return NULL;
    struct timing timing = {.samples = (unsigned)samples, .warmup = WARMUP_DEFAULT, .cold = cold};
    struct run run = {.timing = &timing, .frames = WRAPPER_FRAMES};
    PyObject *result = NULL;
    if (timing_alloc(&timing) && execute_read(state, platform, index, (size_t)nbytes, &run))
        result = Py_BuildValue("NlNKN", floats(timing.seconds, timing.samples), nbytes,
                               platform_name(platform, index), (unsigned long long)timing.grid,
                               block_or_none(timing.block));
    timing_free(&timing);
    return result;
}

PyObject *measure_launch_limit(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                               PyObject *names)
{
    enum { DEVICE, SAMPLES };
    static const char *const keywords[] = {"samples", NULL};
    static const struct signature signature = {"launch_limit", 0, 1, 1, keywords, NULL};
    PyObject *slots[ARGUMENTS_MAX];
    struct module_state *state = PyModule_GetState(module);
    const struct platform *platform;
    int index;
    long samples;
    if (!arguments_parse(&signature, arguments, count, names, slots) ||
        !count_argument(slots[SAMPLES], "samples", 1, SAMPLES_LIMIT, LAUNCHES_DEFAULT, &samples) ||
        !platforms_choose(&state->platforms, slots[DEVICE], &platform, &index))
        return NULL;
    if (platform->place == METHOD_ON_HOST) {
        PyErr_SetString(PyExc_ValueError,
                        "device 'host' launches nothing; 'cuda' and 'simulated' do");
        return NULL;
    }
    struct timing timing = {.samples = (unsigned)samples, .warmup = LAUNCHES_WARMUP};
    struct run run = {.timing = &timing, .frames = WRAPPER_FRAMES};
    PyObject *result = NULL;
    if (timing_alloc(&timing) && execute_read(state, platform, index, 0, &run))
        result = Py_BuildValue("NN", floats(timing.seconds, timing.samples),
                               platform_name(platform, index));
    timing_free(&timing);
    return result;
}
