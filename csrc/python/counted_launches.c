#include "python/counted_launches.h"

typedef PyObject *item_at(const void *context, size_t index);

static PyObject *tuple_of(size_t count, item_at *item, const void *context)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)count);
    for (size_t k = 0; tuple && k < count; k++) {
        PyObject *one = item(context, k);
        if (!one)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)k, one);
    }
    return tuple;
}

static const char *event_name(enum simulator_event event)
{
    static const char *const names[SIMULATOR_EVENTS] = {
        [SIMULATOR_GLOBAL_LOAD] = "global_load",
        [SIMULATOR_GLOBAL_STORE] = "global_store",
        [SIMULATOR_SHARED_LOAD] = "shared_load",
        [SIMULATOR_SHARED_STORE] = "shared_store",
        [SIMULATOR_ATOMIC] = "atomic",
        [SIMULATOR_SHUFFLE] = "shuffle",
        [SIMULATOR_MERGE] = "merge",
        [SIMULATOR_WARP_BARRIER] = "warp_barrier",
        [SIMULATOR_BLOCK_BARRIER] = "block_barrier",
        [SIMULATOR_GRID_BARRIER] = "grid_barrier",
        [SIMULATOR_CLUSTER_BARRIER] = "cluster_barrier",
        [SIMULATOR_MBARRIER_WAIT] = "mbarrier_wait",
        [SIMULATOR_BULK_COPY] = "bulk_copy",
        [SIMULATOR_DEPENDENT_LOAD] = "dependent_global_load"};
    return names[event];
}

static PyObject *tally_at(const void *context, size_t index)
{
    const struct counted_launch *launch = context;
    const struct tally *tally = &launch->tallies[index];
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
    case SIMULATOR_BULK_COPY:
        for (size_t k = 0; k < sizeof memories / sizeof *memories; k++)
            if (memories[k].at <= access->address && (!*found.name || memories[k].at > found.at))
                found = memories[k];
        return found;
    default:
        return found;
    }
}

static PyObject *access_at(const void *context, size_t index)
{
    const struct counted_launch *launch = context;
    const struct recorded_access *access = &launch->recording.accesses[index];
    const struct memory memory = memory_of(launch, access);
    return Py_BuildValue("KIIssKIIy#sI", (unsigned long long)access->block, access->thread,
                         access->interval, event_name(access->event), memory.name,
                         (unsigned long long)(access->address - memory.at), access->bytes,
                         access->source, access->value, (Py_ssize_t)sizeof access->value,
                         access->file, access->line);
}

static PyObject *launch_at(const void *context, size_t index)
{
    enum { SECTOR_BYTES = 32 };
    const struct counting *counting = context;
    const struct counted_launch *launch = &counting->launches[index];
    return Py_BuildValue("KINNI", (unsigned long long)launch->grid, launch->block,
                         tuple_of(launch->count, tally_at, launch),
                         tuple_of(launch->recording.count, access_at, launch),
                         (unsigned)(launch->array % SECTOR_BYTES));
}

PyObject *counted_launches_to_python(const struct counting *counting)
{
    return tuple_of(counting->count, launch_at, counting);
}
