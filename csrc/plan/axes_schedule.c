/* Threads go where memory is read in the order in which it lies: along a result's elements, or,
 * where neighbours belong to different results, abreast. Of many short results each gets few
 * threads, of few long ones each a block or several. */
#include "plan/axes_schedule.h"

#include "common/arithmetic.h"
#include "plan/rows.h"
#include "plan/widest.h"

#include <string.h>

static const struct axes_tuning measured = {.block = 8, .threads = 2048, .share = 1, .blocks = 8};

static struct axes_tuning forced;

void axes_tuning_force(struct axes_tuning tuning)
{
    forced = tuning;
}

static const struct axes_tuning *tuned(void)
{
    return forced.block ? &forced : &measured;
}

enum { WARP = 5, WINDOWS = 2 };

/* ---- threads ---- */

static unsigned exponent_up(uint64_t n)
{
    unsigned exponent = 0;
    while (exponent < 63 && n > (uint64_t)1 << exponent)
        exponent++;
    return exponent;
}

static uint64_t distance(int64_t stride)
{
    return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

/* Whether neighbours in memory belong to different results. */
static bool lies_abreast(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    if (axes->kept == 0 || reduced->dimensions == 0)
        return false;
    const uint64_t own = distance(reduced->strides[reduced->dimensions - 1]),
                   other = distance(axes->strides[axes->kept - 1]);
    return other != 0 && (own == 0 || other < own);
}

/* More threads for each result, as long as there are too few of them, and enough to do for each. */
static unsigned team_for(uint64_t results, uint64_t n, enum element accumulator,
                         unsigned least_team, unsigned most_team, uint64_t threads, unsigned share)
{
    const unsigned slots = exponent_up(SLOTS_BYTES / element_size(accumulator)) + share;
    unsigned team = least_team;
    while (team < most_team && n >> (team + slots) && results << team < threads)
        team++;
    return team;
}

/* As many as keep the device busy; each group of a team has a stretch at least. */
static uint64_t splits_for(uint64_t groups, uint64_t items, uint64_t blocks)
{
    const uint64_t splits = least(divide_up(blocks, groups), items);
    return splits > 1 ? splits : 1;
}

/* A single dimension stands for none. */
static struct layout with_a_dimension(const struct layout *layout)
{
    struct layout other = *layout;
    if (layout->dimensions == 0) {
        other.dimensions = 1;
        other.shape[0] = 1;
        other.strides[0] = (int64_t)element_size(layout->input);
        other.mask_strides[0] = 1;
    }
    return other;
}

static struct kernel_rows rows_in_shape(const struct axes *axes, enum element accumulator,
                                        const struct axes_shape *shape)
{
    struct layout layout = with_a_dimension(&axes->reduced);
    struct kernel_rows rows = {.from = layout};
    if (layout_length(&layout) > 0)
        rows = rows_in_lanes(&layout, 0, accumulator, shape->lanes, shape->windows);
    return rows;
}

static unsigned inner_lanes(const struct axes *axes, enum element accumulator)
{
    const struct layout layout = with_a_dimension(&axes->reduced);
    const uint64_t length = layout.shape[layout.dimensions - 1];
    return length ? rows_lanes(length, accumulator) : 0;
}

/* Where neighbours are neighbours' results, a warp reads across as many of them as there are. */
static void shape_columns(const struct axes *axes, enum element accumulator, uint64_t threads,
                          const struct axes_tuning *tuning, struct axes_shape *shape)
{
    const uint64_t n = layout_length(&axes->reduced);
    const unsigned across = (unsigned)least(exponent_up(axes->shape[axes->kept - 1]), WARP);
    shape->team = team_for(axes->results, n, accumulator, 0, tuning->block - across, threads, 0);
    shape->lanes = (unsigned)least(shape->team, inner_lanes(axes, accumulator));
}

static void shape_rows(const struct axes *axes, enum element accumulator, uint64_t threads,
                       const struct axes_tuning *tuning, struct axes_shape *shape)
{
    const uint64_t n = layout_length(&axes->reduced);
    shape->lanes = inner_lanes(axes, accumulator);
    const unsigned enough =
        team_for(1, n, accumulator, shape->lanes, WARP, UINT64_MAX, tuning->share);
    shape->team =
        team_for(axes->results, n, accumulator, enough, tuning->block, threads, tuning->share);
}

void axes_shape_make(const struct axes *axes, enum element accumulator, unsigned multiprocessors,
                     struct axes_shape *shape)
{
    const struct axes_tuning *tuning = tuned();
    const uint64_t threads = (uint64_t)multiprocessors * tuning->threads;
    *shape = (struct axes_shape){
        .abreast = lies_abreast(axes), .windows = WINDOWS, .block = tuning->block, .splits = 1};
    if (shape->abreast)
        shape_columns(axes, accumulator, threads, tuning, shape);
    else
        shape_rows(axes, accumulator, threads, tuning, shape);
    shape->groups = divide_up(axes->results, (uint64_t)1 << (shape->block - shape->team));
    const uint64_t items = rows_in_shape(axes, accumulator, shape).items;
    shape->splits = splits_for(shape->groups, items >> (shape->team - shape->lanes),
                               (uint64_t)multiprocessors * tuning->blocks);
}

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
        for (; k > 0 && distance(all[k - 1].stride) < distance(moved.stride); k--)
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

static void lay_out(struct axes_schedule *self)
{
    const struct plan *plan = self->plan;
    const struct results *results = &plan->results;
    const struct axes_shape *shape = &self->shape;
    struct arena *arena = &self->arena;
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
        arena_reserve(arena, PART_COUNTED, count, sizeof(uint64_t));
        arena_reserve(arena, PART_TICKETS, shape->groups, sizeof(unsigned));
    }
    arena_reserve(arena, PART_FINDINGS, 1, sizeof(unsigned));
    if (!results->on_device)
        arena_reserve(arena, PART_OUT, self->axes.results * results->values,
                      element_size(results->type));
}

bool axes_schedule_make(const struct plan *plan, const struct kernels *kernels,
                        unsigned multiprocessors, struct axes_schedule *self,
                        struct failure *failure)
{
    const bool some = plan->n > 0, masked = some && plan->layout->mask;
    self->plan = plan;
    self->axes = *plan->axes;
    self->array.dimensions = self->mask.dimensions = 0;
    if (!choose_kernel(kernels, self)) {
        failure_note(failure, FAILURE_VALUE, "there is no kernel along axes for %s",
                     reduction_row(plan->reduction)->name);
        return false;
    }
    if (!some)
        self->copy = NULL;
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
    axes_shape_make(&self->axes, self->accumulator, multiprocessors, &self->shape);
    lay_out(self);
    return true;
}

void axes_schedule_argument(const struct axes_schedule *self, struct kernel_axes *argument)
{
    const struct axes *axes = &self->axes;
    argument->rows = rows_in_shape(axes, self->accumulator, &self->shape);
    argument->results = axes->results;
    argument->team = self->shape.team;
    argument->abreast = self->shape.abreast;
    argument->counts = axes->reduced.mask && self->plan->counts;
    argument->splits = self->shape.splits;
    argument->kept = axes->kept;
    argument->first = axes->first;
    memcpy(argument->shape, axes->shape, axes->kept * sizeof *axes->shape);
    memcpy(argument->strides, axes->strides, axes->kept * sizeof *axes->strides);
    memcpy(argument->mask_strides, axes->mask_strides, axes->kept * sizeof *axes->mask_strides);
    memcpy(argument->places, axes->places, axes->kept * sizeof *axes->places);
}
