/* How exact sums along axes are shared among a device's threads: all of them in one launch. */
#include "common/exact_words.h"
#include "schedule/axes_schedule.h"

enum {
    SHORT = 128,           /* elements of a row that a thread takes by itself */
    A_THREAD = 64,         /* elements that it should have at least */
    BLOCKS = 8,            /* of a multiprocessor, in all */
    BLOCK_LEAST = 1 << 14, /* elements that it should have of a result that blocks share */
};

static bool is_simple(const struct plan *plan)
{
    const struct axes *axes = plan->axes;
    return plan->on_device && plan->results.on_device && plan->results.values == 1 &&
           !plan_adds_products(plan) && !plan->finish.has_initial && !axes->reduced.mask &&
           plan->n > 0 && axes->results > 1 && axes->aligned && axes->kept >= 1 &&
           axes->reduced.dimensions <= 1 && choice_keeps_parts(plan);
}

static bool takes_rows(const struct plan *plan)
{
    const struct layout *reduced = &plan->axes->reduced;
    return reduced->dimensions == 1 && (exact_asks_for_signs(&plan->finish) || plan->n > SHORT) &&
           reduced->strides[0] == (int64_t)element_size(reduced->input);
}

/* Blocks that share a result or neighbours: as many as keep the device busy, but each with enough
 * to do, and none with more than its words can take. */
static unsigned splits_for(uint64_t groups, uint64_t n, uint64_t rows_of_block,
                           unsigned multiprocessors)
{
    const uint64_t busy = divide_up((uint64_t)multiprocessors * BLOCKS, groups),
                   worth = n / rows_of_block, needed = divide_up(n, EXACT_BLOCK_MOST / 2),
                   some = least(busy, worth);
    return (unsigned)(some > needed ? some : needed);
}

/* Threads of a block, as an exponent. */
static unsigned block_for(uint64_t threads)
{
    const unsigned exponent = exponent_up(least(threads, EXACT_ALONG_THREADS));
    return exponent < WARP ? WARP : exponent;
}

/* Rows are blocks', and columns threads'. */
static bool choose_launch(const struct plan *plan, const struct kernels *kernels,
                          unsigned multiprocessors, struct axes_schedule *self)
{
    const bool rows = takes_rows(plan);
    const uint64_t n = plan->n, results = plan->axes->results;
    const unsigned lanes = rows ? 0 : exponent_up(least(results, 1 << WARP)),
                   block = block_for(rows         ? n / A_THREAD
                                     : n <= SHORT ? 1
                                                  : divide_up(n, A_THREAD) << lanes);
    const uint64_t groups = divide_up(results, (uint64_t)1 << lanes),
                   block_least = rows ? BLOCK_LEAST : (uint64_t)A_THREAD << block >> lanes;
    struct launch_config *launch = &self->launch;
    *launch = (struct launch_config){.kernel = rows ? KERNEL_EXACT_ROWS : KERNEL_EXACT_COLUMNS,
                                     .block = block,
                                     .groups = groups,
                                     .lanes = lanes,
                                     .splits = splits_for(groups, n, block_least, multiprocessors)};
    self->kernel = kernel_find(
        kernels, (struct kernel_key){.kind = launch->kernel, .input = plan->layout->input});
    return self->kernel && (rows || !exact_asks_for_signs(&plan->finish)) &&
           groups <= INT32_MAX / launch->splits; /* blocks that a grid can have */
}

bool exact_along_schedule(const struct plan *plan, const struct kernels *kernels,
                          unsigned multiprocessors, struct axes_schedule *self)
{
    if (!is_simple(plan) || !choose_launch(plan, kernels, multiprocessors, self))
        return false;
    self->plan = plan;
    self->accumulator = exact_accumulator(plan->layout->input);
    self->state_bytes = (size_t)exact_words_of(exact_span_of(self->accumulator)) * sizeof(int64_t);
    self->launch.shared_bytes = self->state_bytes << self->launch.lanes;
    self->copy = (struct step){.kernel = NULL};
    self->uploads = self->uploads_mask = false;
    axes_copy(plan->axes, &self->axes);
    self->arena = (struct arena){.total = 0};
    if (self->launch.splits > 1) {
        arena_reserve(&self->arena, PART_TICKETS, self->launch.groups, sizeof(unsigned));
        arena_reserve(&self->arena, PART_PARTIALS, plan->axes->results, self->state_bytes);
    }
    return true;
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
        .leaves_out = plan->fold == FOLD_nansum,
        .watches = exact_asks_for_signs(&plan->finish),
        .output_offset = axes->first * size,
        .outer = axes->kept,
        .result = step_exact_result(plan, plan->results.at[0], plan->results.types[0], plan->n),
    };
    for (unsigned k = 0; k < axes->kept; k++) {
        argument->shape[k] = axes->shape[k];
        argument->strides[k] = axes->strides[k];
        argument->output_strides[k] = axes->places[k] * size;
    }
}
