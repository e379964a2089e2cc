#include "plan/exact_along.h"

#include "common/arithmetic.h"
#include "common/exact_words.h"
#include "plan/axes.h"

enum {
    WARP = 5,
    SHORT = 128,           /* elements of a row that a thread takes by itself */
    A_THREAD = 64,         /* elements that it should have at least */
    BLOCKS = 8,            /* of a multiprocessor, in all */
    BLOCK_LEAST = 1 << 14, /* elements that it should have of a result that blocks share */
};

/* ---- what can be done so ---- */

static bool is_alike(const struct plan *plan)
{
    return element_is_complex(plan->layout->input) == element_is_complex(plan->layout->type);
}

static bool is_simple(const struct plan *plan)
{
    const struct axes *axes = plan->axes;
    return plan->on_device && plan->results.on_device && plan->results.values == 1 &&
           !plan_adds_products(plan) && !plan->finish.has_initial && !axes->reduced.mask &&
           plan->n > 0 && axes->results > 1 && axes->aligned && axes->kept >= 1 &&
           axes->reduced.dimensions <= 1 && is_alike(plan);
}

static bool takes_rows(const struct plan *plan)
{
    const struct layout *reduced = &plan->axes->reduced;
    const bool watches = exact_asks_for_signs(&plan->finish);
    return reduced->dimensions == 1 && (watches || plan->n > SHORT) &&
           reduced->strides[0] == (int64_t)element_size(reduced->input);
}

/* ---- how ---- */

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

static unsigned block_for(uint64_t threads)
{
    const unsigned exponent = exponent_up(least(threads, EXACT_ALONG_THREADS));
    return 1u << (exponent < WARP ? WARP : exponent);
}

static void share_rows(const struct plan *plan, unsigned multiprocessors, struct exact_along *self)
{
    self->groups = plan->axes->results;
    self->lanes = 0;
    self->block = block_for(plan->n / A_THREAD);
    self->splits = splits_for(self->groups, plan->n, BLOCK_LEAST, multiprocessors);
}

static void share_columns(const struct plan *plan, unsigned multiprocessors,
                          struct exact_along *self)
{
    const unsigned lanes = exponent_up(least(plan->axes->results, 1 << WARP));
    self->groups = divide_up(plan->axes->results, (uint64_t)1 << lanes);
    self->lanes = lanes;
    self->block = block_for(plan->n <= SHORT ? 1 : divide_up(plan->n, A_THREAD) << lanes);
    self->splits = splits_for(self->groups, plan->n, (uint64_t)(self->block >> lanes) * A_THREAD,
                              multiprocessors);
}

static void lay_out(const struct plan *plan, size_t words, struct exact_along *self)
{
    self->arena = (struct arena){.total = 0};
    if (self->splits == 1)
        return;
    arena_reserve(&self->arena, PART_TICKETS, self->groups, sizeof(unsigned));
    arena_reserve(&self->arena, PART_PARTIALS, plan->axes->results, words);
}

bool exact_along_make(const struct plan *plan, const struct kernels *kernels,
                      unsigned multiprocessors, struct exact_along *self)
{
    if (!is_simple(plan))
        return false;
    const bool rows = takes_rows(plan);
    const enum element input = plan->layout->input;
    self->kernel = rows ? kernels->exact_rows(input) : kernels->exact_columns(input);
    if (!self->kernel || (!rows && exact_asks_for_signs(&plan->finish)))
        return false;
    (rows ? share_rows : share_columns)(plan, multiprocessors, self);
    if (self->groups > INT32_MAX / self->splits) /* blocks that a grid can have */
        return false;
    self->rows = rows;
    self->accumulator = exact_accumulator(input);
    const size_t words = (size_t)exact_words_of(exact_span_of(self->accumulator)) * sizeof(int64_t);
    self->shared_bytes = words << self->lanes;
    lay_out(plan, words, self);
    return true;
}

void exact_along_argument(const struct exact_along *self, const struct plan *plan,
                          struct kernel_exact_along *argument)
{
    const struct axes *axes = plan->axes;
    const int64_t size = (int64_t)element_size(plan->results.types[0]);
    *argument = (struct kernel_exact_along){
        .data = axes->reduced.data,
        .n = plan->n,
        .results = axes->results,
        .step = axes->reduced.dimensions ? axes->reduced.strides[0] : 0,
        .splits = self->splits,
        .lanes = self->lanes,
        .leaves_out = plan->fold == FOLD_nansum,
        .watches = exact_asks_for_signs(&plan->finish),
        .output_offset = axes->first * size,
        .outer = axes->kept,
        .result = {.out = plan->results.at[0],
                   .out_type = plan->results.types[0],
                   .mean = reduction_row(plan->reduction)->nothing == NOTHING_nan,
                   .finish = plan->finish},
    };
    argument->result.finish.count = plan->n;
    for (unsigned k = 0; k < axes->kept; k++) {
        argument->shape[k] = axes->shape[k];
        argument->strides[k] = axes->strides[k];
        argument->output_strides[k] = axes->places[k] * size;
    }
}
