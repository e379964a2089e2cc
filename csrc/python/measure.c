/* gred.kernel_time, gred.read_limit and gred.launch_limit, as plain tuples that gred/measure.py
 * gives names to. */
#include "plan/arguments.h"
#include "python/call.h"

/* These functions are called by gred/measure.py, whose frame is not the user's. */
enum { WRAPPER_FRAMES = 1 };

enum { SAMPLES_DEFAULT = 20, WARMUP_DEFAULT = 2, SAMPLES_LIMIT = 1000000, READ_DEFAULT = 1 << 28 };
enum { LAUNCHES_DEFAULT = 1000, LAUNCHES_WARMUP = 100 };

/* An integer argument from `least` to `most`; as it was where it was left out. */
static bool count_argument(PyObject *object, const char *name, long least, long most, long *value)
{
    return !object ||
           (integer_parse(object, name, "an integer", value) &&
            ((*value >= least && *value <= most) ||
             value_error("%s must be from %ld to %ld; got %R", name, least, most, object)));
}

static PyObject *seconds_tuple(const struct timing *timing, const double *seconds)
{
    PyObject *list = PyList_New(0);
    for (unsigned k = 0; list && k < timing->samples; k++)
        list_append(&list, PyFloat_FromDouble(seconds[k]));
    return list_to_tuple(list);
}

static void timing_free(struct timing *timing)
{
    PyMem_Free(timing->seconds);
    PyMem_Free(timing->first_pass);
}

/* How often, and whether with cold caches. False with an exception set. */
static bool timing_make(PyObject *const *slots, long samples, long warmup, struct timing *timing)
{
    const int cold = slots[COLD] ? PyObject_IsTrue(slots[COLD]) : 1;
    *timing = (struct timing){.cold = cold};
    if (cold < 0 || !count_argument(slots[SAMPLES], "samples", 1, SAMPLES_LIMIT, &samples) ||
        !count_argument(slots[WARMUP], "warmup", 0, SAMPLES_LIMIT, &warmup))
        return false;
    timing->samples = (unsigned)samples;
    timing->warmup = (unsigned)warmup;
    timing->seconds = PyMem_Calloc(timing->samples, sizeof *timing->seconds);
    timing->first_pass = PyMem_Calloc(timing->samples, sizeof *timing->first_pass);
    if (!timing->seconds || !timing->first_pass)
        PyErr_NoMemory();
    return timing->seconds && timing->first_pass;
}

static PyObject *kernel_time(struct call *call, struct timing *timing)
{
    const struct plan *plan = &call->plan;
    if (plan->n == 0)
        return value_error("a is empty: there is nothing to measure");
    call->run.timing = timing;
    timing->method = plan->method;
    if (!execute_plan(call->state, plan, &call->run))
        return NULL;
    const char *method = plan->exact ? "exact" : timing->method ? timing->method->name : "auto";
    return Py_BuildValue(
        "NNkIkNsNN", seconds_tuple(timing, timing->seconds),
        seconds_tuple(timing, timing->first_pass), plan->n * element_size(plan->layout->input),
        timing->passes, timing->grid, integer_or_none(timing->block), method,
        platform_name(plan->platform, plan->device), answer_to_python(plan, &call->run));
}

SLOTS_FUNCTION(kernel_time)
{
    RELEASED_BY(timing_free) struct timing timing = {.seconds = NULL};
    OPENED *call = call_open_op(state, slots);
    return call && timing_make(slots, SAMPLES_DEFAULT, WARMUP_DEFAULT, &timing)
               ? kernel_time(call, &timing)
               : NULL;
}

/* ---- limits ---- */

/* To read nothing is to launch an empty kernel. */
SLOTS_FUNCTION(read_limit)
{
    const struct platform *platform;
    RELEASED_BY(timing_free) struct timing timing = {.seconds = NULL};
    struct run run = {.timing = &timing, .frames = WRAPPER_FRAMES};
    int index;
    long nbytes = READ_DEFAULT;
    if (!timing_make(slots, SAMPLES_DEFAULT, WARMUP_DEFAULT, &timing) ||
        !count_argument(slots[NBYTES], "nbytes", 1024, LONG_MAX, &nbytes) ||
        !platforms_choose(&state->platforms, slots[DEVICE], &platform, &index) ||
        !execute_read(state, platform, index, (size_t)nbytes, &run))
        return NULL;
    return Py_BuildValue("NlNkN", seconds_tuple(&timing, timing.seconds), nbytes,
                         platform_name(platform, index), timing.grid,
                         integer_or_none(timing.block));
}

SLOTS_FUNCTION(launch_limit)
{
    const struct platform *platform;
    RELEASED_BY(timing_free) struct timing timing = {.seconds = NULL};
    struct run run = {.timing = &timing, .frames = WRAPPER_FRAMES};
    int index;
    if (!timing_make(slots, LAUNCHES_DEFAULT, LAUNCHES_WARMUP, &timing) ||
        !platforms_choose(&state->platforms, slots[DEVICE], &platform, &index))
        return NULL;
    if (platform->place == METHOD_ON_HOST)
        return value_error("device 'host' launches nothing; 'cuda' and 'simulated' do");
    timing.cold = false;
    if (!execute_read(state, platform, index, 0, &run))
        return NULL;
    return Py_BuildValue("NN", seconds_tuple(&timing, timing.seconds),
                         platform_name(platform, index));
}
