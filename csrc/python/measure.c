/* gred.kernel_time, gred.read_limit and gred.launch_limit, as plain tuples for gred/measure.py,
 * which has checked the number of samples and provides their memory. */
#include "python/call.h"

/* Uses two rows of a Python buffer: whole runs and first passes. False with an exception set. */
static bool timing_make(PyObject *const *slots, Py_buffer *rows, struct timing *timing)
{
    if (PyObject_GetBuffer(slots[SECONDS], rows, PyBUF_WRITABLE) < 0)
        return false;
    const size_t samples = (size_t)rows->len / sizeof(double) / 2;
    *timing = (struct timing){.samples = (unsigned)samples,
                              .warmup = (unsigned)PyLong_AsUnsignedLong(slots[WARMUP]),
                              .cold = slots[COLD] == Py_True,
                              .seconds = rows->buf,
                              .first_pass = (double *)rows->buf + samples};
    return !PyErr_Occurred();
}

SLOTS_FUNCTION(kernel_time)
{
    CLEANUP(PyBuffer_Release) Py_buffer rows = {0};
    struct timing timing;
    SCOPED_CALL *call = call_open_op(state, slots);
    if (!call || !timing_make(slots, &rows, &timing))
        return NULL;
    const struct plan *plan = &call->plan;
    if (plan->n == 0)
        return value_error("a is empty: there is nothing to measure");
    call->run.timing = &timing;
    timing.method = plan->method;
    if (!execute_plan(state, plan, &call->run))
        return NULL;
    const char *method = plan->exact ? "exact" : timing.method ? timing.method->name : "auto";
    return Py_BuildValue("kIkNsNN", plan->n * element_size(plan->layout->input), timing.passes,
                         timing.grid, integer_or_none(timing.block), method,
                         platform_name(plan->platform, plan->device),
                         answer_to_python(plan, &call->run));
}

/* Times reading the given number of bytes or, for 0, launching an empty kernel. */
SLOTS_FUNCTION(device_time)
{
    CLEANUP(PyBuffer_Release) Py_buffer rows = {0};
    struct timing timing;
    struct run run = {.timing = &timing, .frames = 1};
    const struct platform *platform;
    const size_t bytes = PyLong_AsSize_t(slots[NBYTES]);
    if (PyErr_Occurred() || !timing_make(slots, &rows, &timing) ||
        !platforms_choose(&state->platforms, slots[DEVICE], METHOD_ON_SIMULATED | METHOD_ON_CUDA,
                          &platform, &timing.device))
        return NULL;
    timing.bytes = bytes;
    if (!bytes && platform->place == METHOD_ON_HOST)
        return value_error("device 'host' launches nothing; 'cuda' and 'simulated' do");
    if (!execute_on(state, platform, NULL, &run))
        return NULL;
    return Py_BuildValue("NkN", platform_name(platform, timing.device), timing.grid,
                         integer_or_none(timing.block));
}
