/* Makes the schedule of a plan with axes, for the memory that there is room for, and has it carried
 * out: all results at once, or so many at a time; or each like an array by itself, in pieces of its
 * elements, which is also how exact ones are made that one launch cannot. */
#include "run/execute.h"

#include "arrays/operands.h"
#include "common/arithmetic.h"
#include "run/executor.h"
#include "run/explanation.h"
#include "run/result.h"
#include "run/watch.h"

#include <stdlib.h>
#include <string.h>

/* What is made part by part, while the results lie on the device. */
struct parts {
    struct machine *machine;
    struct run *run;
    const struct plan *all;
    uint64_t limit; /* bytes of a part's memory */
    struct results results;
    unsigned *findings;
    double asked; /* when Python was, whether to stop */

    /* What is being made: a part of all, its plan, and how it is carried out. */
    struct axes part;
    struct plan plan;
    struct axes_schedule schedule;
};

/* ---- explained, rather than run ---- */

/* For results that are not stored where the caller wants them at once. */
static void reserve_results(const struct parts *self, struct arena *arena)
{
    arena_reserve(arena, PART_RESULTS, self->all->axes->results, element_size(self->results.type));
}

static bool explain_part(const struct parts *self, const struct axes *part)
{
    struct explanation *explanation = self->run->explanation;
    struct explained_along *along = &explanation->along;
    explanation->by = EXPLAINED_ALONG;
    explanation->at_once = part->results;
    along->plan = *self->all;
    along->plan.results = self->results;
    axes_copy(part, &along->axes);
    along->plan.axes = &along->axes;
    along->plan.layout = &along->axes.reduced;
    if (!axes_schedule_make(&along->plan, self->machine->kernels, self->machine->multiprocessors,
                            &along->schedule, self->machine->failure))
        return false;
    if (self->results.out)
        reserve_results(self, &along->schedule.arena);
    return true;
}

/* ---- so many results at a time ---- */

static bool schedule_part(struct parts *self)
{
    const struct machine *machine = self->machine;
    self->plan = *self->all;
    self->plan.results = self->results;
    self->plan.axes = &self->part;
    self->plan.layout = &self->part.reduced;
    return axes_schedule_make(&self->plan, machine->kernels, machine->multiprocessors,
                              &self->schedule, machine->failure);
}

/* The most results that there is room for, `count` along a dimension; of none: all dimensions. */
static unsigned choose_cut(struct parts *self, uint64_t *count)
{
    const struct axes *all = self->all->axes;
    for (unsigned k = 0; k < all->kept; k++)
        for (*count = all->shape[k]; *count > 0; *count /= 2) {
            axes_part(all, k, 0, 0, *count, &self->part);
            if (schedule_part(self) && self->schedule.arena.total <= self->limit)
                return k;
        }
    return all->kept;
}

static bool make_part(struct parts *self)
{
    return !watch_interrupted_lately(self->run, &self->asked) && schedule_part(self) &&
           execute_axes_schedule(self->machine, &self->schedule, self->findings, self->run);
}

static bool make_parts(struct parts *self, unsigned along, uint64_t count)
{
    const struct axes *all = self->all->axes;
    const uint64_t length = all->shape[along];
    uint64_t outer = 1;
    for (unsigned k = 0; k < along; k++)
        outer *= all->shape[k];
    if (self->run->explanation) {
        axes_part(all, along, 0, 0, least(count, length), &self->part);
        return explain_part(self, &self->part);
    }
    for (uint64_t o = 0; o < outer; o++)
        for (uint64_t start = 0; start < length; start += count) {
            axes_part(all, along, o, start, least(count, length - start), &self->part);
            if (!make_part(self))
                return false;
        }
    return true;
}

/* ---- one result at a time ---- */

/* Whether the launch that adds an exact result stores it, too: nobody waits for any of them. */
static bool are_left_behind(const struct parts *self)
{
    const struct plan *plan = self->all;
    return plan->exact && plan->on_device && plan->results.on_device;
}

static char *address_of(const struct parts *self, unsigned value, int64_t place)
{
    const struct results *results = &self->results;
    return (char *)results->at[value] + place * (int64_t)element_size(results->types[value]);
}

/* An explanation has no results yet, but elements that lie as well. */
static void leave_behind(const struct parts *self, int64_t place, struct plan *one)
{
    one->out = self->run->explanation ? (void *)one->layout->data : address_of(self, 0, place);
    one->out_element = self->results.types[0];
}

static bool store_answer(const struct parts *self, int64_t place)
{
    const struct results *results = &self->results;
    for (unsigned v = 0; v < results->values; v++) {
        const size_t size = element_size(results->types[v]);
        char bytes[sizeof(struct complex128)];
        run_store(self->run, self->all, v, bytes);
        char *const at = address_of(self, v, place);
        if (!results->on_device)
            memcpy(at, bytes, size);
        else if (!self->machine->memory->copy_in(self->machine, at, bytes, size))
            return false;
    }
    return true;
}

