/* What lies elsewhere is brought, what is of another type is copied, one launch makes all results,
 * and these go where they are to be. */
#include "run/along.h"

#include "arrays/operands.h"
#include "common/arithmetic.h"

struct carrying {
    struct machine *machine;
    struct run *run;
    const struct plan *plan;
    struct axes_schedule *schedule;
    char *memory;       /* the arena */
    unsigned *findings; /* on the device; NULL: not asked for */
};

static void *address(const struct carrying *self, enum part part)
{
    return arena_part(&self->schedule->arena, self->memory, part);
}

/* ---- elements ---- */

static bool feed(const struct carrying *self, const struct layout *layout, enum part part)
{
    uint64_t fed;
    return self->machine->feed(self->machine, address(self, part), layout, 0, layout_length(layout),
                               &fed);
}

/* What is brought lies one after the other. */
static bool bring_array(struct carrying *self)
{
    struct axes_schedule *schedule = self->schedule;
    struct layout *array = &schedule->array;
    if (!feed(self, array, PART_UPLOADED))
        return false;
    array->data = schedule->axes.reduced.data = address(self, PART_UPLOADED);
    array->swapped = schedule->axes.reduced.swapped = false;
    array->shape[0] = layout_length(array);
    array->strides[0] = (int64_t)element_size(array->input);
    array->dimensions = 1;
    return true;
}

static bool bring_mask(struct carrying *self)
{
    struct axes_schedule *schedule = self->schedule;
    if (!feed(self, &schedule->mask, PART_MASK))
        return false;
    schedule->axes.reduced.mask = address(self, PART_MASK);
    return true;
}

uint64_t along_copy_grid(const struct machine *machine, uint64_t n)
{
    enum { BLOCKS_A_MULTIPROCESSOR = 8 };
    return least(divide_up(n, COPY_BLOCK), machine->multiprocessors * BLOCKS_A_MULTIPROCESSOR);
}

bool along_copy(struct machine *machine, const struct layout *layout, enum element type,
                void *target)
{
    uint64_t n = layout_length(layout), first = 0;
    void *shown = NULL;
    union scalar hidden = {0};
    void *arguments[] = {(void *)layout, &n, &target, &type, &hidden, &shown, &first};
    const struct launch launch = {
        .kernel = machine->kernels->copy_gathered(),
        .arguments = arguments,
        .grid = along_copy_grid(machine, n),
        .block = COPY_BLOCK,
        .cluster = 1,
    };
    return machine->launch(machine, &launch);
}

static bool make_copy(struct carrying *self)
{
    struct axes_schedule *schedule = self->schedule;
    void *copy = address(self, PART_COPY);
    schedule->axes.reduced.data = copy;
    return along_copy(self->machine, &schedule->array, schedule->accumulator, copy);
}

static bool bring_means(struct carrying *self)
{
    const struct means *means = self->plan->means;
    void *to = address(self, PART_MEANS);
    if (!means)
        return true;
    return means->here ? self->machine->copy_in(self->machine, to, means->here,
                                                means->count * sizeof *means->here)
                       : along_copy(self->machine, &means->there, ELEMENT_COMPLEX128, to);
}

static bool bring_elements(struct carrying *self)
{
    const struct axes_schedule *schedule = self->schedule;
    return (!schedule->uploads || bring_array(self)) &&
           (!schedule->uploads_mask || bring_mask(self)) && (!schedule->copy || make_copy(self)) &&
           bring_means(self);
}

/* ---- results ---- */

size_t along_bytes(const struct plan *plan)
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

