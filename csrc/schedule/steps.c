#include "schedule/steps.h"

#include "common/arithmetic.h"
#include "common/exact_sums.h"

#include <math.h>
#include <string.h>

bool course_repeats(const struct course *self)
{
    switch (self->plan->method->style) {
    case STYLE_in_place:
    case STYLE_tiles:
    case STYLE_grid_stride:
        return true;
    default:
        return false;
    }
}

bool course_begins_with_identity(const struct course *self)
{
    return self->plan->method->style == STYLE_one_atomic;
}

bool course_needs_tickets(const struct course *self)
{
    return method_has_last_block(self->plan->method) ||
           self->plan->method->style == STYLE_cooperative;
}

/* ---- passes ---- */

static uint64_t elements_a_block(const struct plan *plan)
{
    return (uint64_t)plan->block * plan->data_blocks;
}

/* Blocks in the clusters that the method works in. What few blocks could do is one cluster's, which
 * draws no tickets; many are pairs, since larger clusters leave multiprocessors without a block
 * ("clusters" in benchmarks/tuning/whole_arrays.json). */
static void arrange_clusters(const struct course *self, struct step *step)
{
    enum { CLUSTER_MAX = 8, FEW = 64, PAIR = 2 };
    const uint64_t blocks = divide_up(step->n, elements_a_block(self->plan));
    if (self->plan->method->style != STYLE_clusters) {
        step->cluster = 1;
    } else if (blocks <= FEW) {
        step->cluster = (unsigned)least(blocks, CLUSTER_MAX);
        step->grid = step->cluster;
    } else {
        step->cluster = PAIR;
        step->grid = divide_up(step->grid, PAIR) * PAIR;
    }
}

/* Where rows are short, a thread's few loads take long: more threads share them. */
static uint64_t elements_a_block_of_first(const struct course *self)
{
    enum { OF_ROWS_A_THREAD = 8 };
    return choice_reads_rows(&self->choice) ? (uint64_t)self->plan->block * OF_ROWS_A_THREAD
                                            : elements_a_block(self->plan);
}

static struct step pass_over(const struct course *self, const void *kernel, enum part reads,
                             enum part writes, uint64_t n, uint64_t grid)
{
    struct step step = {
        .kind = STEP_PASS,
        .reads = reads,
        .writes = writes,
        .kernel = kernel,
        .n = n,
        .grid = grid,
        .block = self->plan->block,
        .shared_bytes = self->shared_bytes,
        .cooperative = self->plan->method->style == STYLE_cooperative,
    };
    arrange_clusters(self, &step);
    return step;
}

/* The upper half onto the lower, until one element is left. */
static void add_levels(const struct course *self, enum part where, uint64_t n,
                       struct passes *passes)
{
    for (; n > 1; n -= n / 2)
        passes->at[passes->count++] = pass_over(self, self->choice.again, where, where, n,
                                                divide_up(n / 2, self->plan->block));
    passes->leaves = where;
}

/* The kernel on what there is, then the other on the states that are left, until one is. Where
 * blocks fold their states in the same launch, one is left at once. */
static void add_rounds(const struct course *self, const void *kernel, uint64_t a_block,
                       uint64_t most, enum part reads, uint64_t n, struct passes *passes)
{
    enum part writes = PART_PARTIALS, other = PART_OTHER_PARTIALS;
    for (;;) {
        const uint64_t grid = least(divide_up(n, a_block), most);
        passes->at[passes->count++] = pass_over(self, kernel, reads, writes, n, grid);
        passes->leaves = reads = writes;
        if (grid == 1 || !course_repeats(self))
            return;
        n = grid;
        a_block = elements_a_block(self->plan);
        kernel = self->choice.again;
        most = self->again_most;
        writes = other;
        other = reads;
    }
}

static void add_library(library_reduce *reducer, enum part reads, uint64_t n, struct passes *passes)
{
    passes->at[passes->count++] = (struct step){
        .kind = STEP_LIBRARY, .reads = reads, .writes = PART_PARTIALS, .reducer = reducer, .n = n};
    passes->leaves = PART_PARTIALS;
}

void course_over_piece(const struct course *self, uint64_t n, struct passes *passes)
{
    const struct choice *choice = &self->choice;
    const enum part reads = choice->copy ? PART_COPY : choice->uploads ? PART_UPLOADED : PART_ARRAY;
    passes->count = 0;
    switch (self->plan->method->style) {
    case STYLE_levels:
        add_levels(self, reads, n, passes);
        break;
    case STYLE_library:
        add_library(choice->reducer, reads, n, passes);
        break;
    default:
        add_rounds(self, choice->first, elements_a_block_of_first(self), self->first_most, reads, n,
                   passes);
    }
}

