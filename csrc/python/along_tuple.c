#include "python/along_tuple.h"

#include "python/step_tuple.h"

static const char *kind_name(enum axes_kind kind)
{
    static const char *const names[] = {
        [AXES_ROWS] = "rows", [AXES_COLUMNS] = "columns", [AXES_GENERAL] = "strided"};
    return names[kind];
}

static const char *form_name(const struct axes_schedule *schedule)
{
    return schedule->copy.kernel ? "gathered" : kind_name(schedule->axes.kind);
}

/* Results are stored where they are asked for once all parts' are made. */
static PyObject *steps_tuple(const struct axes_schedule *schedule, const struct plan *asked)
{
    static const char when[] = "begin";
    const struct step made = axes_schedule_step(schedule),
                      store = step_store(NULL, asked->axes->results);
    PyObject *list = PyList_New(0);
    return steps_end(
        list, list &&
                  (!schedule->copy.kernel || step_append(list, when, "copy", &schedule->copy)) &&
                  step_append(list, when, launch_name(&schedule->launch), &made) &&
                  (!asked->results.out || step_append(list, when, "store", &store)));
}

PyObject *along_tuple(const struct explained_along *self, const struct plan *asked)
{
    const struct axes_schedule *schedule = &self->schedule;
    const struct plan *plan = &self->plan;
    return Py_BuildValue("ssnKKNNKs", form_name(schedule), element_name(schedule->accumulator),
                         (Py_ssize_t)schedule->state_bytes, 1ull,
                         (unsigned long long)(plan->n * self->axes.results),
                         steps_tuple(schedule, asked), arena_tuple(&schedule->arena),
                         (unsigned long long)schedule->arena.total,
                         asked->results.on_device ? part_name(PART_OUT) : "results");
}
