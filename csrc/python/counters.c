#include "python/counters.h"

#include "common/kernels.h"
#include "python/answer.h"
#include "python/arguments.h"
#include "python/counted_launches.h"
#include "python/execute.h"
#include "python/fault.h"
#include "python/reduction_argument.h"
#include "run/counting.h"

/* It is called by gred/counting.py, gred/recording.py and gred/lab/worker.py, whose frames are not
 * the user's. */
enum { WRAPPER_FRAMES = 1 };

/* Whether there are kernels that count, and take the array as it is. False with an exception set.
 */
static bool can_count(const struct plan *plan)
{
    const enum element input = plan->layout->input;
    struct kernel_key key = {KERNEL_FLAT,       plan->fold,        input,
                             plan->accumulator, METHOD_last_block, plan->block};
    if (plan->n == 0) {
        PyErr_SetString(PyExc_ValueError, "a is empty: there is nothing to count");
        return false;
    }
    if (plan->fold != FOLD_sum) {
        PyErr_SetString(PyExc_ValueError, "counters are there of sums and means alone");
        return false;
    }
    if (!counting_flat(key)) {
        PyErr_Format(PyExc_ValueError,
                     "counters are there of int32, int64, uint64, float32 and float64, summed in "
                     "their own type, and of int32 in int64; got %s in %s",
                     element_name(input), element_name(plan->accumulator));
        return false;
    }
    key.method = method_index_of(plan->method);
    if (plan->exact || !counting_flat(key)) {
        PyErr_Format(PyExc_ValueError, "method '%s' has no counters; rungs 0 to 24 have",
                     plan->exact ? "exact" : plan->method->name);
        return false;
    }
    if (plan->direct && (plan->flat || !plan->on_device))
        return true;
    PyErr_SetString(PyExc_ValueError,
                    "counters are there of elements that lie one after the other");
    return false;
}

/* One by one only what somebody can still look at. False with an exception set. */
static bool can_record(const struct plan *plan, const struct counting *counting)
{
    enum { ELEMENTS_MAX = 1 << 14 };
    if (counting->room == 0 || plan->n <= ELEMENTS_MAX)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "a has %llu elements: too many to record accesses one by one, which is done of at "
                 "most %d; gred.counters counts those of any array",
                 (unsigned long long)plan->n, ELEMENTS_MAX);
    return false;
}

static PyObject *counted(struct module_state *state, const struct plan *plan,
                         struct counting *counting)
{
    struct run run = {.counting = counting, .frames = WRAPPER_FRAMES};
    if (!execute_plan(state, plan, &run))
        return counting->fault ? fault_instead(counting->fault) : NULL;
    return Py_BuildValue("sIsKsNN", plan->method->name, plan->block,
                         element_name(plan->layout->input), (unsigned long long)plan->n,
                         element_name(plan->accumulator), answer_to_python(plan, &run),
                         counted_launches_to_python(counting));
}

PyObject *counters_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names)
{
    enum { A, OP, METHOD, BLOCK_SIZE, DTYPE, DEVICE, MULTIPROCESSORS, ROOM, CHECKED };
    static const char *const keywords[] = {"method",          "block_size", "dtype",   "device",
                                           "multiprocessors", "room",       "checked", NULL};
    static const struct signature signature = {"counters", 1, 2, 2, keywords, NULL};
    PyObject *slots[ARGUMENTS_MAX];
    struct view view = {0};
    struct plan plan;
    if (!arguments_parse(&signature, arguments, count, names, slots))
        return NULL;
    struct module_state *state = PyModule_GetState(module);
    struct request request = {.platforms = &state->platforms,
                              .method = slots[METHOD],
                              .block_size = slots[BLOCK_SIZE],
                              .dtype = slots[DTYPE],
                              .device = slots[DEVICE],
                              .frames = WRAPPER_FRAMES};
    struct counting counting = {.multiprocessors =
                                    (unsigned)PyLong_AsUnsignedLong(slots[MULTIPROCESSORS]),
                                .room = PyLong_AsSize_t(slots[ROOM])};
    struct fault fault = {.kind = FAULT_NONE};
    if (slots[CHECKED] == Py_True)
        counting.fault = &fault;
    PyObject *result = NULL;
    if (!PyErr_Occurred() && reduction_parse(slots[OP], &request.reduction) &&
        array_view(slots[A], &(struct view_request){.name = "a", .where = &state->platforms.where},
                   &view) &&
        plan_make(&request, &view, NULL, &plan) && can_count(&plan) && can_record(&plan, &counting))
        result = counted(state, &plan, &counting);
    counting_free(&counting);
    array_release(&view);
    return result;
}
