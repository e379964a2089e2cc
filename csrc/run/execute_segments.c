/* What lies elsewhere is brought, what is of another type is copied; then the offsets are surveyed,
 * the tiles folded, and what they leave, or all segments one by one. */
#include "common/arithmetic.h"
#include "run/execute.h"
#include "run/executor.h"
#include "run/result.h"
#include "schedule/segments_schedule.h"

struct segments_execution {
    struct executor on; /* first, so that an executor is one of these */
    struct segments_schedule *schedule;
    struct kernel_segments argument;
    void *heads, *tails; /* states that tiles leave */
};

static bool bring_all(struct segments_execution *self)
{
    const struct executor *on = &self->on;
    struct segments_schedule *schedule = self->schedule;
    return (!schedule->uploads || executor_upload(on, &schedule->array, PART_UPLOADED)) &&
           (!schedule->copies ||
            executor_convert(on, &schedule->array, schedule->accumulator, PART_COPY)) &&
           (!schedule->uploads_offsets || executor_upload(on, &schedule->offsets, PART_OFFSETS)) &&
           (!schedule->copies_offsets ||
            executor_convert(on, &schedule->offsets, ELEMENT_INT64, PART_OFFSETS));
}

/* ---- launches ---- */

static void make_argument(struct segments_execution *self)
{
    const struct executor *on = &self->on;
    const struct plan *plan = on->plan;
    const struct segments_schedule *schedule = self->schedule;
    struct kernel_segments *argument = &self->argument;
    segments_schedule_argument(schedule, argument);
    argument->splits = executor_part(on, PART_SPLITS);
    argument->order =
        schedule->shape.tile ? (unsigned *)(argument->splits + schedule->shape.tiles + 1) : NULL;
    argument->result =
        executor_results(on, schedule->accumulator, executor_part(on, PART_FINDINGS));
    argument->of_none = scalar_widen(run_value_of_none(plan), plan->results.type);
    self->heads = executor_part(on, PART_PARTIALS);
    self->tails = self->heads
                      ? (char *)self->heads +
                            schedule->shape.tiles * state_bytes(plan->fold, schedule->accumulator)
                      : NULL;
}

static bool launch(struct segments_execution *self, const void *kernel, uint64_t grid,
                   unsigned block, size_t shared_bytes, bool follows)
{
    struct machine *machine = self->on.machine;
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
    return machine->work->launch(machine, &launch);
}

static bool make_tiles(struct segments_execution *self)
{
    enum { BLOCK = 8 };
    const struct segments_shape *shape = &self->schedule->shape;
    const uint64_t count = self->on.plan->segments->count;
    return launch(self, kernel_of_kind(self->on.machine->kernels, KERNEL_SURVEY),
                  divide_up(count, SURVEYED), BLOCK, SURVEYED * sizeof(uint64_t), false) &&
           launch(self, self->schedule->tiles, shape->tiles, shape->tile_block,
                  shape->tile_shared_bytes, true);
}

static bool make_results(struct segments_execution *self)
{
    const struct segments_shape *shape = &self->schedule->shape;
    make_argument(self);
    return (!shape->tile || make_tiles(self)) &&
           launch(self, self->schedule->each, shape->grid, shape->block, shape->shared_bytes,
                  shape->tile > 0);
}

/* ---- the whole ---- */

static bool make_segments(struct executor *on)
{
    struct segments_execution *self = (struct segments_execution *)on;
    return executor_clear(on, PART_FINDINGS) && executor_clear(on, PART_SPLITS) &&
           bring_all(self) && make_results(self) &&
           (on->plan->results.on_device ||
            executor_fetch(on, executor_part(on, PART_OUT), executor_part(on, PART_FINDINGS)));
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

bool execute_segments(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct segments_schedule schedule;
    if (!segments_schedule_make(plan, machine->kernels, machine->multiprocessors, &schedule,
                                machine->failure) ||
        !fits(run, schedule.arena.total, machine->failure))
        return false;
    struct segments_execution self = {.on = {machine, run, plan, &schedule.arena, NULL},
                                      .schedule = &schedule};
    return executor_run(&self.on, plan->results.on_device, make_segments);
}
