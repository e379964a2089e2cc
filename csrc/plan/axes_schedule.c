/* How the elements come to the kernel, what memory that takes, and the kernel's argument. */
#include "plan/axes_schedule.h"

#include "arrays/operands.h"
#include "plan/columns_shape.h"
#include "plan/long_rows_shape.h"
#include "plan/short_rows_shape.h"
#include "plan/widest.h"

#include <string.h>

/* ---- what lies elsewhere, or is of another type ---- */

/* One of all dimensions, kept or reduced. */
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

/* Elements that differ as a layout of their own, and the axes' strides as if these lay one after
 * the other, `size` bytes each. */
static void compact_array(struct axes *axes, size_t size, struct layout *array)
{
    struct dimension all[2 * DIMENSIONS_MAX];
    const unsigned count = list_dimensions(axes, all);
    int64_t stride = (int64_t)size;
    sort_dimensions(all, count);
    *array = axes->reduced;
    array->mask = NULL;
    array->dimensions = 0;
    for (unsigned k = 0; k < count; k++)
        if (all[k].stride) {
            array->shape[array->dimensions] = all[k].length;
            array->mask_strides[array->dimensions] = 0;
            array->strides[array->dimensions++] = all[k].stride;
        }
    for (unsigned k = count; k-- > 0;)
        if (all[k].stride) {
            *all[k].own = stride;
            stride *= (int64_t)all[k].length;
        }
    layout_normalise(array, true);
}

/* The same of the mask's bytes. */
static void compact_mask(struct axes *axes, struct layout *mask)
{
    struct dimension all[2 * DIMENSIONS_MAX];
    const unsigned count = list_dimensions(axes, all);
    int64_t stride = 1;
    sort_dimensions(all, count);
    *mask =
        (struct layout){.data = axes->reduced.mask, .input = ELEMENT_BOOL, .type = ELEMENT_BOOL};
    for (unsigned k = 0; k < count; k++)
        if (all[k].mask_stride) {
            mask->shape[mask->dimensions] = all[k].length;
            mask->strides[mask->dimensions++] = all[k].mask_stride;
        }
    for (unsigned k = count; k-- > 0;)
        if (all[k].mask_stride) {
            *all[k].masks = stride;
            stride *= (int64_t)all[k].length;
        }
    layout_normalise(mask, true);
}

/* ---- the schedule ---- */

/* Kernels take what becomes their accumulator directly; all else is copied, of the widest type. */
static bool choose_kernel(const struct kernels *kernels, struct axes_schedule *self)
{
    const struct plan *plan = self->plan;
    const enum element input = plan->layout->input, rows = accumulator_of_rows(plan->accumulator);
    const bool holds = rows == plan->accumulator || element_accumulator(input) == plan->accumulator;
    self->copy = NULL;
    self->accumulator = rows;
    self->kernel =
        plan->direct && holds ? kernels->along(plan->fold, input, self->accumulator) : NULL;
    if (self->kernel)
        return true;
    self->copy = kernels->copy_gathered();
    self->accumulator = accumulator_widest(plan->accumulator);
    self->kernel = kernels->along(plan->fold, self->accumulator, self->accumulator);
    return self->kernel;
}

/* Whether kernels take several narrow elements to a word; see `packs` in kernels/strided.cuh. */
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

/* The first of these ways for which there is a kernel, and as whose kernel wants them elements lie:
 * places among one element each, which are not read, short rows, long rows and columns of a known
 * type, columns, results of few elements, any. */
