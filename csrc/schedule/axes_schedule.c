/* How the elements come to the kernel, what memory that takes, and the kernel's argument. */
#include "schedule/axes_schedule.h"

#include "arrays/operands.h"

#include <string.h>

/* ---- what lies elsewhere, or is of another type ---- */

/* One of all dimensions, outer or reduced, and where the axes have the stride that is asked for. */
struct dimension {
    uint64_t length, distance;
    int64_t *stride;
};

/* The widest distance first, so that memory is read in its own order. */
static void insert(struct dimension *all, unsigned count, struct dimension added)
{
    for (; count > 0 && all[count - 1].distance < added.distance; count--)
        all[count] = all[count - 1];
    all[count] = added;
}

/* Elements that differ, or the mask's bytes, as a layout of their own without a mask, whose type it
 * has already, and the axes' strides as if these lay one after the other, `size` bytes each. */
static void compact(struct axes *axes, bool of_mask, size_t size, struct layout *to)
{
    struct dimension all[2 * DIMENSIONS_MAX];
    struct layout *reduced = &axes->reduced;
    int64_t *outer = of_mask ? axes->mask_strides : axes->strides,
            *inner = of_mask ? reduced->mask_strides : reduced->strides, stride = (int64_t)size;
    unsigned count = 0;
    for (unsigned k = 0; k < axes->kept; k++)
        insert(all, count++,
               (struct dimension){axes->shape[k], layout_distance(axes->strides[k]), &outer[k]});
    for (unsigned k = 0; k < reduced->dimensions; k++)
        insert(
            all, count++,
            (struct dimension){reduced->shape[k], layout_distance(reduced->strides[k]), &inner[k]});
    to->mask = NULL;
    to->dimensions = 0;
    for (unsigned k = 0; k < count; k++)
        if (*all[k].stride) {
            to->shape[to->dimensions] = all[k].length;
            to->mask_strides[to->dimensions] = 0;
            to->strides[to->dimensions++] = *all[k].stride;
        }
    for (unsigned k = count; k-- > 0;)
        if (*all[k].stride) {
            *all[k].stride = stride;
            stride *= (int64_t)all[k].length;
        }
    layout_normalise(to, true);
}

/* ---- the kernel, and its launch ---- */

static const void *kernel_for(const struct kernels *kernels, enum kernel_kind kind,
                              const struct axes_schedule *self, enum element input,
                              enum kernel_access access)
{
    return kernel_find(kernels, (struct kernel_key){.kind = kind,
                                                    .fold = self->plan->fold,
                                                    .input = input,
                                                    .accumulator = self->accumulator,
                                                    .variant = access});
}

/* Kernels take what becomes their accumulator directly; all else is copied, of the widest type. */
static bool choose_kernel(const struct kernels *kernels, struct axes_schedule *self, bool *converts)
{
    const struct plan *plan = self->plan;
    self->accumulator = accumulator_of_rows(plan->accumulator);
    self->kernel = choice_takes_rows(plan)
                       ? kernel_for(kernels, KERNEL_ALONG, self, plan->layout->input, 0)
                       : NULL;
    *converts = !self->kernel;
    if (*converts) {
        self->accumulator = accumulator_widest(plan->accumulator);
        self->kernel = kernel_for(kernels, KERNEL_ALONG, self, self->accumulator, 0);
    }
    return self->kernel;
}

/* Whether kernels take several narrow elements to a word; see `packs` in kernels/load/strided.cuh.
 */
static bool takes_words(const struct axes_schedule *self)
{
    return !fold_is_indexed(self->plan->fold) && self->state_bytes <= sizeof(uint64_t) &&
           element_size(self->accumulator) <= sizeof(uint64_t);
}

/* Whether results are what the kernels of short rows make: of NumPy's type, and of elements and
 * nothing else. */
