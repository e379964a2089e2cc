/* Segments on a device: by their own kernels, or as a list of arrays. */
#include "common/arithmetic.h"
#include "run/execute.h"
#include "run/result.h"
#include "schedule/segments_schedule.h"

#include <stdlib.h>

/* ---- as a list ---- */

struct listed_segments {
    struct executor exec; /* with acquired memory, since each array of the list may allocate */
    struct arena arena;
    struct segments segments; /* with offsets on the host */
    struct transfer array;    /* all elements, contiguous */
    struct array_list list;
    struct list_entry *arrays;
    int64_t *offsets; /* host copy of a device's offsets; else NULL */
};

/* Elements are copied unless a list can read them in place; a device's offsets go to the host. */
static bool transfer_all(struct listed_segments *self)
{
    const struct plan *plan = self->exec.plan;
    const struct layout *from = plan->layout, *offsets = plan->segments.offsets;
    struct machine *machine = self->exec.machine;
    const uint64_t count = plan->segments.of->count;
    self->array.layout = *from;
    transfer_choose(plan, plan->elements.on_device && !plan->elements.flat,
                    widest_accumulator(from->input), &self->array);
    arena_reserve_transfer(&self->arena, &self->array);
    if (offsets)
        arena_reserve(&self->arena, PART_OFFSETS, count, sizeof(int64_t));
    if (!executor_is_within_limit(machine, self->exec.run, self->arena.total,
                                  "the call of segments") ||
        !executor_acquire(&self->exec) || !executor_transfer(&self->exec, &self->array))
        return false;
    layout_make_flat(&self->array.layout, plan->n);
    self->segments = *plan->segments.of;
    if (!offsets)
        return true;
    void *const gathered = executor_part(&self->exec, PART_OFFSETS);
    self->segments.offsets = self->offsets = malloc(count * sizeof *self->offsets);
    return self->offsets
               ? executor_gather(&self->exec, offsets, ELEMENT_INT64, gathered) &&
                     machine->memory->copy(machine, COPY_TO_HOST, self->offsets, gathered,
                                           count * sizeof *self->offsets)
               : failure_record(machine->failure, FAILURE_MEMORY, "out of memory for offsets");
}

/* Segments outside the array become empty. Returns the total number of elements. */
static uint64_t list_segments(struct listed_segments *self)
{
    const enum element input = self->array.layout.input;
    uint64_t all = 0;
    self->list = (struct array_list){.at = self->arrays,
                                     .count = self->segments.count,
                                     .fewest = UINT64_MAX,
                                     .each = true,
                                     .uniform = true};
    for (uint64_t k = 0; k < self->segments.count; k++) {
        struct segment segment = {0, 0};
        if (segment_is_within(&self->segments, k))
            segment = segment_at(&self->segments, k);
        else
            self->exec.run->findings |= FOUND_OUTSIDE;
        self->arrays[k] = (struct list_entry){.data = (const char *)self->array.layout.data +
                                                      segment.start * element_size(input),
                                              .n = segment.n,
                                              .input = input};
        self->list.fewest = min_u64(self->list.fewest, segment.n);
        all += segment.n;
    }
    return all;
}

static bool execute_listed(struct listed_segments *self)
{
    struct machine *machine = self->exec.machine;
    struct plan listed = *self->exec.plan;
    if (!transfer_all(self))
        return false;
    self->arrays = malloc(self->segments.count * sizeof *self->arrays);
    if (!self->arrays)
        return failure_record(machine->failure, FAILURE_MEMORY, "out of memory for segments");
    plan_retarget(&listed, &self->array.layout, list_segments(self), true);
    listed.axes = self->exec.plan->axes;
    listed.segments = (struct plan_segments){.of = NULL};
    listed.elements.list = &self->list;
    listed.elements.on_device = true;
    return execute_list(machine, &listed, self->exec.run);
}

static bool execute_as_list(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct listed_segments *self = calloc(1, sizeof *self);
    if (!self)
        return failure_record(machine->failure, FAILURE_MEMORY, "out of memory for segments");
    self->exec = (struct executor){machine, run, plan, &self->arena, NULL};
    const bool done = execute_listed(self);
    machine->memory->release(machine, self->exec.memory);
    free(self->offsets);
    free(self->arrays);
    free(self);
    return done;
}

/* ---- by kernels for segments ---- */

/* In blocks of 2^block threads, which is also a kernel argument. */
static bool launch_kernel(const struct executor *exec, void **arguments, const void *kernel,
                          uint64_t grid, unsigned block, size_t shared_bytes, bool follows)
{
    struct kernel_segments *segments = arguments[0];
    struct step step = launch_step(kernel, grid, 1u << block, shared_bytes);
    step.follows = follows && exec->machine->facts.kernels->segments_can_overlap();
    segments->block = block;
    return executor_launch(exec, &step, arguments);
}

/* Surveys offsets and folds tiles; then merges the rest, or folds all segments one by one. */
static bool launch_segments(const struct executor *exec, const struct segments_schedule *schedule)
{
    enum { BLOCK = 8 };
    const struct plan *plan = exec->plan;
    const struct segments_shape *shape = &schedule->shape;
    uint64_t *const splits = executor_part(exec, PART_SPLITS);
    const size_t heads_bytes = shape->tiles * state_bytes(plan->fold, schedule->accumulator);
    char *heads = executor_part(exec, PART_PARTIALS), *tails = heads ? heads + heads_bytes : NULL;
    struct kernel_segments segments = {
        .of = *plan->segments.of,
        .data = schedule->array.layout.data,
        .input = schedule->input,
        .bytes = trailing_zeros(element_size(schedule->input)),
        .team = shape->team,
        .most = shape->alone,
        .tiles = shape->tiles,
        .tile = shape->tile,
        .splits = splits,
        .order = shape->tile ? (unsigned *)(splits + shape->tiles + 1) : NULL,
        .result = executor_results(exec, schedule->accumulator),
        .empty_result = scalar_widen(run_empty_value(plan), plan->results.type),
    };
    void *arguments[] = {&segments, &heads, &tails};
    segments.of.offsets = schedule->offsets.layout.data;
    if (shape->tile && (!launch_kernel(exec, arguments,
                                       kernel_of_kind(exec->machine->facts.kernels, KERNEL_SURVEY),
                                       ceil_div(plan->segments.of->count, SURVEY_BLOCK), BLOCK,
                                       SURVEY_BLOCK * sizeof(uint64_t), false) ||
                        !launch_kernel(exec, arguments, schedule->tiles, shape->tiles,
                                       shape->tile_block, shape->tile_shared_bytes, true)))
        return false;
    return launch_kernel(exec, arguments, schedule->each, shape->grid, shape->block,
                         shape->shared_bytes, shape->tile > 0);
}

static bool run_segments(struct executor *exec, void *context)
{
    struct segments_schedule *schedule = context;
    return executor_clear(exec, PART_SPLITS) && executor_transfer(exec, &schedule->array) &&
           executor_transfer(exec, &schedule->offsets) && launch_segments(exec, schedule);
}

bool execute_segments(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct segments_schedule schedule;
    struct executor exec = {machine, run, plan, &schedule.arena, NULL};
    if (!segments_schedule_make(plan, &machine->facts, &schedule))
        return execute_as_list(machine, plan, run);
    return executor_is_within_limit(machine, run, schedule.arena.total, "the call of segments") &&
           executor_run(&exec, run_segments, &schedule);
}
