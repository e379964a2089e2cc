#include "python/execute.h"

#include "common/failure.h"
#include "run/result.h"

/* The thread that waits for a run, as its callbacks need it. */
struct waiting {
    PyThreadState *thread; /* NULL: it has kept the GIL */
    int frames;            /* of gred's own, which a warning passes over */
};

static void come_back(struct waiting *waiting)
{
    if (waiting->thread)
        PyEval_RestoreThread(waiting->thread);
}

static void leave_again(struct waiting *waiting)
{
    if (waiting->thread)
        waiting->thread = PyEval_SaveThread();
}

static bool interrupted(void *context)
{
    struct waiting *waiting = context;
    come_back(waiting);
    const bool raised = PyErr_CheckSignals() != 0;
    leave_again(waiting);
    return raised;
}

static bool warn(void *context, const char *text)
{
    struct waiting *waiting = context;
    come_back(waiting);
    const bool fine = PyErr_WarnEx(PyExc_RuntimeWarning, text, 1 + waiting->frames) == 0;
    leave_again(waiting);
    return fine;
}

/* The order of threads that is in force here, on this thread and in this context. */
static bool read_order(struct module_state *state, struct run *run)
{
    PyObject *value = NULL;
    if (PyContextVar_Get(state->thread_order, NULL, &value) < 0)
        return false;
    int order = ORDER_FORWARDS;
    unsigned long long seed = 0;
    const bool read = !value || PyArg_ParseTuple(value, "iK", &order, &seed);
    Py_XDECREF(value);
    run->order = (enum thread_order)order;
    run->seed = seed;
    return read;
}

/* How much workspace may be used on a device, here and in this context. */
static bool read_workspace_limit(struct module_state *state, struct run *run)
{
    PyObject *value = NULL;
    if (PyContextVar_Get(state->workspace_limit, NULL, &value) < 0)
        return false;
    run->workspace_limit = value ? PyLong_AsUnsignedLongLong(value) : 0;
    Py_XDECREF(value);
    return !PyErr_Occurred();
}

/* Whether it takes longer to let other threads use Python than to run the plan. */
static bool is_brief(const struct backend *backend, const struct plan *plan, const struct run *run)
{
    return plan && !run->timing && !run->explanation && backend->is_brief &&
           backend->is_brief(plan);
}

/* Runs the plan, or reads `bytes` where there is none, while other threads may use Python, unless
 * that is brief. */
static bool run_on_backend(struct module_state *state, const struct platform *platform,
                           const struct plan *plan, int index, size_t bytes, struct run *run)
{
    const struct backend *backend = backend_of(platform);
    void *backend_state = platforms_state(&state->platforms, platform);
    struct waiting waiting = {is_brief(backend, plan, run) ? NULL : PyEval_SaveThread(),
                              run->frames};
    const struct watch watch = {interrupted, warn, &waiting};
    run->watch = &watch;
    const bool ran = plan ? backend->run(backend_state, plan, run)
                          : backend->read(backend_state, index, bytes, run);
    come_back(&waiting);
    if (!ran)
        failure_raise(&run->failure, state->platforms.cuda_error);
    return ran;
}

/* What there is of no elements needs no device. */
static void finish_nothing(const struct plan *plan, struct run *run)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    state_identity(plan->fold, plan->accumulator, state);
    run_finish(run, plan, plan->accumulator, state, 0);
}

bool execute_plan(struct module_state *state, const struct plan *plan, struct run *run)
{
    if (plan->n == 0 && !plan->out && !plan->axes) {
        finish_nothing(plan, run);
        return true;
    }
    const struct backend *backend = backend_of(plan->platform);
    if ((backend->takes_order && !read_order(state, run)) ||
        (backend->takes_workspace && !read_workspace_limit(state, run)))
        return false;
    return run_on_backend(state, plan->platform, plan, plan->device, 0, run);
}

bool execute_read(struct module_state *state, const struct platform *platform, int index,
                  size_t bytes, struct run *run)
{
    return run_on_backend(state, platform, NULL, index, bytes, run);
}
