#include "run/execute.h"

/* ---- memory ---- */

bool executor_run(struct executor *self, bool nobody_waits, bool (*work)(struct executor *))
{
    struct machine *machine = self->machine;
    const size_t bytes = self->arena->total;
    void *memory = NULL;
    if (bytes && !machine->memory->allocate(machine, bytes, &memory))
        return false;
    self->memory = memory;
    const bool done = work(self);
    const bool left = !done || !bytes || !nobody_waits || machine->memory->leave(machine);
    machine->memory->release(machine, memory);
    return done && left;
}

bool executor_clear(const struct executor *self, enum part part)
{
    void *at = executor_part(self, part);
    return !at || self->machine->memory->clear(self->machine, at, self->arena->bytes[part]);
}

/* ---- elements ---- */

static void lie_flat(struct layout *layout, const void *at)
{
    const uint64_t n = layout_length(layout);
    layout->data = at;
    layout->swapped = false;
    layout->dimensions = 1;
    layout->shape[0] = n;
    layout->strides[0] = (int64_t)element_size(layout->input);
    layout->mask_strides[0] = 0;
}

bool executor_upload(const struct executor *self, struct layout *layout, enum part part)
{
    void *const at = executor_part(self, part);
    uint64_t fed;
    if (!self->machine->memory->feed(self->machine, at, layout, 0, layout_length(layout), &fed))
        return false;
    lie_flat(layout, at);
    return true;
}

bool executor_convert(const struct executor *self, struct layout *layout, enum element type,
                      enum part part)
{
    void *const at = executor_part(self, part);
    if (!executor_gather(self, layout, type, at))
        return false;
    layout->input = type;
    lie_flat(layout, at);
    return true;
}

bool executor_gather(const struct executor *self, const struct layout *layout, enum element type,
                     void *target)
{
    const struct machine *machine = self->machine;
    const struct step step =
        step_gather(machine->kernels, machine->multiprocessors, PART_ARRAY, layout_length(layout));
    return executor_copy(self, &step,
                         (struct copying){.array = layout, .type = type, .target = target});
}

bool executor_copy(const struct executor *self, const struct step *step, struct copying copying)
{
    uint64_t n = step->n;
    void *arguments[] = {
        (void *)copying.array, &n, &copying.target, &copying.type, &copying.fill, &copying.valid,
        &copying.first};
    return machine_launch_step(self->machine, step, arguments);
}

/* ---- results ---- */

size_t results_bytes(const struct plan *plan)
{
    return plan->axes->results * results_widest(&plan->results);
}

/* Whether a value of one type is that of the other when it is rounded or cut to it, whatever has
 * been made of it before. */
static bool becomes(enum element accumulator, enum element result, bool divided)
{
    if (divided && element_is_integer(accumulator))
        return false;
    if (result == accumulator)
        return !element_is_complex(result);
    if (accumulator == ELEMENT_FLOAT32)
        return !divided && (result == ELEMENT_FLOAT16 || result == ELEMENT_BFLOAT16);
    if (accumulator == ELEMENT_FLOAT64)
        return result == ELEMENT_FLOAT32;
    return element_is_integer(accumulator) && element_is_integer(result) &&
           result != ELEMENT_BOOL && element_size(result) <= element_size(accumulator);
}

/* Whether a result is the state or that divided. */
static bool is_stored_at_once(const struct plan *plan, enum element accumulator)
{
    const struct finish *finish = &plan->finish;
    const bool counted = plan->counts && plan->layout->mask;
    return plan->n > 0 && !counted && reduction_is_stored(plan->reduction) &&
           !finish->has_initial && finish->from_nothing &&
           becomes(accumulator, finish->result, reduction_row(plan->reduction)->counts);
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
        .at_once = is_stored_at_once(plan, accumulator),
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
    for (unsigned k = 0; k < results->values; k++)
        if (!machine->memory->copy_out(machine, results->at[k], values + k * results_bytes(plan),
                                       plan->axes->results * element_size(results->types[k])))
            return false;
    if (!machine->memory->copy_out(machine, &found, findings, sizeof found))
        return false;
    self->run->findings |= found;
    return true;
}