static void choose_shape(const struct kernels *kernels, unsigned multiprocessors,
                         struct axes_schedule *self)
{
    const struct axes *axes = &self->axes;
    const bool brought = self->uploads || self->copy;
    const enum fold fold = self->plan->fold;
    const enum element input = axes->reduced.input;
    const bool is_of_few =
                   axes->kept <= DIMENSIONS_FEW && axes->reduced.dimensions <= DIMENSIONS_FEW,
               usual = is_of_few && makes_usual_results(self->plan, input, self->accumulator),
               masked = axes->reduced.mask;
    const void *columns = is_of_few ? kernels->columns(fold, input, self->accumulator) : NULL,
               *few = is_of_few ? kernels->few(fold, input, self->accumulator) : NULL,
               *lone =
                   usual && !masked ? kernels->lone_columns(fold, input, self->accumulator) : NULL;
    const bool short_rows =
                   usual && kernels->typed_short_rows(fold, input, self->accumulator, false),
               long_rows = is_of_few && kernels->typed_rows(fold, input, self->accumulator, false);
    struct axes_shape *shape = &self->shape;
    self->general = false;
    const uintptr_t data = brought ? 0 : (uintptr_t)axes->reduced.data;
    const struct axes_kernels made = {
        .accumulator = self->accumulator,
        .state = state_bytes(fold, self->accumulator),
        .columns = columns,
        .few = few,
        .indexed = fold_is_indexed(fold),
        .packs = takes_words(fold, self->accumulator),
        .typed_columns =
            is_of_few && !masked && kernels->typed_columns(fold, input, self->accumulator, false),
        .lone_columns = lone,
    };
    if (lone && made.indexed && layout_length(&axes->reduced) == 1 &&
        columns_shape_make(axes, &made, data, multiprocessors, shape) && shape->typed.unread) {
        self->kernel = lone;
        return;
    }
    if (short_rows && short_rows_shape_make(axes, data, multiprocessors, shape)) {
        self->kernel = kernels->typed_short_rows(fold, input, self->accumulator, shape->unit > 0);
        return;
    }
    if (long_rows && long_rows_shape_make(axes, &made, data, multiprocessors, shape)) {
        self->kernel = kernels->typed_rows(fold, input, self->accumulator, shape->step > 1);
        return;
    }
    if (columns_shape_make(axes, &made, data, multiprocessors, shape)) {
        self->kernel = shape->typed.lone ? lone
                                         : kernels->typed_columns(fold, input, self->accumulator,
                                                                  shape->step > 1);
        return;
    }
    axes_shape_make(axes, &made, data, multiprocessors, shape);
    self->general = !shape->columns && !shape->few;
    if (shape->columns)
        self->kernel = columns;
    else if (shape->few)
        self->kernel = few;
}

/* Whether kernels count what a mask lets through. */
static bool counts_shown(const struct axes_schedule *self)
{
    return self->axes.reduced.mask && self->plan->counts;
}

