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

/* How an explanation names the only piece that there is. */
static const char when[] = "begin";

/* The launch that makes all parts' results, and the one that stores them. */
static bool append_results(PyObject *list, const char *name, const struct step *made,
                           const struct plan *asked)
{
    const struct step store = step_store(NULL, asked->axes->results);
    return step_append(list, when, name, made) &&
           (!asked->results.out || step_append(list, when, "store", &store));
}

static PyObject *exact_steps(const struct exact_along *self, const struct plan *plan)
{
    const struct step made = exact_along_step(self, plan);
    PyObject *list = PyList_New(0);
    return steps_end(list, list && append_results(list, self->rows ? "exact rows" : "exact columns",
                                                  &made, plan));
}

PyObject *exact_along_tuple(const struct exact_along *self, const struct plan *plan)
{
    return Py_BuildValue("ssnKKNNKs", kind_name(plan->axes->kind), element_name(self->accumulator),
                         (Py_ssize_t)self->shared_bytes >> self->lanes, 1ull,
                         (unsigned long long)(plan->n * plan->axes->results),
                         exact_steps(self, plan), arena_tuple(&self->arena),
                         (unsigned long long)self->arena.total, part_name(PART_OUT));
}

static PyObject *steps_tuple(const struct axes_schedule *schedule, const struct plan *asked)
{
    const struct step made = axes_schedule_step(schedule);
    PyObject *list = PyList_New(0);
    return steps_end(
        list, list &&
                  (!schedule->copy.kernel || step_append(list, when, "copy", &schedule->copy)) &&
                  append_results(list, launch_name(&schedule->launch), &made, asked));
}

PyObject *along_tuple(const struct explained_along *self, const struct plan *asked)
{
    const struct axes_schedule *schedule = &self->schedule;
    const struct plan *plan = &self->plan;
    return Py_BuildValue("ssnKKNNKs", form_name(schedule), element_name(schedule->accumulator),
                         (Py_ssize_t)state_bytes(plan->fold, schedule->accumulator), 1ull,
                         (unsigned long long)(plan->n * self->axes.results),
                         steps_tuple(schedule, asked), arena_tuple(&schedule->arena),
                         (unsigned long long)schedule->arena.total,
                         asked->results.on_device ? part_name(PART_OUT) : "results");
}
