/* Segments on a device: by kernels of their own, or each as an array of a list. */
#include "common/arithmetic.h"
#include "run/execute.h"
#include "run/result.h"
#include "schedule/segments_schedule.h"

#include <stdlib.h>

/* ---- as a list ---- */

struct listed_segments {
    struct executor on;
    struct segments segments; /* as the host knows them */
    struct layout layout;     /* of all elements, where they lie one after the other */
    struct array_list list;
    struct listed_array *arrays;
    int64_t *offsets;           /* those of a device, here; else NULL */
    uint64_t lent;              /* bytes of both: */
    void *elements, *on_device; /* copies there, of elements and offsets, or NULL */
};

static bool lend(struct listed_segments *self, size_t bytes, void **memory)
{
    struct machine *machine = self->on.machine;
    self->lent += bytes;
    return executor_is_within_limit(machine, self->on.run, self->lent, "the call of segments") &&
           machine->memory->lend(machine, bytes, memory);
}

/* Those of the device are waited for. */
static bool fetch_offsets(struct listed_segments *self)
{
    const struct plan *plan = self->on.plan;
    struct machine *machine = self->on.machine;
    const size_t bytes = plan->segments.of->count * sizeof *self->offsets;
    self->segments = *plan->segments.of;
    if (!plan->segments.offsets)
        return true;
    self->offsets = malloc(bytes);
    if (!self->offsets)
        return failure_note(machine->failure, FAILURE_MEMORY, "out of memory for offsets");
    self->segments.offsets = self->offsets;
    return lend(self, bytes, &self->on_device) &&
           executor_gather(&self->on, plan->segments.offsets, ELEMENT_INT64, self->on_device) &&
           machine->memory->copy_out(machine, self->offsets, self->on_device, bytes);
}

/* Whatever a loop of lists does not take as it lies is copied. */
static bool bring_elements(struct listed_segments *self)
{
    const struct plan *plan = self->on.plan;
    const struct layout *from = plan->layout;
    struct machine *machine = self->on.machine;
    uint64_t fed;
    self->layout = (struct layout){.data = from->data, .input = from->input, .type = from->type};
    layout_make_flat(&self->layout, plan->n);
    if (plan->n == 0 || (plan->elements.on_device && plan->elements.flat))
        return true;
    if (!lend(self, plan->n * element_size(from->input), &self->elements))
        return false;
    self->layout.data = self->elements;
    return plan->elements.on_device
               ? executor_gather(&self->on, from, from->input, self->elements)
               : machine->memory->feed(machine, self->elements, from, 0, plan->n, &fed);
}

/* One that is not in the array is empty. Returns the number of all elements. */
static uint64_t list_segments(struct listed_segments *self)
{
    const enum element input = self->layout.input;
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
            self->on.run->findings |= FOUND_OUTSIDE;
        self->arrays[k] = (struct listed_array){.data = (const char *)self->layout.data +
                                                        segment.start * element_size(input),
                                                .n = segment.n,
                                                .input = input};
        self->list.fewest = least(self->list.fewest, segment.n);
        all += segment.n;
    }
    return all;
}

static bool execute_listed(struct listed_segments *self)
{
    struct machine *machine = self->on.machine;
    struct plan listed = *self->on.plan;
    if (!fetch_offsets(self) || !bring_elements(self))
        return false;
    self->arrays = malloc(self->segments.count * sizeof *self->arrays);
    if (!self->arrays)
        return failure_note(machine->failure, FAILURE_MEMORY, "out of memory for segments");
    listed.n = listed.finish.count = list_segments(self);
    listed.segments = (struct plan_segments){.of = NULL};
    listed.layout = &self->layout;
    listed.elements.list = &self->list;
    listed.elements.flat = listed.elements.on_device = true;
    listed.elements.direct = types_convert_directly(&self->layout, listed.accumulator);
    return execute_list(machine, &listed, self->on.run);
}