/* They are the device's own, so that methods that work in place do so here, too. */
void course_over_results(const struct course *self, uint64_t n, struct passes *passes)
{
    const struct choice *choice = &self->choice;
    passes->count = 0;
    switch (self->plan->method->style) {
    case STYLE_levels:
        add_levels(self, PART_RESULTS, n, passes);
        break;
    case STYLE_library:
        add_library(choice->reducer_again, PART_RESULTS, n, passes);
        break;
    default:
        add_rounds(self, choice->again, elements_a_block(self->plan), self->again_most,
                   PART_RESULTS, n, passes);
    }
}

/* ---- beside the passes ---- */

enum { COPY_BLOCK = 512 }; /* threads */

struct step step_over(const void *kernel, uint64_t n, unsigned block, uint64_t multiprocessors)
{
    enum { BLOCKS_A_MULTIPROCESSOR = 8 };
    return (struct step){
        .kernel = kernel,
        .n = n,
        .grid = least(divide_up(n, block), multiprocessors * BLOCKS_A_MULTIPROCESSOR),
        .block = block,
        .cluster = 1,
    };
}

struct step step_gather(const struct kernels *kernels, uint64_t multiprocessors, uint64_t n)
{
    return step_over(kernel_of_kind(kernels, KERNEL_COPY_GATHERED), n, COPY_BLOCK, multiprocessors);
}

/* A thread each, as far as there are threads. */
struct step step_store(const void *kernel, uint64_t n)
{
    enum { BLOCK = 256, BLOCKS_MOST = 1 << 16 };
    return (struct step){.kernel = kernel,
                         .reads = PART_RESULTS,
                         .writes = PART_OUT,
                         .n = n,
                         .grid = least(divide_up(n, BLOCK), BLOCKS_MOST),
                         .block = BLOCK,
                         .cluster = 1};
}

struct exact_result step_exact_result(const struct plan *plan, void *out, enum element type,
                                      uint64_t count)
{
    struct exact_result result = {.out = out,
                                  .out_type = type,
                                  .mean = reduction_row(plan->reduction)->nothing == NOTHING_nan,
                                  .finish = plan->finish};
    result.finish.count = count;
    return result;
}

struct step course_unpack(const struct course *self, uint64_t n)
{
    struct step step = step_over(kernel_of_kind(self->kernels, KERNEL_UNPACK),
                                 divide_up(n, MASK_BITS), 256, self->multiprocessors);
    step.kind = STEP_UNPACK;
    step.reads = PART_MASK_BITS;
    step.writes = PART_MASK;
    return step;
}

struct step course_copy(const struct course *self, uint64_t n)
{
    struct step step = step_over(self->choice.copy, n, COPY_BLOCK, self->multiprocessors);
    step.kind = STEP_COPY;
    step.reads = self->choice.uploads ? PART_UPLOADED : PART_ARRAY;
    step.writes = PART_COPY;
    return step;
}

struct step course_count(const struct course *self)
{
    struct step step = step_over(kernel_of_kind(self->kernels, KERNEL_COUNT), self->plan->n, 256,
                                 self->multiprocessors);
    step.kind = STEP_COUNT;
    step.reads = PART_ARRAY;
    step.writes = PART_COUNTED;
    return step;
}

static const void *finishing_kernel(const struct course *self)
{
    const enum kernel_kind kind = !self->plan->exact               ? KERNEL_FINISH
                                  : plan_adds_products(self->plan) ? KERNEL_EXACT_PRODUCTS_FINISH
                                                                   : KERNEL_EXACT_FINISH;
    return kernel_of_kind(self->kernels, kind);
}

struct step course_finish(const struct course *self, enum part state)
{
    enum { WARP = 32 };
    const bool by_warp = self->plan->exact;
    return (struct step){
        .kind = STEP_FINISH,
        .reads = state,
        .writes = PART_OUT,
        .kernel = finishing_kernel(self),
        .n = 1,
        .grid = 1,
        .block = by_warp ? WARP : 1,
        .shared_bytes = by_warp ? (EXACT_NOTES + EXACT_DIGITS) * sizeof(int64_t) : 0,
        .cluster = 1,
    };
}

/* What the working copy has where a mask hides an element that is added exactly: what is left out,
 * or, since that counts nobody's sums, -0. */
static union scalar exact_fill(enum fold fold, enum element accumulator)
{
    const double value = fold == FOLD_nansum ? NAN : -0.0;
    const struct scalar_wide wide = {SCALAR_FLOAT, 0, value, value};
    const union scalar nothing = {.u64 = 0};
    return element_is_integer(accumulator) ? nothing : scalar_narrow(wide, accumulator);
}

/* What the working copy has where a mask hides an element: the identity of a fold whose states are
 * single values. All others see the mask, and do not look. */
union scalar course_masked_fill(const struct course *self)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX] = {0};
    union scalar value;
    if (self->plan->exact)
        return exact_fill(self->plan->fold, self->choice.accumulator);
    state_identity(self->plan->fold, self->choice.accumulator, state);
    memcpy(&value, state, sizeof value);
    return value;
}
