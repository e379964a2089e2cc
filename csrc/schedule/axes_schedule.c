/* How the elements come to the kernel, what memory that takes, and the kernel's argument. */
#include "schedule/axes_schedule.h"

#include "arrays/operands.h"
#include "plan/widest.h"
#include "schedule/launch_problem.h"
#include "schedule/rows.h"

#include <string.h>

/* ---- what lies elsewhere, or is of another type ---- */

/* One of all dimensions, outer or reduced. */
struct dimension {
    uint64_t length;
    int64_t stride, mask_stride;
    int64_t *own, *masks; /* where the axes have these */
};

static unsigned list_dimensions(struct axes *axes, struct dimension *all)
{
    struct layout *reduced = &axes->reduced;
    unsigned count = 0;
    for (unsigned k = 0; k < axes->kept; k++)
        all[count++] = (struct dimension){axes->shape[k], axes->strides[k], axes->mask_strides[k],
                                          &axes->strides[k], &axes->mask_strides[k]};
    for (unsigned k = 0; k < reduced->dimensions; k++)
        all[count++] =
            (struct dimension){reduced->shape[k], reduced->strides[k], reduced->mask_strides[k],
                               &reduced->strides[k], &reduced->mask_strides[k]};
    return count;
}

/* The widest distance first, so that memory is read in its own order. */
static void sort_dimensions(struct dimension *all, unsigned count)
{
    for (unsigned next = 1; next < count; next++) {
        const struct dimension moved = all[next];
        unsigned k = next;
        for (; k > 0 && layout_distance(all[k - 1].stride) < layout_distance(moved.stride); k--)
            all[k] = all[k - 1];
        all[k] = moved;
    }
}

/* Elements that differ, or the mask's bytes, as a layout of their own without a mask, whose type it
 * has already, and the axes' strides as if these lay one after the other, `size` bytes each. */
static void compact(struct axes *axes, bool of_mask, size_t size, struct layout *to)
{
    struct dimension all[2 * DIMENSIONS_MAX];
    const unsigned count = list_dimensions(axes, all);
    int64_t stride = (int64_t)size;
    sort_dimensions(all, count);
    to->mask = NULL;
    to->dimensions = 0;
    for (unsigned k = 0; k < count; k++) {
        const int64_t apart = of_mask ? all[k].mask_stride : all[k].stride;
        if (apart) {
            to->shape[to->dimensions] = all[k].length;
            to->mask_strides[to->dimensions] = 0;
            to->strides[to->dimensions++] = apart;
        }
    }
    for (unsigned k = count; k-- > 0;) {
        int64_t *own = of_mask ? all[k].masks : all[k].own;
        if (*own) {
            *own = stride;
            stride *= (int64_t)all[k].length;
        }
    }
    layout_normalise(to, true);
}

/* ---- the schedule ---- */

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
    if (self->kernel)
        return true;
    *converts = true;
    self->accumulator = accumulator_widest(plan->accumulator);
    self->kernel = kernel_for(kernels, KERNEL_ALONG, self, self->accumulator, 0);
    return self->kernel;
}

/* Whether kernels take several narrow elements to a word; see `packs` in kernels/load/strided.cuh.
 */
static bool takes_words(enum fold fold, enum element accumulator)
{
    return !fold_is_indexed(fold) && state_bytes(fold, accumulator) <= sizeof(uint64_t) &&
           element_size(accumulator) <= sizeof(uint64_t);
}

/* Whether results are what the kernels of short rows make: of NumPy's type, and of elements and
 * nothing else. */
static bool makes_usual_results(const struct plan *plan, enum element input,
                                enum element accumulator)
{
    const struct finish *finish = &plan->finish;
    const enum element result = finish->result;
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
               result == (element_is_integer(input) ? accumulator : input);
    case FOLD_sum:
        if (element_is_integer(input) && result != accumulator)
            return false;
        if (element_is_integer(accumulator) && reduction_row(plan->reduction)->counts)
            return false;
        break;
    default:
        break;
    }
    return reduction_is_stored(plan->reduction) && !finish->has_initial && finish->from_nothing &&
           (result == input || (plan->fold == FOLD_sum && element_is_integer(input)));
}