static bool makes_usual_results(const struct plan *plan, enum element input,
                                enum element accumulator)
{
    const struct finish *finish = &plan->finish;
    const enum element result = finish->result;
    const bool integers = element_is_integer(input);
    if (plan->results.values != 1)
        return false;
    switch (plan->fold) {
    case FOLD_argmin:
    case FOLD_argmax:
        return result == ELEMENT_INT64;
    case FOLD_nonzero:
        return input == ELEMENT_BOOL && result == ELEMENT_BOOL;
    case FOLD_variance:
        return !plan->means && (double)plan->n > finish->ddof &&
               result == (integers ? accumulator : input);
    case FOLD_sum:
        if ((integers && result != accumulator) ||
            (element_is_integer(accumulator) && reduction_row(plan->reduction)->counts))
            return false;
        break;
    default:
        break;
    }
    return reduction_is_stored(plan->reduction) && !finish->has_initial && finish->from_nothing &&
           (result == input || (plan->fold == FOLD_sum && integers));
}

/* The kinds of kernels that there are, and that can make these results: a bit each. */
static unsigned kernels_there(const struct kernels *kernels, const struct axes_schedule *self)
{
    const struct axes *axes = &self->axes;
    const enum element input = axes->reduced.input;
    const bool masked = axes->reduced.mask;
    unsigned asked = 1u << KERNEL_FEW | 1u << KERNEL_COLUMNS | 1u << KERNEL_TYPED_ROWS, there = 0;
    if (axes->kept > DIMENSIONS_FEW || axes->reduced.dimensions > DIMENSIONS_FEW)
        return 0;
    if (!masked)
        asked |= 1u << KERNEL_TYPED_COLUMNS;
    if (makes_usual_results(self->plan, input, self->accumulator))
        asked |= 1u << KERNEL_TYPED_SHORT_ROWS | (unsigned)!masked << KERNEL_UNSPLIT_COLUMNS;
    for (unsigned kind = KERNEL_FEW; kind <= KERNEL_TYPED_SHORT_ROWS; kind++)
        if (asked >> kind & 1 && kernel_for(kernels, kind, self, input, ACCESS_ALIGNED))
            there |= 1u << kind;
    return there;
}

static void choose_launch(const struct kernels *kernels, unsigned multiprocessors,
                          struct axes_schedule *self)
{
    const struct axes *axes = &self->axes;
    const bool brought = self->uploads || self->copy.kernel;
    const struct launch_problem problem = {
        .axes = axes,
        .data = brought ? 0 : (uintptr_t)axes->reduced.data,
        .multiprocessors = multiprocessors,
        .accumulator = self->accumulator,
        .state = self->state_bytes,
        .indexed = fold_is_indexed(self->plan->fold),
        .packs = takes_words(self),
        .kernels = kernels_there(kernels, self),
    };
    launch_config_choose(&problem, &self->launch);
    if (self->launch.kernel != KERNEL_ALONG)
        self->kernel = kernel_for(kernels, self->launch.kernel, self, axes->reduced.input,
                                  launch_access(&self->launch));
}

/* ---- the schedule ---- */

/* Whether kernels count what a mask lets through. */
static bool counts_mask(const struct axes_schedule *self)
{
    return self->axes.reduced.mask && self->plan->counts;
}

static void reserve_memory(struct axes_schedule *self)
{
    const struct plan *plan = self->plan;
    const struct results *results = &plan->results;
    const struct launch_config *launch = &self->launch;
    const uint64_t length = layout_length(&self->array);
    struct arena *arena = &self->arena;
    *arena = (struct arena){.total = 0};
    if (self->uploads)
        arena_reserve(arena, PART_UPLOADED, length, element_size(self->array.input));
    if (self->uploads_mask)
        arena_reserve(arena, PART_MASK, layout_length(&self->mask), 1);
    if (self->copy.kernel)
        arena_reserve(arena, PART_COPY, length, element_size(self->accumulator));
    if (launch->splits > 1) {
        const uint64_t count = launch->splits * self->axes.results;
        arena_reserve(arena, PART_PARTIALS, count, self->state_bytes);
        if (counts_mask(self))
            arena_reserve(arena, PART_COUNTED, count, sizeof(uint64_t));
        arena_reserve(arena, PART_TICKETS, launch_tickets(launch), sizeof(unsigned));
    }
    if (plan->means)
        arena_reserve(arena, PART_MEANS, plan->means->count, sizeof(struct complex128));
    if (results->on_device)
        return;
    arena_reserve(arena, PART_FINDINGS, 1, sizeof(unsigned));
    arena_reserve(arena, PART_OUT, self->axes.results, results->values * results_widest(results));
}

