/* Of segments: what lies elsewhere is brought, what is of another type is copied; then the offsets
 * are surveyed, the tiles folded, and what they leave, or all segments one by one. */
#include "common/arithmetic.h"
#include "run/execute.h"
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
    struct layout *array = &schedule->array, *offsets = &schedule->offsets;
    return (!schedule->uploads || executor_upload(on, array, PART_UPLOADED)) &&
           (!schedule->copies || executor_convert(on, array, schedule->accumulator, PART_COPY)) &&
           (!schedule->uploads_offsets || executor_upload(on, offsets, PART_OFFSETS)) &&
           (!schedule->copies_offsets ||
            executor_convert(on, offsets, ELEMENT_INT64, PART_OFFSETS));
}

/* ---- launches ---- */

static void make_argument(struct segments_execution *self)
{
    const struct executor *on = &self->on;
    const struct plan *plan = on->plan;
    const struct segments_schedule *schedule = self->schedule;
    const struct segments_shape *shape = &schedule->shape;
    uint64_t *const splits = executor_part(on, PART_SPLITS);
    char *const heads = executor_part(on, PART_PARTIALS);
    self->argument = (struct kernel_segments){
        .of = *plan->segments,
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
    self->argument.of.offsets = schedule->offsets.data;
    self->heads = heads;
    self->tails =
        heads ? heads + shape->tiles * state_bytes(plan->fold, schedule->accumulator) : NULL;
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
    return machine->work->launch(machine, &launch);
}

static bool make_results(struct segments_execution *self)
{
    enum { BLOCK = 8 };
    const struct segments_schedule *schedule = self->schedule;
    const struct segments_shape *shape = &schedule->shape;
    make_argument(self);
    if (shape->tile && !(launch(self, kernel_of_kind(self->on.machine->kernels, KERNEL_SURVEY),
                                divide_up(self->on.plan->segments->count, SURVEYED), BLOCK,
                                SURVEYED * sizeof(uint64_t), false) &&
                         launch(self, schedule->tiles, shape->tiles, shape->tile_block,
                                shape->tile_shared_bytes, true)))
        return false;
    return launch(self, schedule->each, shape->grid, shape->block, shape->shared_bytes,
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

bool execute_segments(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct segments_schedule schedule;
    if (!segments_schedule_make(plan, machine->kernels, machine->multiprocessors, &schedule,
                                machine->failure))
        return false;
    const uint64_t bytes = schedule.arena.total;
    if (run->workspace_limit && bytes > run->workspace_limit) {
        failure_note(machine->failure, FAILURE_MEMORY,
                     "segments take %llu bytes of the device at a time, and the workspace is "
                     "limited to %llu",
                     (unsigned long long)bytes, (unsigned long long)run->workspace_limit);
        return false;
    }
    struct segments_execution self = {.on = {machine, run, plan, &schedule.arena, NULL},
                                      .schedule = &schedule};
    return executor_run(&self.on, plan->results.on_device, make_segments);
}
