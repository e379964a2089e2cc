/* Schedules along axes: how the kernel reads the elements, memory, and the kernel's argument. */
#include "schedule/axes_schedule.h"

#include "arrays/operands.h"
#include "common/exact_sums.h"

#include <string.h>

/* ---- copies of elements that are uploaded or converted ---- */

/* An outer or reduced dimension, and the address of its stride in the axes. */
struct dimension {
    uint64_t length, distance;
    int64_t *stride;
};

/* Sorts by decreasing distance, so that the array is read in memory order. */
static void insert(struct dimension *all, unsigned count, struct dimension added)
{
    for (; count > 0 && all[count - 1].distance < added.distance; count--)
        all[count] = all[count - 1];
    all[count] = added;
}

void axes_compact(struct axes *axes, bool of_mask, size_t size, struct layout *to)
{
    struct dimension all[2 * DIMENSIONS_MAX];
    struct layout *reduced = &axes->reduced;
    int64_t *outer = of_mask ? axes->mask_strides : axes->strides,
            *inner = of_mask ? reduced->mask_strides : reduced->strides, stride = (int64_t)size;
    unsigned count = 0;
    for (unsigned k = 0; k < axes->outer; k++)
        insert(all, count++,
               (struct dimension){axes->shape[k], stride_magnitude(axes->strides[k]), &outer[k]});
    for (unsigned k = 0; k < reduced->dimensions; k++)
        insert(all, count++,
               (struct dimension){reduced->shape[k], stride_magnitude(reduced->strides[k]),
                                  &inner[k]});
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

/* ---- the kernel and its launch ---- */

/* Whether kernels of short rows support only native results of this fold. */
static bool short_rows_are_native(enum fold fold, enum element input)
{
    return (fold == FOLD_nonzero && input == ELEMENT_BOOL) ||
           (!element_is_complex(input) &&
            (fold == FOLD_sum || fold == FOLD_min || fold == FOLD_max || fold_is_indexed(fold) ||
             fold == FOLD_variance));
}

/* Whether all elements are aligned to their size: 16-byte ones may begin at any multiple of 8. */
static bool elements_are_aligned(const struct axes *axes, bool copied)
{
    const size_t size = element_size(axes->reduced.input);
    uint64_t bits = axes_row_alignment_bits(axes, copied ? 0 : (uintptr_t)axes->reduced.data, 0);
    for (unsigned k = 0; k < axes->reduced.dimensions; k++)
        bits |= (uint64_t)axes->reduced.strides[k];
    return bits % size == 0;
}

/* A bit mask of the kinds of kernels that exist for this access and these results. */
static unsigned available_kernels(const struct kernels *kernels, const struct axes_schedule *self,
                                  enum kernel_access access, bool copied)
{
    const struct axes *axes = &self->axes;
    const enum fold fold = self->plan->fold;
    const enum element input = axes->reduced.input;
    const bool native = epilogue_is_native(self->plan, input, self->accumulator);
    unsigned wanted = 1u << KERNEL_FEW, available = 0;
    if (axes->outer > DIMENSIONS_SMALL || axes->reduced.dimensions > DIMENSIONS_SMALL)
        return 0;
    if (!axes->reduced.mask && elements_are_aligned(axes, copied) &&
        epilogue_stores_directly(self->plan, self->accumulator)) {
        wanted |= 1u << KERNEL_TYPED_ROWS | 1u << KERNEL_TYPED_COLUMNS | 1u << KERNEL_TYPED_STRIDED;
        if (self->plan->launch.batch_invariant)
            wanted |= 1u << KERNEL_BATCH_INVARIANT;
        const bool states = !short_rows_are_native(fold, input);
        if (native || states)
            wanted |= 1u << KERNEL_TYPED_SHORT_ROWS;
        /* A thread stores the results of its states itself. */
        if (native || (states && COLUMN_BYTES / element_size(input) *
                                         element_size(self->plan->finish.result) <=
                                     STORE_BYTES_MAX))
            wanted |= 1u << KERNEL_UNSPLIT_COLUMNS;
    }
    for (unsigned kind = KERNEL_FEW; kind <= KERNEL_BATCH_INVARIANT; kind++)
        if (wanted >> kind & 1 &&
            kernel_of_fold(kernels, kind, fold, input, self->accumulator, access))
            available |= 1u << kind;
    return available;
}

/* Whether elements are dense and rows are not in batches, as is usual: then no strided variants are
 * looked up. */
static bool is_dense(const struct axes *axes)
{
    int64_t lowest, end;
    axes_byte_range(axes, &lowest, &end);
    return (axes->outer <= 1 || axes->reduced.dimensions > 1) &&
           (uint64_t)(end - lowest) ==
               axes->results * elements_per_result(axes) * element_bytes(axes);
}

static void choose_launch(const struct facts *facts, struct axes_schedule *self)
{
    const struct axes *axes = &self->axes;
    const bool copied = is_transferred(&self->array);
    const struct launch_problem problem = {
        .axes = axes,
        .data = copied ? 0 : (uintptr_t)axes->reduced.data,
        .multiprocessors = facts->multiprocessors,
        .accumulator = self->accumulator,
        .state = self->state_bytes,
        .indexed = fold_is_indexed(self->plan->fold),
        .batch_invariant = self->plan->launch.batch_invariant,
        .native = short_rows_are_native(self->plan->fold, axes->reduced.input),
        .kernels = available_kernels(facts->kernels, self, ACCESS_ALIGNED, copied),
        .strided =
            is_dense(axes) ? 0 : available_kernels(facts->kernels, self, ACCESS_STRIDED, copied),
    };
    launch_config_choose(&problem, &self->launch);
    if (self->launch.kernel != KERNEL_ALONG)
        self->kernel =
            kernel_of_fold(facts->kernels, self->launch.kernel, self->plan->fold,
                           axes->reduced.input, self->accumulator, launch_access(&self->launch));
}

/* ---- exact sums, all in one launch ---- */

enum {
    SHORT = 128,         /* maximum elements of a row that one thread reads */
    THREAD_MIN = 64,     /* minimum elements per thread */
    BLOCKS = 8,          /* per multiprocessor */
    BLOCK_MIN = 1 << 14, /* minimum elements per block of a result shared by blocks */
};

/* A nanmean that the host waits for may have to report a warning, which this kernel does not. */
static bool fits_exact_launch(const struct plan *plan)
{
    const struct axes *axes = plan->axes;
    const bool silent =
        !results_are_synchronous(&plan->results) || plan->reduction != REDUCTION_nanmean;
    return plan->elements.on_device && silent && plan->results.values == 1 &&
           !plan_adds_products(plan) && !plan->finish.has_initial && !axes->reduced.mask &&
           plan->n > 0 && axes->results > 1 && axes->aligned && axes->outer >= 1 &&
           axes->reduced.dimensions <= 1 && choice_keeps_parts(plan);
}

/* Blocks reduce rows, and threads reduce columns. A result, or several adjacent ones, is split
 * among enough blocks to keep the device busy, with enough elements, but not too many, for each. */
static bool choose_exact_launch(const struct plan *plan, const struct facts *facts,
                                struct axes_schedule *self)
{
    const struct layout *reduced = &plan->axes->reduced;
    const bool signs = exact_needs_zero_signs(&plan->finish),
               rows = reduced->dimensions == 1 && (signs || plan->n > SHORT) &&
                      reduced->strides[0] == (int64_t)element_size(reduced->input);
    const uint64_t n = plan->n, results = plan->axes->results;
    const unsigned lanes = rows ? 0 : ceil_log2(min_u64(results, 1 << WARP));
    const uint64_t threads = rows         ? n / THREAD_MIN
                             : n <= SHORT ? 1
                                          : ceil_div(n, THREAD_MIN) << lanes,
                   groups = ceil_div(results, (uint64_t)1 << lanes);
    const unsigned exponent = ceil_log2(min_u64(threads, EXACT_ALONG_THREADS)),
                   block = exponent < WARP ? WARP : exponent;
    const uint64_t busy = ceil_div((uint64_t)facts->multiprocessors * BLOCKS, groups),
                   useful = n / (rows ? BLOCK_MIN : (uint64_t)THREAD_MIN << block >> lanes),
                   needed = ceil_div(n, EXACT_BLOCK_MAX / 2), splits = min_u64(busy, useful);
    self->launch = (struct launch_config){.kernel = rows ? KERNEL_EXACT_ROWS : KERNEL_EXACT_COLUMNS,
                                          .block = block,
                                          .groups = groups,
                                          .lanes = lanes,
                                          .splits = splits > needed ? splits : needed};
    self->kernel = kernel_find(facts->kernels, (struct kernel_key){.kind = self->launch.kernel,
                                                                   .input = plan->layout->input});
    return self->kernel && (rows || !signs) &&
           groups <= INT32_MAX / self->launch.splits; /* maximum grid size */
}

static bool make_exact(const struct plan *plan, const struct facts *facts,
                       struct axes_schedule *self)
{
    if (!fits_exact_launch(plan) || !choose_exact_launch(plan, facts, self))
        return false;
    self->accumulator = exact_accumulator(plan->layout->input);
    self->state_bytes = (size_t)exact_words_of(exact_span_of(self->accumulator)) * sizeof(int64_t);
    self->launch.shared_bytes = self->state_bytes << self->launch.lanes;
    if (self->launch.splits > 1) {
        arena_reserve(&self->arena, PART_TICKETS, self->launch.groups, sizeof(unsigned));
        arena_reserve(&self->arena, PART_PARTIALS, plan->axes->results, self->state_bytes);
    }
    return true;
}

/* ---- the schedule ---- */

/* Whether kernels count unmasked elements. */
static bool counts_mask(const struct axes_schedule *self)
{
    return self->axes.reduced.mask && self->plan->counts;
}

static void reserve_memory(struct axes_schedule *self)
{
    const struct plan *plan = self->plan;
    const struct launch_config *launch = &self->launch;
    struct arena *arena = &self->arena;
    arena_reserve_transfer(arena, &self->array);
    arena_reserve_transfer(arena, &self->mask);
    if (launch->splits > 1) {
        const uint64_t count = launch->kernel == KERNEL_TYPED_COLUMNS
                                   ? launch_grid(launch) * launch->column.results
                                   : launch->splits * self->axes.results;
        arena_reserve(arena, PART_PARTIALS, count, self->state_bytes);
        if (counts_mask(self))
            arena_reserve(arena, PART_COUNTED, count, sizeof(uint64_t));
        arena_reserve(arena, PART_TICKETS, launch_tickets(launch), sizeof(unsigned));
    }
    if (plan->means)
        arena_reserve(arena, PART_MEANS, plan->means->count, sizeof(struct complex128));
}

bool axes_schedule_make(const struct plan *plan, const struct facts *facts,
                        struct axes_schedule *self, struct failure *failure)
{
    bool converts;
    self->plan = plan;
    axes_copy(plan->axes, &self->axes);
    self->array.uploaded = self->array.copied = self->mask.uploaded = self->mask.copied =
        PART_ARRAY;
    self->copy = (struct step){.kernel = NULL};
    self->arena = (struct arena){.total = 0};
    if (plan->exact)
        return make_exact(plan, facts, self);
    if (plan_results_are_zero(plan)) {
        self->kernel = NULL;
        self->launch = (struct launch_config){.groups = 0};
        self->accumulator = plan->accumulator;
        self->state_bytes = 0;
        return true;
    }
    self->kernel = choice_kernel_along(facts->kernels, KERNEL_ALONG, plan, true, &self->accumulator,
                                       &converts);
    if (!self->kernel)
        return failure_record(failure, FAILURE_VALUE, "there is no kernel along axes for %s",
                              reduction_row(plan->reduction)->called);
    self->state_bytes = state_bytes(plan->fold, self->accumulator);
    if (plan->n && plan->layout->mask && !plan->elements.mask_on_device) {
        struct layout *mask = &self->mask.layout;
        self->mask.uploaded = PART_MASK;
        *mask = (struct layout){
            .data = self->axes.reduced.mask, .input = ELEMENT_BOOL, .type = ELEMENT_BOOL};
        axes_compact(&self->axes, true, 1, mask);
    }
    transfer_choose(plan, converts, self->accumulator, &self->array);
    if (is_transferred(&self->array)) {
        struct layout *array = &self->array.layout;
        layout_copy(&self->axes.reduced, array);
        axes_compact(&self->axes, false, element_size(converts ? self->accumulator : array->input),
                     array);
        if (converts)
            self->copy = step_gather(facts, self->array.uploaded, layout_length(array));
    }
    if (converts)
        self->axes.reduced.input = self->axes.reduced.type = self->accumulator;
    /* Adjacent threads then store adjacent results (cases/result_order); columns are adjacent only
     * in the order of the elements. */
    if (!axes_are_interleaved(&self->axes))
        axes_order_by_results(&self->axes);
    choose_launch(facts, self);
    reserve_memory(self);
    return true;
}

/* ---- kernel arguments ---- */

static void set_outer(const struct axes *axes, uint64_t *shape, int64_t *strides,
                      int64_t *mask_strides, int64_t *output_strides)
{
    memcpy(shape, axes->shape, axes->outer * sizeof *shape);
    memcpy(strides, axes->strides, axes->outer * sizeof *strides);
    memcpy(mask_strides, axes->mask_strides, axes->outer * sizeof *mask_strides);
    memcpy(output_strides, axes->places, axes->outer * sizeof *output_strides);
}

void axes_schedule_argument(const struct axes_schedule *self, struct kernel_axes_any *of_any)
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
    argument->list = NULL;
    axes_byte_range(axes, &argument->lowest, &argument->end);
    outer->count = axes->outer;
    outer->first = axes->first;
    if (self->launch.kernel == KERNEL_ALONG) {
        struct layout *from = &of_any->from;
        const unsigned offset = rows.from.dimensions;
        layout_copy(&rows.from, from);
        set_outer(axes, from->shape + offset, from->strides + offset, from->mask_strides + offset,
                  of_any->output_strides);
    } else {
        layout_copy_small(&rows.from, &argument->from);
        set_outer(axes, outer->shape, outer->strides, outer->mask_strides, outer->output_strides);
    }
}