struct kernel_results along_results(const struct plan *plan, enum element accumulator, void *out,
                                    unsigned *findings)
{
    const struct reduction_row *row = reduction_row(plan->reduction);
    struct kernel_results results = {
        .values = plan->results.values,
        .reduction = plan->reduction,
        .fold = plan->fold,
        .nothing = row->nothing,
        .finish = finish_in(&plan->finish, accumulator),
        .at_once = is_stored_at_once(plan, accumulator),
        .divisor = row->counts ? (double)plan->n : 0,
        .findings = findings,
    };
    results.finish.count = plan->n;
    for (unsigned k = 0; k < results.values; k++) {
        const enum element type = plan->results.types[k];
        results.types[k] = (unsigned char)type;
        results.bytes[k] = (unsigned char)element_size(type);
        results.at[k] =
            plan->results.on_device ? plan->results.at[k] : (char *)out + k * along_bytes(plan);
    }
    return results;
}

/* Those of the arena have to be cleared. */
static void *tickets_of(const struct carrying *self)
{
    const bool suffice = axes_shape_tickets(&self->schedule->shape) <= TICKETS;
    return suffice && self->machine->tickets ? self->machine->tickets : address(self, PART_TICKETS);
}

static bool make_results(struct carrying *self)
{
    struct machine *machine = self->machine;
    const struct axes_shape *shape = &self->schedule->shape;
    struct kernel_axes_of_any axes;
    void *partials = address(self, PART_PARTIALS), *counts = address(self, PART_COUNTED),
         *tickets = tickets_of(self);
    void *arguments[] = {&axes, &partials, &counts, &tickets};
    axes_schedule_argument(self->schedule, &axes);
    axes.of_few.result = along_results(self->plan, self->schedule->accumulator,
                                       address(self, PART_OUT), self->findings);
    axes.of_few.result.means = address(self, PART_MEANS);
    const struct launch launch = {
        .kernel = self->schedule->kernel,
        .arguments = arguments,
        .grid = shape->groups * shape->splits,
        .block = 1u << shape->block,
        .shared_bytes = self->schedule->shared_bytes,
        .cluster = 1,
    };
    return machine->launch(machine, &launch);
}

bool along_fetch(struct machine *machine, const struct plan *plan, const char *values,
                 const unsigned *findings, struct run *run)
{
    const struct results *results = &plan->results;
    unsigned found = 0;
    for (unsigned k = 0; k < results->values; k++)
        if (!machine->copy_out(machine, results->at[k], values + k * along_bytes(plan),
                               plan->axes->results * element_size(results->types[k])))
            return false;
    if (!machine->copy_out(machine, &found, findings, sizeof found))
        return false;
    run->findings |= found;
    return true;
}

/* ---- the whole ---- */

bool along_clear(struct machine *machine, const struct arena *arena, char *memory, enum part part)
{
    void *at = arena_part(arena, memory, part);
    return !at || machine->clear(machine, at, arena->bytes[part]);
}

static bool clear(const struct carrying *self, enum part part)
{
    return along_clear(self->machine, &self->schedule->arena, self->memory, part);
}

static bool carry_out(struct carrying *self)
{
    if (!self->findings)
        self->findings = address(self, PART_FINDINGS);
    const bool fresh = tickets_of(self) != address(self, PART_TICKETS);
    return (fresh || clear(self, PART_TICKETS)) && clear(self, PART_FINDINGS) &&
           bring_elements(self) && make_results(self) &&
           (self->plan->results.on_device ||
            along_fetch(self->machine, self->plan, address(self, PART_OUT), self->findings,
                        self->run));
}

/* Nobody waits for results that stay on the device, so that the memory they are made in is left to
 * the stream before it is released: another call may have it once these are there. */
bool along_carry_out(struct machine *machine, struct axes_schedule *schedule, unsigned *findings,
                     struct run *run)
{
    struct carrying self = {.machine = machine,
                            .run = run,
                            .plan = schedule->plan,
                            .schedule = schedule,
                            .findings = findings};
    const size_t bytes = schedule->arena.total;
    void *memory = NULL;
    if (bytes && !machine->allocate(machine, bytes, &memory))
        return false;
    self.memory = memory;
    const bool made = carry_out(&self);
    const bool left = !made || !bytes || !self.plan->results.on_device || machine->leave(machine);
    machine->release(machine, memory);
    return made && left;
}
