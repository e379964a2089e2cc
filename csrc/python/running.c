/* Runs plans: one, while other Python threads may run, or those of several devices concurrently. */
#include "python/call.h"

#include "run/result.h"

#include <stdlib.h>

/* The thread that waits for a run, for the run's callbacks. */
struct gil_state {
    PyThreadState *thread; /* NULL: it holds the GIL */
    int frames;            /* gred's own Python frames, which warnings skip */
};

static void reacquire_gil(struct gil_state *gil)
{
    if (gil->thread)
        PyEval_RestoreThread(gil->thread);
}

/* Releases the GIL again and returns a callback's answer. */
static bool release_gil(struct gil_state *gil, bool answer)
{
    if (gil->thread)
        gil->thread = PyEval_SaveThread();
    return answer;
}

/* True also after an earlier interrupt, so that it stops all of several runs. */
static bool interrupted(void *context)
{
    reacquire_gil(context);
    return release_gil(context, PyErr_Occurred() || PyErr_CheckSignals() != 0);
}

static bool warn(void *context, const char *text)
{
    struct gil_state *gil = context;
    reacquire_gil(gil);
    return release_gil(gil, PyErr_WarnEx(PyExc_RuntimeWarning, text, 1 + gil->frames) == 0);
}

/* Reads the context's thread order and workspace limit, if used. False with an exception set. */
static bool read_context(const struct module_state *state, const struct backend *backend,
                         struct run *run)
{
    if (!backend->uses_order && !backend->uses_workspace)
        return true;
    OWNED *order = NULL, *limit = NULL;
    int kind = ORDER_FORWARDS;
    unsigned long long seed = 0;
    if ((backend->uses_order && (PyContextVar_Get(state->thread_order, NULL, &order) < 0 ||
                                 (order && !PyArg_ParseTuple(order, "iK", &kind, &seed)))) ||
        (backend->uses_workspace && PyContextVar_Get(state->workspace_limit, NULL, &limit) < 0))
        return false;
    run->order = (enum thread_order)kind;
    run->seed = seed;
    run->workspace_limit = limit ? PyLong_AsUnsignedLongLong(limit) : 0;
    return !limit || !PyErr_Occurred();
}

bool execute_on(struct module_state *state, const struct platform *platform,
                const struct plan *plan, struct run *run)
{
    const struct backend *backend = backend_of(platform);
    const bool is_brief =
        plan && !run->timing && !run->explanation && backend->is_brief && backend->is_brief(plan);
    struct gil_state gil = {is_brief ? NULL : PyEval_SaveThread(), run->frames};
    const struct watch watch = {interrupted, warn, &gil};
    run->watch = &watch;
    const bool ran = backend->run(platforms_state(&state->platforms, platform), plan, run);
    reacquire_gil(&gil);
    return ran || failure_raise(&run->failure);
}

bool run_empty(const struct plan *plan, struct run *run)
{
    if (plan->axes && plan->axes->results == 0)
        return true;
    if (plan->n > 0 || plan_device_result(plan) || plan->axes)
        return false;
    _Alignas(STATE_ALIGNMENT) char identity[STATE_BYTES_MAX];
    state_identity(plan->fold, plan->accumulator, identity);
    run_finish(run, plan, plan->accumulator, identity, 0);
    return true;
}

/* A user's kernel may replace a rung. */
bool execute_plan(struct module_state *state, const struct plan *plan, struct run *run)
{
    const struct substitute *substitute = &state->substitute;
    struct plan replaced;
    if (run_empty(plan, run))
        return true;
    if (plan->method && plan->method == substitute->method &&
        plan->platform == substitute->platform) {
        replaced = *plan;
        replaced.launch.data_blocks = substitute->data_blocks;
        plan = &replaced;
        run->substitute = substitute;
    }
    return read_context(state, backend_of(plan->platform), run) &&
           execute_on(state, plan->platform, plan, run);
}

/* ---- on several devices: each run begins while the one before it waits ---- */

struct device_call {
    struct call *call;
    void *backend_state;
    struct device_call *next; /* NULL: the last */
    bool ran;
};

