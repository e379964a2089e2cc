/* gred.counters and gred.accesses: counts what a reduction's kernels access on the simulated
 * device, records accesses one by one if there is room, and checks them for faults if requested. */
#include "python/call.h" /* Python.h is first: it enables all system features */

#include "common/kernels.h"
#include "run/counting.h"

#include <dlfcn.h>

/* Whether there are counting kernels that take the array. False with an exception set. */
static bool check_countable(const struct plan *plan)
{
    const enum element input = plan->layout->input;
    struct kernel_key key = {KERNEL_FLAT,       plan->fold,        input,
                             plan->accumulator, METHOD_last_block, plan->launch.block};
    if (plan->n == 0)
        return value_error("a is empty: there is nothing to count");
    if (plan->fold != FOLD_sum)
        return value_error("counters support sum and mean only");
    if (!counting_flat(key))
        return value_error("counters support int32, int64, uint64, float32 and float64 summed in "
                           "their own type, and int32 in int64; got %s in %s",
                           element_name(input), element_name(plan->accumulator));
    key.method = method_index_of(plan->method);
    if (plan->exact || !counting_flat(key))
        return value_error("method '%s' has no counters; rungs 0 to 24 have",
                           plan->exact ? "exact" : plan->method->name);
    if (plan->elements.direct && (plan->elements.flat || !plan->elements.on_device))
        return true;
    return value_error("counters require a contiguous array");
}

/* Accesses of large arrays are not recorded one by one. False with an exception set. */
static bool check_recordable(const struct plan *plan, const struct counting *counting)
{
    enum { ELEMENTS_MAX = 1 << 14 };
    if (counting->room == 0 || plan->n <= ELEMENTS_MAX)
        return true;
    return value_error("a has %llu elements, too many to record each access (at most %d); "
                       "gred.counters takes arrays of any size",
                       (unsigned long long)plan->n, ELEMENTS_MAX);
}

/* A frame of the fault's thread: a library, and the offset into it. */
static PyObject *frame_tuple(uintptr_t at)
{
    Dl_info info = {0};
    if (!dladdr((void *)at, &info))
        return Py_BuildValue("zk", NULL, 0ul);
    return Py_BuildValue("sk", info.dli_fname, at - (uintptr_t)info.dli_fbase);
}

/* Replaces the exception with which a fault ended the run by a tuple for gred/lab/checking.py.
 * NULL, keeping the exception, if there was no fault. */
static PyObject *fault_tuple(const struct fault *fault)
{
#define FAULT(NAME, name) name,
    static const char *const names[] = {FAULTS(FAULT)};
#undef FAULT
    if (!fault || fault->kind == FAULT_NONE)
        return NULL;
    PyErr_Clear();
    PyObject *frames = PyList_New(0);
    for (unsigned k = 0; k < fault->depth; k++)
        list_append(&frames, frame_tuple(fault->frames[k]));
    return Py_BuildValue("szIsN", names[fault->kind], fault->file, fault->line, fault->text,
                         list_to_tuple(frames));
}

/* ---- launches, as gred/counting.py and gred/recording.py read them ---- */

#define EVENT(NAME, name) name,
static const char *const event_names[] = {SIMULATOR_EVENTS(EVENT)};
#undef EVENT

static PyObject *tally_tuple(const struct tally *tally)
{
    return Py_BuildValue("sIsIkkkk", tally->file, tally->line, event_names[tally->event],
                         tally->bytes, tally->warps, tally->lanes, tally->pieces, tally->conflicts);
}

static PyObject *access_tuple(const struct recorded_access *access)
{
    return Py_BuildValue(
        "kIIskIINsI", access->block, access->thread, access->interval, event_names[access->event],
        access->address, access->bytes, access->source,
        PyBytes_FromStringAndSize((const char *)access->value, sizeof access->value), access->file,
        access->line);
}

static PyObject *launch_tuple(const struct counted_launch *launch)
{
    PyObject *tallies = PyList_New(0), *accesses = PyList_New(0);
    for (size_t k = 0; k < launch->count; k++)
        list_append(&tallies, tally_tuple(&launch->tallies[k]));
    for (size_t k = 0; k < launch->recording.count; k++)
        list_append(&accesses, access_tuple(&launch->recording.accesses[k]));
    return Py_BuildValue("kINN(kkk)", launch->grid, launch->block, list_to_tuple(tallies),
                         list_to_tuple(accesses), launch->array, launch->partials, launch->tickets);
}

static PyObject *count_call(struct call *call, struct counting *counting)
{
    const struct plan *plan = &call->plan;
    if (!check_countable(plan) || !check_recordable(plan, counting))
        return NULL;
    call->run.counting = counting;
    if (!execute_plan(call->state, plan, &call->run))
        return fault_tuple(counting->fault);
    PyObject *launches = PyList_New(0);
    for (size_t k = 0; k < counting->count; k++)
        list_append(&launches, launch_tuple(&counting->launches[k]));
    return Py_BuildValue("sIsksNN", plan->method->name, plan->launch.block,
                         element_name(plan->layout->input), plan->n,
                         element_name(plan->accumulator), answer_to_python(plan, &call->run),
                         list_to_tuple(launches));
}

static void counting_free(struct counting *self)
{
    for (size_t k = 0; k < self->count; k++)
        counted_launch_free(&self->launches[k]);
    free(self->launches);
}

/* Called by gred/counting.py, gred/recording.py and gred/lab/worker.py. */
SLOTS_FUNCTION(counters)
{
    SCOPED_CALL *call = call_open_op(state, slots);
    if (!call)
        return NULL;
    struct fault fault = {.kind = FAULT_NONE};
    CLEANUP(counting_free)
    struct counting counting = {.multiprocessors =
                                    (unsigned)PyLong_AsUnsignedLong(slots[MULTIPROCESSORS]),
                                .room = PyLong_AsSize_t(slots[ROOM]),
                                .fault = slots[CHECKED] == Py_True ? &fault : NULL};
    return PyErr_Occurred() ? NULL : count_call(call, &counting);
}
