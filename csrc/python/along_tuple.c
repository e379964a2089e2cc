#include "python/along_tuple.h"

#include "python/step_tuple.h"
#include "run/along.h"
#include "run/results.h"

static const char *kind_name(enum axes_kind kind)
{
    static const char *const names[] = {
        [AXES_ROWS] = "rows", [AXES_COLUMNS] = "columns", [AXES_GENERAL] = "strided"};
    return names[kind];
}

static const char *form_name(const struct axes_schedule *schedule)
{
    return schedule->copy ? "gathered" : kind_name(schedule->axes.kind);
}

/* Where the launch finds elements. */
static enum part source(const struct axes_schedule *schedule, bool copied)
{
    if (copied)
        return PART_COPY;
    return schedule->uploads ? PART_UPLOADED : PART_ARRAY;
}

static struct step copy_step(const struct explained_along *self)
{
    return (struct step){.reads = source(&self->schedule, false),
                         .writes = PART_COPY,
                         .n = layout_length(&self->schedule.array),
                         .grid = self->copy_grid,
                         .block = COPY_BLOCK,
                         .cluster = 1};
}

static struct step results_step(const struct explained_along *self)
{
    const struct axes_schedule *schedule = &self->schedule;
    const struct launch_config *launch = &schedule->launch;
    return (struct step){.reads = source(schedule, schedule->copy),
                         .writes = self->plan.results.out ? PART_RESULTS : PART_OUT,
                         .n = self->plan.n * self->axes.results,
                         .grid = launch_grid(launch),
                         .block = 1u << launch->block,
                         .shared_bytes = launch->shared_bytes,
                         .cluster = 1};
}

/* Of all parts' results. */
static struct step store_step(uint64_t results)
{
    return (struct step){.reads = PART_RESULTS,
                         .writes = PART_OUT,
                         .n = results,
                         .grid = results_store_grid(results),
                         .block = RESULTS_BLOCK,
                         .cluster = 1};
}

static PyObject *exact_steps(const struct exact_along *self, const struct plan *plan)
{
    static const char when[] = "begin";
    const uint64_t results = plan->axes->results;
    const struct step made = {.reads = PART_ARRAY,
                              .writes = plan->results.out ? PART_RESULTS : PART_OUT,
                              .n = plan->n * results,
                              .grid = self->groups * self->splits,
                              .block = self->block,
                              .shared_bytes = self->shared_bytes,
                              .cluster = 1},
                      store = store_step(results);
    PyObject *list = PyList_New(0);
    return steps_end(
        list, list && step_append(list, when, self->rows ? "exact rows" : "exact columns", &made) &&
                  (!plan->results.out || step_append(list, when, "store", &store)));
}

PyObject *exact_along_tuple(const struct exact_along *self, const struct plan *plan)
{
    return Py_BuildValue("ssnKKNNKs", kind_name(plan->axes->kind), element_name(self->accumulator),
                         (Py_ssize_t)self->shared_bytes >> self->lanes, 1ull,
                         (unsigned long long)(plan->n * plan->axes->results),
                         exact_steps(self, plan), arena_tuple(&self->arena),
                         (unsigned long long)self->arena.total, part_name(PART_OUT));
}

static PyObject *steps_tuple(const struct explained_along *self, uint64_t results)
{
    static const char when[] = "begin";
    const char *const name = launch_name(&self->schedule.launch);
    const struct step copy = copy_step(self), made = results_step(self),
                      store = store_step(results);
    PyObject *list = PyList_New(0);
    return steps_end(list,
                     list && (!self->schedule.copy || step_append(list, when, "copy", &copy)) &&
                         step_append(list, when, name, &made) &&
                         (!self->plan.results.out || step_append(list, when, "store", &store)));
}

PyObject *along_tuple(const struct explained_along *self, const struct plan *asked)
{
    const struct axes_schedule *schedule = &self->schedule;
    const struct plan *plan = &self->plan;
    return Py_BuildValue("ssnKKNNKs", form_name(schedule), element_name(schedule->accumulator),
                         (Py_ssize_t)state_bytes(plan->fold, schedule->accumulator), 1ull,
                         (unsigned long long)(plan->n * self->axes.results),
                         steps_tuple(self, asked->axes->results), arena_tuple(&schedule->arena),
                         (unsigned long long)schedule->arena.total,
                         asked->results.on_device ? part_name(PART_OUT) : "results");
}
