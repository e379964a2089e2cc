/* gred.kernel_time, gred.read_limit and gred.launch_limit, as plain tuples that gred/measure.py
 * gives names to. */
#include "python/call.h"

/* These functions are called by gred/measure.py, whose frame is not the user's. */
enum { WRAPPER_FRAMES = 1 };

enum { SAMPLES_DEFAULT = 20, WARMUP_DEFAULT = 2, SAMPLES_LIMIT = 1000000, READ_DEFAULT = 1 << 28 };
enum { LAUNCHES_DEFAULT = 1000, LAUNCHES_WARMUP = 100 };

/* An integer argument from `least` to `most`; as it was where it was left out. */
static bool count_argument(PyObject *object, const char *name, long least, long most, long *value)
{
    if (!object)
        return true;
    if (!PyIndex_Check(object) || PyBool_Check(object))
        return type_error("%s must be an integer; got %R", name, object);
    OWNED *index = PyNumber_Index(object);
    if (!index)
        return false;
    int overflow;
    *value = PyLong_AsLongAndOverflow(index, &overflow);
    return (!overflow && *value >= least && *value <= most) ||
           value_error("%s must be from %ld to %ld; got %R", name, least, most, object);
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

/* How often, and whether with cold caches; to be freed in either case. False with an exception set.
 */
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

/* ---- reductions ---- */

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

CORE_FUNCTION(kernel_time)
{
    PyObject *slots[ARGUMENTS_END], *result = NULL;
    struct timing timing;
    struct call *call = call_parse(module, SIGNATURE_kernel_time, arguments, count, names, slots);
    if (!call)
        return NULL;
    if (timing_make(slots, SAMPLES_DEFAULT, WARMUP_DEFAULT, &timing))
        result = kernel_time(call, &timing);
    timing_free(&timing);
    call_close(call);
    return result;
}

/* ---- limits ---- */

/* To read nothing is to launch an empty kernel. */
static PyObject *limit(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                       PyObject *names, bool reads)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *slots[ARGUMENTS_END], *result = NULL;
    const struct platform *platform;
    struct timing timing;
    struct run run = {.timing = &timing, .frames = WRAPPER_FRAMES};
    int index;
    long nbytes = reads ? READ_DEFAULT : 0;
    if (!arguments_parse(reads ? SIGNATURE_read_limit : SIGNATURE_launch_limit, arguments, count,
                         names, slots))
        return NULL;
    const bool fine = timing_make(slots, reads ? SAMPLES_DEFAULT : LAUNCHES_DEFAULT,
                                  reads ? WARMUP_DEFAULT : LAUNCHES_WARMUP, &timing) &&
                      count_argument(slots[NBYTES], "nbytes", 1024, LONG_MAX, &nbytes) &&
                      platforms_choose(&state->platforms, slots[DEVICE], &platform, &index);
    timing.cold = timing.cold && reads;
    if (fine && !reads && platform->place == METHOD_ON_HOST)
        value_error("device 'host' launches nothing; 'cuda' and 'simulated' do");
    else if (fine && execute_read(state, platform, index, (size_t)nbytes, &run))
        result = reads ? Py_BuildValue("NlNkN", seconds_tuple(&timing, timing.seconds), nbytes,
                                       platform_name(platform, index), timing.grid,
                                       integer_or_none(timing.block))
                       : Py_BuildValue("NN", seconds_tuple(&timing, timing.seconds),
                                       platform_name(platform, index));
    timing_free(&timing);
    return result;
}

CORE_FUNCTION(read_limit)
{
    return limit(module, arguments, count, names, true);
}

CORE_FUNCTION(launch_limit)
{
    return limit(module, arguments, count, names, false);
}