/* The kinds of kernels that there are, and that can make these results: a bit each. */
static unsigned kernels_there(const struct kernels *kernels, const struct axes_schedule *self)
{
    const struct axes *axes = &self->axes;
    const enum element input = axes->reduced.input;
    const bool masked = axes->reduced.mask;
    if (axes->kept > DIMENSIONS_FEW || axes->reduced.dimensions > DIMENSIONS_FEW)
        return 0;
    unsigned asked = 1u << KERNEL_FEW | 1u << KERNEL_COLUMNS | 1u << KERNEL_TYPED_ROWS, there = 0;
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
    const enum fold fold = self->plan->fold;
    const bool brought = self->uploads || self->copy.kernel;
    const struct launch_problem problem = {
        .axes = axes,
        .data = brought ? 0 : (uintptr_t)axes->reduced.data,
        .multiprocessors = multiprocessors,
        .accumulator = self->accumulator,
        .state = self->state_bytes,
        .indexed = fold_is_indexed(fold),
        .packs = takes_words(fold, self->accumulator),
        .kernels = kernels_there(kernels, self),
    };
    launch_config_choose(&problem, &self->launch);
    if (self->launch.kernel != KERNEL_ALONG)
        self->kernel = kernel_for(kernels, self->launch.kernel, self, axes->reduced.input,
                                  launch_access(&self->launch));
}

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
    struct arena *arena = &self->arena;
    *arena = (struct arena){.total = 0};
    if (self->uploads)
        arena_reserve(arena, PART_UPLOADED, layout_length(&self->array),
                      element_size(self->array.input));
    if (self->uploads_mask)
        arena_reserve(arena, PART_MASK, layout_length(&self->mask), 1);
    if (self->copy.kernel)
        arena_reserve(arena, PART_COPY, layout_length(&self->array),
                      element_size(self->accumulator));
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
    const bool some = plan->n > 0, masked = some && plan->layout->mask;
    bool converts = false;
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
    self->uploads_mask = masked && !plan->mask_on_device;
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
    if (some && converts) {
        self->copy = step_gather(kernels, multiprocessors, layout_length(&self->array));
        self->copy.reads = self->uploads ? PART_UPLOADED : PART_ARRAY;
        self->copy.writes = PART_COPY;
    }
    if (converts)
        self->axes.reduced.input = self->axes.reduced.type = self->accumulator;
    choose_launch(kernels, multiprocessors, self);
    reserve_memory(self);
    return true;
}

static void list_outer(const struct axes *axes, uint64_t *shape, int64_t *strides,
                       int64_t *mask_strides, int64_t *output_strides)
{
    memcpy(shape, axes->shape, axes->kept * sizeof *shape);
    memcpy(strides, axes->strides, axes->kept * sizeof *strides);
    memcpy(mask_strides, axes->mask_strides, axes->kept * sizeof *mask_strides);
    memcpy(output_strides, axes->places, axes->kept * sizeof *output_strides);
}

/* The outer dimensions come after those that are reduced. */
static void list_any(const struct axes *axes, const struct layout *reduced,
                     struct kernel_axes_of_any *argument)
{
    struct layout *from = &argument->from;
    const unsigned behind = reduced->dimensions;
    layout_copy(reduced, from);
    list_outer(axes, from->shape + behind, from->strides + behind, from->mask_strides + behind,
               argument->output_strides);
}

static void list_few(const struct axes *axes, const struct layout *reduced,
                     struct kernel_axes *argument)
{
    struct outer_dimensions *outer = &argument->outer;
    layout_copy_few(reduced, &argument->from);
    list_outer(axes, outer->shape, outer->strides, outer->mask_strides, outer->output_strides);
}

void axes_schedule_argument(const struct axes_schedule *self, struct kernel_axes_of_any *of_any)
{
    const struct axes *axes = &self->axes;
    struct kernel_axes *argument = &of_any->of_few;
    struct kernel_rows rows;
    launch_rows(&self->launch, axes, self->accumulator, &rows);
    argument->launch = self->launch;
    argument->rows = rows.how;
    argument->results = axes->results;
    argument->counts = counts_mask(self);
    argument->outer.count = axes->kept;
    argument->outer.first = axes->first;
    if (self->launch.kernel == KERNEL_ALONG)
        list_any(axes, &rows.from, of_any);
    else
        list_few(axes, &rows.from, argument);
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