static bool execute_as_list(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct listed_segments *self = calloc(1, sizeof *self);
    if (!self)
        return failure_note(machine->failure, FAILURE_MEMORY, "out of memory for segments");
    self->on = (struct executor){.machine = machine, .run = run, .plan = plan};
    const bool made = execute_listed(self);
    machine->memory->take_back(machine, self->on_device);
    machine->memory->take_back(machine, self->elements);
    free(self->offsets);
    free(self->arrays);
    free(self);
    return made;
}

/* ---- by kernels of segments ---- */

/* Of blocks of 2^block threads, which kernels are told, too. */
static bool launch(const struct executor *on, void **arguments, const void *kernel, uint64_t grid,
                   unsigned block, size_t shared_bytes, bool follows)
{
    struct kernel_segments *segments = arguments[0];
    const struct step step = {.kernel = kernel,
                              .grid = grid,
                              .block = 1u << block,
                              .shared_bytes = shared_bytes,
                              .cluster = 1,
                              .follows = follows && on->machine->facts.kernels->segments_follow()};
    segments->block = block;
    return executor_launch(on, &step, arguments);
}

/* Offsets are surveyed, and tiles folded; then what these leave, or all segments one by one. */
static bool launch_all(const struct executor *on, const struct segments_schedule *schedule)
{
    enum { BLOCK = 8 };
    const struct plan *plan = on->plan;
    const struct segments_shape *shape = &schedule->shape;
    uint64_t *const splits = executor_part(on, PART_SPLITS);
    const size_t left = shape->tiles * state_bytes(plan->fold, schedule->accumulator);
    char *heads = executor_part(on, PART_PARTIALS), *tails = heads ? heads + left : NULL;
    struct kernel_segments segments = {
        .of = *plan->segments.of,
        .data = schedule->array.data,
        .input = schedule->input,
        .bytes = (unsigned)__builtin_ctzll(element_size(schedule->input)),
        .team = shape->team,
        .most = shape->alone,
        .tiles = shape->tiles,
        .tile = shape->tile,
        .splits = splits,
        .order = shape->tile ? (unsigned *)(splits + shape->tiles + 1) : NULL,
        .result = executor_results(on, schedule->accumulator, executor_part(on, PART_FINDINGS)),
        .of_none = scalar_widen(run_value_of_none(plan), plan->results.type),
    };
    void *arguments[] = {&segments, &heads, &tails};
    segments.of.offsets = schedule->offsets.data;
    if (shape->tile &&
        (!launch(on, arguments, kernel_of_kind(on->machine->facts.kernels, KERNEL_SURVEY),
                 divide_up(plan->segments.of->count, SURVEYED), BLOCK, SURVEYED * sizeof(uint64_t),
                 false) ||
         !launch(on, arguments, schedule->tiles, shape->tiles, shape->tile_block,
                 shape->tile_shared_bytes, true)))
        return false;
    return launch(on, arguments, schedule->each, shape->grid, shape->block, shape->shared_bytes,
                  shape->tile > 0);
}

static bool make_segments(const struct executor *on, struct segments_schedule *schedule)
{
    return executor_clear(on, PART_FINDINGS) && executor_clear(on, PART_SPLITS) &&
           executor_bring(on, &schedule->array, PART_UPLOADED, PART_COPY, schedule->accumulator) &&
           executor_bring(on, &schedule->offsets, schedule->uploads_offsets ? PART_OFFSETS : PARTS,
                          schedule->copies_offsets ? PART_OFFSETS : PARTS, ELEMENT_INT64) &&
           launch_all(on, schedule) &&
           (on->plan->results.on_device ||
            executor_fetch(on, executor_part(on, PART_OUT), executor_part(on, PART_FINDINGS)));
}

static bool execute_schedule(struct machine *machine, struct segments_schedule *schedule,
                             struct run *run)
{
    if (!executor_is_within_limit(machine, run, schedule->arena.total, "the call of segments"))
        return false;
    struct executor on = {machine, run, schedule->plan, &schedule->arena, NULL};
    return executor_begin(&on) &&
           executor_end(&on, schedule->plan->results.on_device, make_segments(&on, schedule));
}

bool execute_segments(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct segments_schedule schedule;
    return segments_schedule_make(plan, &machine->facts, &schedule)
               ? execute_schedule(machine, &schedule, run)
               : execute_as_list(machine, plan, run);
}