static void run_device_call(void *context)
{
    struct device_call *self = context;
    struct run *run = &self->call->run;
    const struct plan *plan = &self->call->plan;
    if (self->next)
        run->meanwhile = (struct meanwhile){run_device_call, self->next};
    self->ran =
        run_empty(plan, run) || backend_of(plan->platform)->run(self->backend_state, plan, run);
    run_meanwhile(run);
}

/* The host's runs are last: this thread does them while devices work. */
static struct device_call *link_calls(struct device_call *calls, Py_ssize_t count)
{
    struct device_call *first = NULL, **last = &first;
    for (int on_host = 0; on_host <= 1; on_host++)
        for (Py_ssize_t k = 0; k < count; k++)
            if ((calls[k].call->plan.platform->place == METHOD_ON_HOST) == on_host) {
                *last = &calls[k];
                last = &calls[k].next;
            }
    return first;
}

/* Raises the first failure. */
static bool run_calls(struct module_state *state, struct device_call *calls, Py_ssize_t count)
{
    struct gil_state gil = {NULL, 1};
    const struct watch watch = {interrupted, warn, &gil};
    for (Py_ssize_t k = 0; k < count; k++) {
        struct run *run = &calls[k].call->run;
        const struct platform *platform = calls[k].call->plan.platform;
        if (!read_context(state, backend_of(platform), run))
            return false;
        run->watch = &watch;
        calls[k].backend_state = platforms_state(&state->platforms, platform);
    }
    gil.thread = PyEval_SaveThread();
    run_device_call(link_calls(calls, count));
    reacquire_gil(&gil);
    for (Py_ssize_t k = 0; k < count && !PyErr_Occurred(); k++)
        if (!calls[k].ran)
            failure_raise(&calls[k].call->run.failure);
    return !PyErr_Occurred();
}

/* Opens the call of a single array, or of a list on one device. */
static bool open_device_call(struct module_state *state, enum reduction reduction, PyObject *arrays,
                             PyObject *dtype, struct device_call *self)
{
    const bool single = PyTuple_GET_SIZE(arrays) == 1;
    PyObject *slots[ARGUMENTS_END] = {[A] = PyTuple_GET_ITEM(arrays, 0), [DTYPE] = dtype};
    self->call = (single ? call_open : call_begin)(state, reduction, 1, slots);
    return self->call &&
           (single || call_open_list(self->call, arrays, false, slots) || PyErr_Occurred() ||
            value_error("the arrays of a group are on different devices")) &&
           !PyErr_Occurred();
}

/* A tuple of the answers, or NULL with an exception set. */
static PyObject *answers_to_python(const struct device_call *calls, Py_ssize_t count)
{
    PyObject *results = PyList_New(0);
    for (Py_ssize_t k = 0; results && k < count; k++) {
        const struct call *call = calls[k].call;
        list_append(&results, answer_check(call->request.reduction, &call->plan, &call->run)
                                  ? answer_to_python(&call->plan, &call->run)
                                  : NULL);
    }
    return list_to_tuple(results);
}

PyObject *core_by_place(PyObject *module, PyObject *arguments)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *op, *groups, *dtype;
    enum reduction reduction;
    if (!PyArg_ParseTuple(arguments, "OO!O:by_place", &op, &PyTuple_Type, &groups, &dtype) ||
        !reduction_parse(op, &reduction))
        return NULL;
    const Py_ssize_t count = PyTuple_GET_SIZE(groups);
    struct device_call *calls = PyMem_Calloc((size_t)count, sizeof *calls);
    if (!calls)
        return PyErr_NoMemory();
    Py_ssize_t opened = 0;
    while (opened < count && open_device_call(state, reduction, PyTuple_GET_ITEM(groups, opened),
                                              dtype, &calls[opened]))
        opened++;
    PyObject *results = opened == count && (!count || run_calls(state, calls, count))
                            ? answers_to_python(calls, count)
                            : NULL;
    for (Py_ssize_t k = 0; k < count; k++)
        call_close(&calls[k].call);
    PyMem_Free(calls);
    return results;
}