bool axes_schedule_make(const struct plan *plan, const struct kernels *kernels,
                        unsigned multiprocessors, struct axes_schedule *self,
                        struct failure *failure)
{
    const bool some = plan->n > 0;
    bool converts;
    if (plan->exact)
        return exact_along_schedule(plan, kernels, multiprocessors, self);
    self->plan = plan;
    axes_copy(plan->axes, &self->axes);
    self->array.dimensions = self->mask.dimensions = 0;
    self->copy = (struct step){.kernel = NULL};
    if (!choose_kernel(kernels, self, &converts)) {
        failure_note(failure, FAILURE_VALUE, "there is no kernel along axes for %s",
                     reduction_row(plan->reduction)->called);
        return false;
    }
    self->state_bytes = state_bytes(plan->fold, self->accumulator);
    self->uploads = some && !plan->on_device;
    self->uploads_mask = some && plan->layout->mask && !plan->mask_on_device;
    if (self->uploads_mask) {
        self->mask = (struct layout){
            .data = self->axes.reduced.mask, .input = ELEMENT_BOOL, .type = ELEMENT_BOOL};
        compact(&self->axes, true, 1, &self->mask);
    }
    if (self->uploads || (some && converts)) {
        layout_copy(&self->axes.reduced, &self->array);
        compact(&self->axes, false, element_size(converts ? self->accumulator : self->array.input),
                &self->array);
    }
    if (some && converts)
        self->copy =
            step_gather(kernels, multiprocessors, self->uploads ? PART_UPLOADED : PART_ARRAY,
                        layout_length(&self->array));
    if (converts)
        self->axes.reduced.input = self->axes.reduced.type = self->accumulator;
    choose_launch(kernels, multiprocessors, self);
    reserve_memory(self);
    return true;
}

/* ---- what is launched ---- */

static void list_outer(const struct axes *axes, uint64_t *shape, int64_t *strides,
                       int64_t *mask_strides, int64_t *output_strides)
{
    memcpy(shape, axes->shape, axes->kept * sizeof *shape);
    memcpy(strides, axes->strides, axes->kept * sizeof *strides);
    memcpy(mask_strides, axes->mask_strides, axes->kept * sizeof *mask_strides);
    memcpy(output_strides, axes->places, axes->kept * sizeof *output_strides);
}

void axes_schedule_argument(const struct axes_schedule *self, struct kernel_axes_of_any *of_any)
{
    const struct axes *axes = &self->axes;
    struct kernel_axes *argument = &of_any->of_few;
    struct outer_dimensions *outer = &argument->outer;
    struct kernel_rows rows;
    launch_rows(&self->launch, axes, self->accumulator, &rows);
    argument->launch = self->launch;
    argument->rows = rows.how;
    argument->results = axes->results;
    argument->counts = counts_mask(self);
    outer->count = axes->kept;
    outer->first = axes->first;
    if (self->launch.kernel == KERNEL_ALONG) {
        struct layout *from = &of_any->from;
        const unsigned behind = rows.from.dimensions;
        layout_copy(&rows.from, from);
        list_outer(axes, from->shape + behind, from->strides + behind, from->mask_strides + behind,
                   of_any->output_strides);
    } else {
        layout_copy_few(&rows.from, &argument->from);
        list_outer(axes, outer->shape, outer->strides, outer->mask_strides, outer->output_strides);
    }
}

struct step axes_schedule_step(const struct axes_schedule *self)
{
    const struct launch_config *launch = &self->launch;
    return (struct step){.kernel = self->kernel,
                         .reads = self->copy.kernel ? PART_COPY
                                  : self->uploads   ? PART_UPLOADED
                                                    : PART_ARRAY,
                         .writes = self->plan->results.out ? PART_RESULTS : PART_OUT,
                         .n = self->plan->n * self->axes.results,
                         .grid = launch_grid(launch),
                         .block = 1u << launch->block,
                         .shared_bytes = launch->shared_bytes,
                         .cluster = 1};
}
