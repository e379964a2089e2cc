/* gred.kernel_time, gred.read_limit and gred.launch_limit, as plain tuples that gred/measure.py
 * gives names to. */
#include "python/call.h"
#include "python/execute.h"
#include "python/functions.h"
#include "python/tuples.h"

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
    if (!PyIndex_Check(object) || PyBool_Check(object))
        return PyErr_Format(PyExc_TypeError, "%s must be an integer; got %R", name, object);
    PyObject *index = PyNumber_Index(object);
    if (!index)
        return false;
    int overflow;
    *value = PyLong_AsLongAndOverflow(index, &overflow);
    Py_DECREF(index);
    if (overflow || *value < least || *value > most)
        return PyErr_Format(PyExc_ValueError, "%s must be from %ld to %ld; got %R", name, least,
                            most, object);
    return true;
}

static PyObject *float_at(const void *values, size_t k)
{
    return PyFloat_FromDouble(((const double *)values)[k]);
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

/* What there is to say of a run that was timed. */
static PyObject *kernel_time(struct call *call, struct timing *timing)
{
    const struct plan *plan = &call->plan;
    if (plan->n == 0)
        return PyErr_Format(PyExc_ValueError, "a is empty: there is nothing to measure");
    call->run.timing = timing;
    timing->method = plan->method;
    if (!timing_alloc(timing) || !execute_plan(call->state, plan, &call->run))
        return NULL;
    const char *method = plan->exact ? "exact" : timing->method ? timing->method->name : "auto";
    return Py_BuildValue(
        "NNKIKNsNN", tuple_of(timing->samples, float_at, timing->seconds),
        tuple_of(timing->samples, float_at, timing->first_pass),
        (unsigned long long)(plan->n * element_size(plan->layout->input)), timing->passes,
        (unsigned long long)timing->grid, block_or_none(timing->block), method,
        platform_name(plan->platform, plan->device), answer_to_python(plan, &call->run));
}

/* How often, and whether with cold caches. False with an exception set. */
static bool timing_parse(PyObject *const *slots, long samples, long warmup, struct timing *timing)
{
    const int cold = slots[COLD] ? PyObject_IsTrue(slots[COLD]) : 1;
    if (cold < 0 ||
        !count_argument(slots[SAMPLES], "samples", 1, SAMPLES_LIMIT, samples, &samples) ||
        !count_argument(slots[WARMUP], "warmup", 0, SAMPLES_LIMIT, warmup, &warmup))
        return false;
    *timing =
        (struct timing){.samples = (unsigned)samples, .warmup = (unsigned)warmup, .cold = cold};
    return true;
}

PyObject *measure_kernel_time(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                              PyObject *names)
{
    static const struct signature signature = {
        "kernel_time", 1, 2, 2, {A, OP, METHOD, BLOCK_SIZE, DTYPE, DEVICE, SAMPLES, WARMUP, COLD}};
    PyObject *slots[ARGUMENTS_END];
    enum reduction reduction;
    struct timing timing;
    if (!arguments_parse(&signature, arguments, count, names, slots) ||
        !reduction_parse(slots[OP], &reduction) ||
        !timing_parse(slots, SAMPLES_DEFAULT, WARMUP_DEFAULT, &timing))
        return NULL;
    struct call *call = call_open(PyModule_GetState(module), reduction, WRAPPER_FRAMES, slots);
    PyObject *result = NULL;
    if (call) {
        result = kernel_time(call, &timing);
        call_close(call);
    }
    timing_free(&timing);
    return result;
}

/* Reads so many bytes, or, of none, launches an empty kernel. */
static bool read_timed(struct module_state *state, const struct platform *platform, int index,
                       long nbytes, struct timing *timing)
{
    struct run run = {.timing = timing, .frames = WRAPPER_FRAMES};
    return timing_alloc(timing) && execute_read(state, platform, index, (size_t)nbytes, &run);
}

PyObject *measure_read_limit(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names)
{
    static const struct signature signature = {
        "read_limit", 0, 2, 2, {DEVICE, NBYTES, SAMPLES, COLD}};
    PyObject *slots[ARGUMENTS_END];
    struct module_state *state = PyModule_GetState(module);
    const struct platform *platform;
    struct timing timing;
    int index;
    long nbytes;
    if (!arguments_parse(&signature, arguments, count, names, slots) ||
        !timing_parse(slots, SAMPLES_DEFAULT, WARMUP_DEFAULT, &timing) ||
        !count_argument(slots[NBYTES], "nbytes", 1024, LONG_MAX, READ_DEFAULT, &nbytes) ||
        !platforms_choose(&state->platforms, slots[DEVICE], &platform, &index))
        return NULL;
    PyObject *result = NULL;
    if (read_timed(state, platform, index, nbytes, &timing))
        result = Py_BuildValue("NlNKN", tuple_of(timing.samples, float_at, timing.seconds), nbytes,
                               platform_name(platform, index), (unsigned long long)timing.grid,
                               block_or_none(timing.block));
    timing_free(&timing);
    return result;
}

PyObject *measure_launch_limit(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                               PyObject *names)
{
    static const struct signature signature = {"launch_limit", 0, 1, 1, {DEVICE, SAMPLES}};
    PyObject *slots[ARGUMENTS_END];
    struct module_state *state = PyModule_GetState(module);
    const struct platform *platform;
    struct timing timing;
    int index;
    if (!arguments_parse(&signature, arguments, count, names, slots) ||
        !timing_parse(slots, LAUNCHES_DEFAULT, LAUNCHES_WARMUP, &timing) ||
        !platforms_choose(&state->platforms, slots[DEVICE], &platform, &index))
        return NULL;
    if (platform->place == METHOD_ON_HOST)
        return PyErr_Format(PyExc_ValueError,
                            "device 'host' launches nothing; 'cuda' and 'simulated' do");
    timing.cold = false;
    PyObject *result = NULL;
    if (read_timed(state, platform, index, 0, &timing))
        result = Py_BuildValue("NN", tuple_of(timing.samples, float_at, timing.seconds),
                               platform_name(platform, index));
    timing_free(&timing);
    return result;
}