static bool make_one_by_one(struct parts *self)
{
    const struct means *means = self->all->means;
    if (means && !means->here) {
        failure_note(self->machine->failure, FAILURE_MEMORY,
                     "out of memory on the device for results about a mean that lies there");
        return false;
    }
    const struct axes *axes = self->all->axes;
    const bool left_behind = are_left_behind(self);
    struct layout layout = axes->reduced;
    struct plan one = *self->all;
    struct walk_of_results walk;
    one.axes = NULL;
    one.layout = &layout;
    results_start(&walk, axes, 0);
    for (uint64_t k = 0; k < axes->results; k++, results_next(&walk)) {
        results_move(&walk, &layout);
        if (means) {
            one.finish.has_mean = true;
            one.finish.mean = means->here[walk.place];
        }
        if (left_behind)
            leave_behind(self, walk.place, &one);
        if (self->run->explanation) {
            self->run->explanation->at_once = 1;
            return execute_array(self->machine, &one, self->run);
        }
        if (watch_interrupted_lately(self->run, &self->asked) ||
            !execute_array(self->machine, &one, self->run) ||
            !(left_behind || store_answer(self, walk.place)))
            return false;
    }
    return true;
}

/* ---- results for the host ---- */

/* Room for all of them on the device, and for what is to be said of them. */
static void reserve_room(const struct parts *self, struct arena *arena)
{
    arena_reserve(arena, PART_FINDINGS, 1, sizeof *self->findings);
    arena_reserve(arena, PART_OUT, self->results.values, results_bytes(self->all));
}

static bool lend_room(struct parts *self, void **memory)
{
    struct machine *machine = self->machine;
    const size_t bytes = results_bytes(self->all);
    struct arena arena = {.total = 0};
    reserve_room(self, &arena);
    if (!machine->memory->lend(machine, arena.total, memory))
        return false;
    self->findings = (unsigned *)((char *)*memory + arena.at[PART_FINDINGS]);
    for (unsigned v = 0; v < self->results.values; v++)
        self->results.at[v] = (char *)*memory + arena.at[PART_OUT] + v * bytes;
    self->results.on_device = true;
    self->limit = machine->memory->room(machine, self->limit); /* beside them there may be less */
    return machine->memory->clear(machine, self->findings, sizeof *self->findings);
}

/* ---- the whole ---- */

static bool run_parts(struct parts *self)
{
    uint64_t count;
    const unsigned along = choose_cut(self, &count);
    return along < self->all->axes->kept ? make_parts(self, along, count) : make_one_by_one(self);
}

static bool explain_for_host(struct parts *self)
{
    struct explanation *explanation = self->run->explanation;
    self->results.on_device = true;
    if (!run_parts(self))
        return false;
    reserve_room(self, explanation->by == EXPLAINED_ALONG ? &explanation->along.schedule.arena
                                                          : &explanation->schedule.arena);
    return true;
}

static bool run_for_host(struct parts *self)
{
    void *memory = NULL;
    const struct executor all = {.machine = self->machine, .run = self->run, .plan = self->all};
    const bool made = lend_room(self, &memory) && run_parts(self) &&
                      executor_fetch(&all, self->results.at[0], self->findings);
    self->machine->memory->take_back(self->machine, memory);
    return made;
}

/* All at once, if that is possible in the workspace that is allowed. */
static bool run_all(struct parts *self)
{
    struct machine *machine = self->machine;
    const struct plan *plan = self->all;
    struct run *run = self->run;
    const bool scheduled = axes_schedule_make(plan, machine->kernels, machine->multiprocessors,
                                              &self->schedule, machine->failure);
    if (!scheduled)
        return plan->exact && make_one_by_one(self);
    const uint64_t total = self->schedule.arena.total, room = machine->memory->room(machine, total);
    self->limit = run->workspace_limit ? least(run->workspace_limit, room) : room;
    if (total <= self->limit)
        return run->explanation ? explain_part(self, plan->axes)
                                : execute_axes_schedule(machine, &self->schedule, NULL, run);
    if (plan->exact)
        return make_one_by_one(self);
    if (plan->results.on_device)
        return run_parts(self);
    return run->explanation ? explain_for_host(self) : run_for_host(self);
}

/* On the heap: threads' stacks may be small. */
bool execute_axes(struct machine *machine, const struct plan *plan, struct run *run)
{
    if (plan->axes->results == 0)
        return true;
    struct parts *self = malloc(sizeof *self);
    if (!self) {
        failure_note(machine->failure, FAILURE_MEMORY, "out of memory for a schedule");
        return false;
    }
    self->machine = machine;
    self->run = run;
    self->all = plan;
    self->limit = 0;
    self->results = plan->results;
    self->findings = NULL;
    self->asked = 0;
    const bool ran = run_all(self);
    free(self);
    return ran;
}
