#define _GNU_SOURCE

#include "python/counters.h"

#include "common/kernels.h"
#include "python/answer.h"
#include "python/arguments.h"
#include "python/execute.h"
#include "python/reduction_argument.h"
#include "run/counting.h"

#include <dlfcn.h>

/* It is called by gred/counting.py, gred/recording.py and gred/lab/worker.py, whose frames are not
 * the user's. */
enum { WRAPPER_FRAMES = 1 };

static const char *event_name(enum simulator_event event)
{
    static const char *const names[SIMULATOR_EVENTS] = {[SIMULATOR_GLOBAL_LOAD] = "global_load",
                                                        [SIMULATOR_GLOBAL_STORE] = "global_store",
                                                        [SIMULATOR_SHARED_LOAD] = "shared_load",
                                                        [SIMULATOR_SHARED_STORE] = "shared_store",
                                                        [SIMULATOR_ATOMIC] = "atomic",
                                                        [SIMULATOR_SHUFFLE] = "shuffle",
                                                        [SIMULATOR_MERGE] = "merge",
                                                        [SIMULATOR_WARP_BARRIER] = "warp_barrier",
                                                        [SIMULATOR_BLOCK_BARRIER] = "block_barrier",
                                                        [SIMULATOR_GRID_BARRIER] = "grid_barrier",
                                                        [SIMULATOR_TRIP] = "global_load_trip"};
    return names[event];
}

static PyObject *tally_tuple(const struct tally *tally)
{
    return Py_BuildValue("sIsIKKKK", tally->file, tally->line, event_name(tally->event),
                         tally->bytes, (unsigned long long)tally->warps,
                         (unsigned long long)tally->lanes, (unsigned long long)tally->pieces,
                         (unsigned long long)tally->conflicts);
}

/* What of a launch's memory an access is in: that which begins at or before it, and last. */
struct memory {
    const char *name;
    uintptr_t at;
};

static struct memory memory_of(const struct counted_launch *launch,
                               const struct recorded_access *access)
{
    const struct memory memories[] = {
        {"array", launch->array}, {"partials", launch->partials}, {"tickets", launch->tickets}};
    struct memory found = {"", access->address};
    switch (access->event) {
    case SIMULATOR_SHARED_LOAD:
    case SIMULATOR_SHARED_STORE:
        return (struct memory){"shared", 0};
    case SIMULATOR_GLOBAL_LOAD:
    case SIMULATOR_GLOBAL_STORE:
    case SIMULATOR_ATOMIC:
        for (size_t k = 0; k < sizeof memories / sizeof *memories; k++)
            if (memories[k].at <= access->address && (!*found.name || memories[k].at > found.at))
                found = memories[k];
        return found;
    default:
        return found;
    }
}

static PyObject *access_tuple(const struct counted_launch *launch,
                              const struct recorded_access *access)
{
    const struct memory memory = memory_of(launch, access);
    return Py_BuildValue("KIIssKIIy#sI", (unsigned long long)access->block, access->thread,
                         access->interval, event_name(access->event), memory.name,
                         (unsigned long long)(access->address - memory.at), access->bytes,
                         access->source, access->value, (Py_ssize_t)sizeof access->value,
                         access->file, access->line);
}

static PyObject *accesses_tuple(const struct counted_launch *launch)
{
    PyObject *accesses = PyTuple_New((Py_ssize_t)launch->recording.count);
    for (size_t k = 0; accesses && k < launch->recording.count; k++) {
        PyObject *access = access_tuple(launch, &launch->recording.accesses[k]);
        if (!access)
            Py_CLEAR(accesses);
        else
            PyTuple_SET_ITEM(accesses, (Py_ssize_t)k, access);
    }
    return accesses;
}

