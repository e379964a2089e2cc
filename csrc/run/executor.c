/* What carries schedules out, and those along axes and of segments: what lies elsewhere is brought,
 * what is of another type is copied, and what kernels make goes where it is to be. */
#include "arrays/operands.h"
#include "common/arithmetic.h"
#include "run/execute.h"
#include "run/result.h"
#include "schedule/epilogue.h"
#include "schedule/segments_schedule.h"

/* ---- memory ---- */

bool executor_begin(struct executor *self)
{
    struct machine *machine = self->machine;
    void *memory = NULL;
    if (self->arena->total && !machine->memory->allocate(machine, self->arena->total, &memory))
        return false;
    self->memory = memory;
    return true;
}

bool executor_end(struct executor *self, bool nobody_waits, bool done)
{
    struct machine *machine = self->machine;
    char *const memory = self->memory;
    const bool left = !done || !memory || !nobody_waits || machine->memory->leave(machine);
    machine->memory->release(machine, memory);
    return done && left;
}

bool executor_clear(const struct executor *self, enum part part)
{
    void *at = executor_part(self, part);
    return !at || self->machine->memory->clear(self->machine, at, self->arena->bytes[part]);
}

/* ---- elements ---- */

bool executor_copy(const struct executor *self, const struct step *step, struct copying copying)
{
    uint64_t n = step->n;
    void *arguments[] = {
        (void *)copying.array, &n, &copying.target, &copying.type, &copying.fill, &copying.valid,
        &copying.first};
    return executor_launch(self, step, arguments);
}

bool executor_gather(const struct executor *self, const struct layout *layout, enum element type,
                     void *target)
{
    const struct step step = step_gather(&self->machine->facts, PART_ARRAY, layout_length(layout));
    return executor_copy(self, &step,
                         (struct copying){.array = layout, .type = type, .target = target});
}

/* Brings all elements of a layout in the host's memory to the part `uploaded`, and then copies
 * them, converted, to `copied`, as far as there are such parts; the layout is of these then. */
static bool bring(const struct executor *self, struct layout *layout, enum part uploaded,
                  enum part copied, enum element type)
{
    const uint64_t n = layout_length(layout);
    void *at = executor_part(self, uploaded);
    uint64_t fed;
    if (at) {
        if (!self->machine->memory->feed(self->machine, at, layout, 0, n, &fed))
            return false;
        layout->data = at;
        layout->swapped = false;
        layout_make_flat(layout, n);
    }
    at = executor_part(self, copied);
    if (at) {
        if (!executor_gather(self, layout, type, at))
            return false;
        layout->data = at;
        layout->input = type;
        layout->swapped = false;
        layout_make_flat(layout, n);
    }
    return true;
}

/* ---- results ---- */

size_t results_bytes(const struct plan *plan)
{
    return plan->axes->results * results_widest(&plan->results);
}

struct kernel_results executor_results(const struct executor *self, enum element accumulator,
                                       unsigned *findings)
{
    const struct plan *plan = self->plan;
    const struct reduction_row *row = reduction_row(plan->reduction);
    char *const out = executor_part(self, PART_OUT);
    struct kernel_results results = {
        .values = plan->results.values,
        .reduction = plan->reduction,
        .fold = plan->fold,
        .nothing = row->nothing,
        .finish = finish_in(&plan->finish, accumulator),
        .at_once = epilogue_stores_at_once(plan, accumulator),
        .value_bits = UINT64_MAX,
        .divisor = row->counts ? (double)plan->n : 0,
        .findings = findings,
        .means = executor_part(self, PART_MEANS),
    };
    results.finish.count = plan->n;
    for (unsigned k = 0; k < results.values; k++) {
        const enum element type = plan->results.types[k];
        results.types[k] = (unsigned char)type;
        results.bytes[k] = (unsigned char)element_size(type);
        results.at[k] =
            plan->results.on_device ? plan->results.at[k] : out + k * results_bytes(plan);
    }
    return results;
}

bool executor_fetch(const struct executor *self, const char *values, const unsigned *findings)
{
    struct machine *machine = self->machine;
    const struct plan *plan = self->plan;
    const struct results *results = &plan->results;
    unsigned found = 0;
    run_meanwhile(self->run);
    for (unsigned k = 0; k < results->values; k++)
        if (!machine->memory->copy_out(machine, results->at[k], values + k * results_bytes(plan),
                                       plan->axes->results * element_size(results->types[k])))
            return false;
    if (!machine->memory->copy_out(machine, &found, findings, sizeof found))
        return false;
    self->run->findings |= found;
    return true;
}

/* ---- along axes ---- */