void exact_along_argument(const struct axes_schedule *self, struct kernel_exact_along *argument)
{
    const struct plan *plan = self->plan;
    const struct axes *axes = &self->axes;
    const int64_t size = (int64_t)element_size(plan->results.types[0]);
    *argument = (struct kernel_exact_along){
        .data = axes->reduced.data,
        .n = plan->n,
        .results = axes->results,
        .step = axes->reduced.dimensions ? axes->reduced.strides[0] : 0,
        .splits = (unsigned)self->launch.splits,
        .lanes = self->launch.lanes,
        .skips_nan = plan->fold == FOLD_nansum,
        .watches = exact_needs_zero_signs(&plan->finish),
        .output_offset = axes->first * size,
        .outer = axes->outer,
        .result = step_exact_result(plan, self->accumulator, plan->results.at[0], plan->n),
    };
    for (unsigned k = 0; k < axes->outer; k++) {
        argument->shape[k] = axes->shape[k];
        argument->strides[k] = axes->strides[k];
        argument->output_strides[k] = axes->places[k] * size;
    }
}

struct step axes_schedule_step(const struct axes_schedule *self)
{
    const struct launch_config *launch = &self->launch;
    return (struct step){.name = self->kernel ? launch_name(launch) : "memset",
                         .kernel = self->kernel,
                         .reads = self->array.copied ? self->array.copied : self->array.uploaded,
                         .writes = self->plan->results.out ? PART_RESULTS : PART_OUT,
                         .n = self->plan->n * self->axes.results,
                         .grid = launch_grid(launch),
                         .block = 1u << launch->block,
                         .shared_bytes = launch->shared_bytes,
                         .cluster = 1};
}