static void lay_out(struct axes_schedule *self)
{
    const struct plan *plan = self->plan;
    const struct results *results = &plan->results;
    const struct axes_shape *shape = &self->shape;
    struct arena *arena = &self->arena;
    const size_t state = state_bytes(plan->fold, self->accumulator);
    self->shared_bytes = shape->short_rows  ? short_rows_shared_bytes(shape)
                         : shape->long_rows ? long_rows_shared_bytes(shape, state)
                                            : axes_shape_shared_bytes(shape, state);
    *arena = (struct arena){.total = 0};
    if (self->uploads)
        arena_reserve(arena, PART_UPLOADED, layout_length(&self->array),
                      element_size(self->array.input));
    if (self->uploads_mask)
        arena_reserve(arena, PART_MASK, layout_length(&self->mask), 1);
    if (self->copy)
        arena_reserve(arena, PART_COPY, layout_length(&self->array),
                      element_size(self->accumulator));
    if (shape->splits > 1) {
        const uint64_t count = shape->splits * self->axes.results;
        arena_reserve(arena, PART_PARTIALS, count, state_bytes(plan->fold, self->accumulator));
        if (counts_shown(self))
            arena_reserve(arena, PART_COUNTED, count, sizeof(uint64_t));
        arena_reserve(arena, PART_TICKETS, axes_shape_tickets(shape), sizeof(unsigned));
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
    self->plan = plan;
    axes_copy(plan->axes, &self->axes);
    self->array.dimensions = self->mask.dimensions = 0;
    if (!choose_kernel(kernels, self)) {
        failure_note(failure, FAILURE_VALUE, "there is no kernel along axes for %s",
                     reduction_row(plan->reduction)->called);
        return false;
    }
    if (!some && self->copy) { /* of nothing, any kernel for the accumulator is right */
        self->copy = NULL;
        self->axes.reduced.input = self->axes.reduced.type = self->accumulator;
    }
    self->uploads = some && !plan->on_device;
    self->uploads_mask = masked && !plan->mask_on_device;
    if (self->uploads_mask)
        compact_mask(&self->axes, &self->mask);
    if (self->uploads || self->copy) {
        const enum element held = self->copy ? self->accumulator : plan->layout->input;
        compact_array(&self->axes, element_size(held), &self->array);
        self->axes.reduced.input = held;
    }
    if (self->copy)
        self->axes.reduced.type = self->accumulator;
    choose_shape(kernels, multiprocessors, self);
    lay_out(self);
    return true;
}

/* What is kept lies after what is reduced. */
static void list_any(const struct axes *axes, const struct layout *reduced,
                     struct kernel_axes_of_any *argument)
{
    struct layout *from = &argument->from;
    const unsigned behind = reduced->dimensions, kept = axes->kept;
    layout_copy(reduced, from);
    memcpy(from->shape + behind, axes->shape, kept * sizeof *axes->shape);
    memcpy(from->strides + behind, axes->strides, kept * sizeof *axes->strides);
    memcpy(from->mask_strides + behind, axes->mask_strides, kept * sizeof *axes->mask_strides);
    memcpy(argument->places, axes->places, kept * sizeof *axes->places);
}

static void list_few(const struct axes *axes, const struct layout *reduced,
                     struct kernel_axes *argument)
{
    layout_copy_few(reduced, &argument->from);
    memcpy(argument->shape, axes->shape, axes->kept * sizeof *axes->shape);
    memcpy(argument->strides, axes->strides, axes->kept * sizeof *axes->strides);
    memcpy(argument->mask_strides, axes->mask_strides, axes->kept * sizeof *axes->mask_strides);
    memcpy(argument->places, axes->places, axes->kept * sizeof *axes->places);
}

void axes_schedule_argument(const struct axes_schedule *self, struct kernel_axes_of_any *of_any)
{
    const struct axes *axes = &self->axes;
    struct kernel_axes *argument = &of_any->of_few;
    struct kernel_rows rows;
    axes_shape_rows(&self->shape, axes, self->accumulator, &rows);
    if (self->shape.columns)
        rows.how.items = layout_length(&axes->reduced) / self->shape.inner;
    if (self->shape.inner > 1)
        rows.from.dimensions--;
    if (self->shape.typed.load) {
        const struct typed_columns *typed = &self->shape.typed;
        rows.how.items = typed->unread ? 0 : rows.how.items / typed->repeats;
        rows.from.strides[0] *= typed->repeats;
        argument->repeats = typed->repeats;
        argument->leftover = typed->leftover;
        argument->neighbours = typed->neighbours;
        argument->packs = typed->packs;
        argument->shifted = typed->shifted;
        argument->usual = typed->usual;
        argument->stores_packs = typed->stores_packs;
        argument->stores_usual = typed->stores_usual;
        argument->lone = typed->lone;
        argument->paired = typed->paired;
    }
    if (self->shape.long_rows)
        rows.how.items = long_rows_count(axes);
    argument->readers = self->shape.readers;
    argument->stacked = self->shape.stacked;
    argument->results = axes->results;
    argument->block = self->shape.block;
    argument->team = self->shape.team;
    argument->abreast = self->shape.abreast;
    argument->staged = self->shape.staged;
    argument->rounds = self->shape.rounds;
    argument->load = self->shape.load;
    argument->packing = self->shape.packing;
    argument->several = self->shape.several;
    argument->turned = self->shape.turned;
    argument->turns = self->shape.turns;
    argument->unit = self->shape.unit;
    argument->step = self->shape.step;
    argument->inner = self->shape.inner;
    argument->counts = counts_shown(self);
    argument->splits = self->shape.splits;
    argument->kept = axes->kept;
    argument->first = axes->first;
    argument->rows = rows.how;
    if (self->general)
        list_any(axes, &rows.from, of_any);
    else
        list_few(axes, &rows.from, argument);
}