static bool bring_means(const struct executor *on)
{
    const struct means *means = on->plan->means;
    void *to = executor_part(on, PART_MEANS);
    if (!means)
        return true;
    return means->here ? on->machine->memory->copy_in(on->machine, to, means->here,
                                                      means->count * sizeof *means->here)
                       : executor_gather(on, &means->there, ELEMENT_COMPLEX128, to);
}

static bool bring_elements(const struct executor *on, struct axes_schedule *schedule)
{
    struct layout *array = &schedule->array, *mask = &schedule->mask,
                  *reduced = &schedule->axes.reduced;
    if (!bring(on, array, PART_UPLOADED, PART_COPY, schedule->accumulator) ||
        !bring(on, mask, PART_MASK, PARTS, ELEMENT_BOOL))
        return false;
    if (schedule->uploads || schedule->copy.kernel)
        reduced->data = array->data;
    if (schedule->uploads)
        reduced->swapped = false;
    if (schedule->uploads_mask)
        reduced->mask = mask->data;
    return bring_means(on);
}

static bool make_exact_axes(const struct executor *on, const struct axes_schedule *schedule)
{
    const struct step step = axes_schedule_step(schedule);
    struct kernel_exact_along axes;
    void *arguments[] = {&axes};
    exact_along_argument(schedule, &axes);
    axes.tickets = executor_part(on, PART_TICKETS);
    axes.words = executor_part(on, PART_PARTIALS);
    return executor_clear(on, PART_TICKETS) && executor_clear(on, PART_PARTIALS) &&
           executor_launch(on, &step, arguments);
}

/* The machine's own tickets are 0, and those of the arena have to be cleared. */
static bool make_axes(const struct executor *on, struct axes_schedule *schedule, unsigned *findings)
{
    const struct step step = axes_schedule_step(schedule);
    struct kernel_axes_of_any axes;
    void *partials = executor_part(on, PART_PARTIALS), *counts = executor_part(on, PART_COUNTED),
         *tickets = on->machine->tickets;
    void *arguments[] = {&axes, &partials, &counts, &tickets};
    if (!tickets || launch_tickets(&schedule->launch) > TICKETS) {
        tickets = executor_part(on, PART_TICKETS);
        if (!executor_clear(on, PART_TICKETS))
            return false;
    }
    if (!executor_clear(on, PART_FINDINGS) || !bring_elements(on, schedule))
        return false;
    axes_schedule_argument(schedule, &axes);
    axes.of_few.result = executor_results(on, schedule->accumulator, findings);
    if (launch_knows_type(&schedule->launch))
        epilogue_order(schedule->axes.reduced.input, &axes.of_few.result);
    return executor_launch(on, &step, arguments) &&
           (on->plan->results.on_device ||
            executor_fetch(on, executor_part(on, PART_OUT), findings));
}

bool execute_axes_schedule(struct machine *machine, struct axes_schedule *schedule,
                           unsigned *findings, struct run *run)
{
    const struct plan *plan = schedule->plan;
    struct executor on = {machine, run, plan, &schedule->arena, NULL};
    if (!executor_begin(&on))
        return false;
    if (!findings)
        findings = executor_part(&on, PART_FINDINGS);
    return executor_end(&on, plan->results.on_device,
                        plan->exact ? make_exact_axes(&on, schedule)
                                    : make_axes(&on, schedule, findings));
}

/* ---- of segments ---- */

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
           bring(on, &schedule->array, PART_UPLOADED, PART_COPY, schedule->accumulator) &&
           bring(on, &schedule->offsets, schedule->uploads_offsets ? PART_OFFSETS : PARTS,
                 schedule->copies_offsets ? PART_OFFSETS : PARTS, ELEMENT_INT64) &&
           launch_all(on, schedule) &&
           (on->plan->results.on_device ||
            executor_fetch(on, executor_part(on, PART_OUT), executor_part(on, PART_FINDINGS)));
}

bool execute_segments(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct segments_schedule schedule;
    if (!segments_schedule_make(plan, &machine->facts, &schedule, machine->failure))
        return false;
    const uint64_t bytes = schedule.arena.total;
    if (run->workspace_limit && bytes > run->workspace_limit)
        return failure_note(machine->failure, FAILURE_MEMORY,
                            "segments take %llu bytes of the device at a time, and the workspace "
                            "is limited to %llu",
                            (unsigned long long)bytes, (unsigned long long)run->workspace_limit);
    struct executor on = {machine, run, plan, &schedule.arena, NULL};
    return executor_begin(&on) &&
           executor_end(&on, plan->results.on_device, make_segments(&on, &schedule));
}