static PyObject *tallies_tuple(const struct counted_launch *launch)
{
    PyObject *tallies = PyTuple_New((Py_ssize_t)launch->count);
    for (size_t k = 0; tallies && k < launch->count; k++) {
        PyObject *tally = tally_tuple(&launch->tallies[k]);
        if (!tally)
            Py_CLEAR(tallies);
        else
            PyTuple_SET_ITEM(tallies, (Py_ssize_t)k, tally);
    }
    return tallies;
}

static PyObject *launch_tuple(const struct counted_launch *launch)
{
    enum { SECTOR_BYTES = 32 };
    return Py_BuildValue("KINNI", (unsigned long long)launch->grid, launch->block,
                         tallies_tuple(launch), accesses_tuple(launch),
                         (unsigned)(launch->array % SECTOR_BYTES));
}

static PyObject *launches_tuple(const struct counting *counting)
{
    PyObject *launches = PyTuple_New((Py_ssize_t)counting->count);
    for (size_t k = 0; launches && k < counting->count; k++) {
        PyObject *launch = launch_tuple(&counting->launches[k]);
        if (!launch)
            Py_CLEAR(launches);
        else
            PyTuple_SET_ITEM(launches, (Py_ssize_t)k, launch);
    }
    return launches;
}

/* Whether there are kernels that count, and take the array as it is. False with an exception set.
 */
static bool can_count(const struct plan *plan)
{
    const enum element input = plan->layout->input;
    if (plan->n == 0) {
        PyErr_SetString(PyExc_ValueError, "a is empty: there is nothing to count");
        return false;
    }
    if (plan->fold != FOLD_sum) {
        PyErr_SetString(PyExc_ValueError, "counters are there of sums and means alone");
        return false;
    }
    if (!counting_flat(plan->fold, METHOD_last_block, input, plan->accumulator, plan->block)) {
        PyErr_Format(PyExc_ValueError,
                     "counters are there of int32, int64, uint64, float32 and float64, summed in "
                     "their own type, and of int32 in int64; got %s in %s",
                     element_name(input), element_name(plan->accumulator));
        return false;
    }
    if (plan->exact || !counting_flat(plan->fold, method_index_of(plan->method), input,
                                      plan->accumulator, plan->block)) {
        PyErr_Format(PyExc_ValueError, "method '%s' has no counters; rungs 0 to 22 have",
                     plan->exact ? "exact" : plan->method->name);
        return false;
    }
    if (plan->direct && (plan->flat || !plan->on_device))
        return true;
    PyErr_SetString(PyExc_ValueError,
                    "counters are there of elements that lie one after the other");
    return false;
}

static const char *fault_name(enum fault_kind kind)
{
    static const char *const names[FAULT_KINDS] = {
        [FAULT_RACE] = "race",       [FAULT_BARRIER] = "barrier",
        [FAULT_BOUNDS] = "bounds",   [FAULT_UNWRITTEN] = "unwritten",
        [FAULT_MISSING] = "missing", [FAULT_ALIGNMENT] = "alignment",
        [FAULT_ENDLESS] = "endless",
    };
    return names[kind];
}

/* Where a fault's thread was, as offsets into the libraries that they are in. */
static PyObject *frames_list(const struct fault *fault)
{
    PyObject *list = PyList_New(0);
    for (unsigned k = 0; list && k < fault->depth; k++) {
        Dl_info where;
        if (!dladdr((void *)fault->frames[k], &where))
            continue;
        PyObject *frame =
            Py_BuildValue("sK", where.dli_fname,
                          (unsigned long long)(fault->frames[k] - (uintptr_t)where.dli_fbase));
        if (!frame || PyList_Append(list, frame) < 0)
            Py_CLEAR(list);
        Py_XDECREF(frame);
    }
    return list;
}

/* In place of the exception that it has ended the run with. */
static PyObject *fault_instead(const struct fault *fault)
{
    if (fault->kind == FAULT_NONE)
        return NULL;
    PyErr_Clear();
    return Py_BuildValue("szIsN", fault_name(fault->kind), fault->file, fault->line, fault->text,
                         frames_list(fault));
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
                         launches_tuple(counting));
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
