/* What lies elsewhere is brought, what is of another type is copied; then the offsets are surveyed,
 * the tiles folded, and what they leave, or all segments one by one. */
#include "run/segments.h"

#include "common/arithmetic.h"
#include "plan/segments_schedule.h"
#include "run/along.h"
#include "run/result.h"

struct carrying {
    struct machine *machine;
    struct run *run;
    const struct plan *plan;
    struct segments_schedule *schedule;
    char *memory; /* the arena */
    struct kernel_segments argument;
    void *heads, *tails; /* states that tiles leave */
};

static void *address(const struct carrying *self, enum part part)
{
    return arena_part(&self->schedule->arena, self->memory, part);
}

/* ---- what is read ---- */

/* One after the other, as they have been brought. */
static void find_at(struct layout *layout, const void *at, uint64_t n)
{
    layout->data = at;
    layout->swapped = false;
    layout->dimensions = 1;
    layout->shape[0] = n;
    layout->strides[0] = (int64_t)element_size(layout->input);
    layout->mask_strides[0] = 0;
}

static bool bring(const struct carrying *self, struct layout *layout, uint64_t n, enum part part)
{
    struct machine *machine = self->machine;
    void *const at = address(self, part);
    uint64_t fed;
    if (!machine->feed(machine, at, layout, 0, n, &fed))
        return false;
    find_at(layout, at, n);
    return true;
}

static bool copy(const struct carrying *self, struct layout *layout, enum element type, uint64_t n,
                 enum part part)
{
    void *const at = address(self, part);
    if (!along_copy(self->machine, layout, type, at))
        return false;
    layout->input = type;
    find_at(layout, at, n);
    return true;
}

static bool bring_all(const struct carrying *self)
{
    struct segments_schedule *schedule = self->schedule;
    const uint64_t n = self->plan->n, count = self->plan->segments->count;
    return (!schedule->uploads || bring(self, &schedule->array, n, PART_UPLOADED)) &&
           (!schedule->copies ||
            copy(self, &schedule->array, schedule->accumulator, n, PART_COPY)) &&
           (!schedule->uploads_offsets || bring(self, &schedule->offsets, count, PART_OFFSETS)) &&
           (!schedule->copies_offsets ||
            copy(self, &schedule->offsets, ELEMENT_INT64, count, PART_OFFSETS));
}

/* ---- launches ---- */

static void make_argument(struct carrying *self)
{
    const struct plan *plan = self->plan;
    const struct segments_schedule *schedule = self->schedule;
    segments_schedule_argument(schedule, &self->argument);
    self->argument.splits = address(self, PART_SPLITS);
    self->argument.order = schedule->shape.tile
                               ? (unsigned *)(self->argument.splits + schedule->shape.tiles + 1)
                               : NULL;
    self->argument.result = along_results(plan, schedule->accumulator, address(self, PART_OUT),
                                          address(self, PART_FINDINGS));
    self->argument.of_none = scalar_widen(run_value_of_none(plan), plan->results.type);
    self->heads = address(self, PART_PARTIALS);
    self->tails = self->heads
                      ? (char *)self->heads +
                            schedule->shape.tiles * state_bytes(plan->fold, schedule->accumulator)
                      : NULL;
}

static bool launch(struct carrying *self, const void *kernel, uint64_t grid, unsigned block,
                   size_t shared_bytes, bool follows)
{
    struct machine *machine = self->machine;
    void *arguments[] = {&self->argument, &self->heads, &self->tails};
    const struct launch launch = {.kernel = kernel,
                                  .arguments = arguments,
                                  .grid = grid,
                                  .block = 1u << block,
                                  .shared_bytes = shared_bytes,
                                  .cluster = 1,
                                  .follows = follows && machine->kernels->segments_follow()};
    self->argument.block = block;
    self->argument.most = self->schedule->shape.alone;
    return machine->launch(machine, &launch);
}

static bool make_tiles(struct carrying *self)
{
    enum { BLOCK = 8 };
    const struct segments_shape *shape = &self->schedule->shape;
    const uint64_t count = self->plan->segments->count;
    return launch(self, self->machine->kernels->survey(), divide_up(count, SURVEYED), BLOCK,
                  SURVEYED * sizeof(uint64_t), false) &&
           launch(self, self->schedule->tiles, shape->tiles, shape->tile_block,
                  shape->tile_shared_bytes, true);
}

static bool make_results(struct carrying *self)
{
    const struct segments_shape *shape = &self->schedule->shape;
    make_argument(self);
    return (!shape->tile || make_tiles(self)) &&
           launch(self, self->schedule->each, shape->grid, shape->block, shape->shared_bytes,
                  shape->tile > 0);
}

/* ---- the whole ---- */

static bool carry_out(struct carrying *self)
{
    const struct arena *arena = &self->schedule->arena;
    return along_clear(self->machine, arena, self->memory, PART_FINDINGS) &&
           along_clear(self->machine, arena, self->memory, PART_SPLITS) && bring_all(self) &&
           make_results(self) &&
           (self->plan->results.on_device ||
            along_fetch(self->machine, self->plan, address(self, PART_OUT),
                        address(self, PART_FINDINGS), self->run));
}

static bool fits(const struct run *run, uint64_t bytes, struct failure *failure)
{
    if (!run->workspace_limit || bytes <= run->workspace_limit)
        return true;
    failure_note(failure, FAILURE_MEMORY,
                 "segments take %llu bytes of the device at a time, and the workspace is limited "
                 "to %llu",
                 (unsigned long long)bytes, (unsigned long long)run->workspace_limit);
    return false;
}

/* Nobody waits for results that stay on the device, so they are made in memory of their own. */
bool segments_reduce(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct segments_schedule schedule;
    struct carrying self = {.machine = machine, .run = run, .plan = plan, .schedule = &schedule};
    const bool apart = plan->results.on_device;
    void *memory = NULL;
    if (!segments_schedule_make(plan, machine->kernels, machine->multiprocessors, &schedule,
                                machine->failure))
        return false;
    const size_t bytes = schedule.arena.total;
    if (!fits(run, bytes, machine->failure) ||
        (bytes && !(apart ? machine->lend : machine->allocate)(machine, bytes, &memory)))
        return false;
    self.memory = memory;
    const bool made = carry_out(&self);
    (apart ? machine->take_back : machine->release)(machine, memory);
    return made;
}
