/* The steps that reduce an array's elements to one state: the kernel, input and grid of each pass,
 * and the steps outside the passes. */
#include "schedule/schedule.h"

#include "common/arithmetic.h"
#include "common/exact_sums.h"

#include <math.h>
#include <string.h>

/* ---- passes ---- */

static uint64_t elements_per_block(const struct plan *plan)
{
    return (uint64_t)plan->launch.block * plan->launch.data_blocks;
}

/* Few blocks form a single cluster, which draws no tickets; many are paired, since larger clusters
 * leave multiprocessors idle ("clusters" in benchmarks/tuning/whole_arrays.json). */
static void set_clusters(const struct plan *plan, struct step *step)
{
    enum { CLUSTER_MAX = 8, FEW = 64, PAIR = 2 };
    const uint64_t blocks = ceil_div(step->n, elements_per_block(plan));
    if (blocks <= FEW) {
        step->cluster = (unsigned)min_u64(blocks, CLUSTER_MAX);
        step->grid = step->cluster;
    } else {
        step->cluster = PAIR;
        step->grid = ceil_div(step->grid, PAIR) * PAIR;
    }
}

static void add_pass(const struct schedule *self, const void *kernel, enum part reads,
                     enum part writes, uint64_t n, uint64_t grid, struct passes *passes)
{
    const enum style style = self->plan->method->style;
    struct step *step = &passes->at[passes->count++];
    *step = (struct step){.name = "pass",
                          .reads = reads,
                          .writes = writes,
                          .kernel = kernel,
                          .n = n,
                          .grid = grid,
                          .block = self->plan->launch.block,
                          .shared_bytes = self->shared_bytes,
                          .cluster = 1,
                          .cooperative = style == STYLE_cooperative};
    if (style == STYLE_clusters)
        set_clusters(self->plan, step);
    passes->leaves = writes;
}

/* The first kernel on elements, then the other one on the remaining states until one is left. In
 * short rows a thread's few loads take long, so more threads share the rows. */
static void add_rounds(const struct schedule *self, bool of_results, enum part reads, uint64_t n,
                       struct passes *passes)
{
    enum { ROW_ELEMENTS_PER_THREAD = 8 };
    const struct choice *choice = &self->choice;
    const uint64_t state_elements = elements_per_block(self->plan);
    uint64_t block_elements = state_elements, most = self->later_blocks_max;
    const void *kernel = choice->later;
    enum part writes = PART_PARTIALS, other = PART_OTHER_PARTIALS;
    if (!of_results) {
        kernel = choice->first;
        most = self->first_blocks_max;
        if (choice_reads_rows(choice))
            block_elements = (uint64_t)self->plan->launch.block * ROW_ELEMENTS_PER_THREAD;
    }
    for (;;) {
        const uint64_t grid = min_u64(ceil_div(n, block_elements), most);
        add_pass(self, kernel, reads, writes, n, grid, passes);
        if (grid == 1 || !method_is(self->plan->method, METHOD_REPEATS))
            return;
        n = grid;
        block_elements = state_elements;
        kernel = choice->later;
        most = self->later_blocks_max;
        reads = writes;
        writes = other;
        other = reads;
    }
}

/* The pieces' states are in gred's own memory, so in-place methods also reduce those in place.
 * Level by level, these fold the upper half onto the lower until one element is left. */
void schedule_passes(const struct schedule *self, bool of_results, uint64_t n,
                     struct passes *passes)
{
    const struct choice *choice = &self->choice;
    const enum part reads = of_results        ? PART_RESULTS
                            : choice->copy    ? PART_COPY
                            : choice->uploads ? PART_UPLOADED
                                              : PART_ARRAY;
    passes->count = 0;
    switch (self->plan->method->style) {
    case STYLE_levels:
        passes->leaves = reads;
        for (; n > 1; n -= n / 2)
            add_pass(self, choice->later, reads, reads, n,
                     ceil_div(n / 2, self->plan->launch.block), passes);
        break;
    case STYLE_library:
        passes->leaves = PART_PARTIALS;
        passes->at[passes->count++] =
            (struct step){.name = "library",
                          .reads = reads,
                          .writes = PART_PARTIALS,
                          .reducer = of_results ? choice->later_reducer : choice->reducer,
                          .n = n};
        break;
    default:
        add_rounds(self, of_results, reads, n, passes);
    }
}

/* ---- steps outside the passes ---- */

enum { COPY_BLOCK = 512, BLOCK = 256, WARP = 32 }; /* threads */
enum { BLOCKS = 8 };                               /* per multiprocessor */

/* A grid-stride launch over n elements, of at most `most` blocks. */
static struct step grid_stride(const void *kernel, uint64_t n, unsigned block, uint64_t most,
                               const char *name, enum part reads, enum part writes)
{
    return (struct step){.name = name,
                         .reads = reads,
                         .writes = writes,
                         .kernel = kernel,
                         .n = n,
                         .grid = min_u64(ceil_div(n, block), most),
                         .block = block,
                         .cluster = 1};
}

struct step step_gather(const struct facts *facts, enum part reads, uint64_t n)
{
    return grid_stride(kernel_of_kind(facts->kernels, KERNEL_COPY_GATHERED), n, COPY_BLOCK,
                       (uint64_t)BLOCKS * facts->multiprocessors, "copy", reads, PART_COPY);
}

/* One thread per result, up to BLOCKS_MOST blocks. */
struct step step_store(const void *kernel, uint64_t n)
{
    enum { BLOCKS_MOST = 1 << 16 };
    return grid_stride(kernel, n, BLOCK, BLOCKS_MOST, "store", PART_RESULTS, PART_OUT);
}

struct exact_result step_exact_result(const struct plan *plan, enum element accumulator, void *out,
                                      uint64_t count)
{
    struct exact_result result = {.out = out,
                                  .out_type = plan->results.type,
                                  .rounding = plan_exact_rounding(plan),
                                  .span = plan_exact_span(plan, accumulator),
                                  .finish = plan->finish};
    result.finish.count = count;
    return result;
}

struct step schedule_copy(const struct schedule *self, uint64_t n)
{
    return grid_stride(self->choice.copy, n, COPY_BLOCK, BLOCKS * self->multiprocessors, "copy",
                       self->choice.uploads ? PART_UPLOADED : PART_ARRAY, PART_COPY);
}

struct step schedule_count(const struct schedule *self)
{
    return grid_stride(kernel_of_kind(self->kernels, KERNEL_COUNT), self->plan->n, BLOCK,
                       BLOCKS * self->multiprocessors, "count", PART_ARRAY, PART_COUNTED);
}

/* One thread, or one warp for the words of an exact sum. */
struct step schedule_finish(const struct schedule *self, enum part state)
{
    const bool exact = self->plan->exact;
    const enum kernel_kind kind = exact ? KERNEL_EXACT_FINISH : KERNEL_FINISH;
    struct step step = grid_stride(kernel_of_kind(self->kernels, kind), 1, exact ? WARP : 1, 1,
                                   "finish", state, PART_OUT);
    step.shared_bytes = exact ? (EXACT_HEADER + EXACT_DIGITS) * sizeof(int64_t) : 0;
    return step;
}

/* The fold's identity if states are single values; other folds read the mask and ignore it. For
 * exact sums, NaN if they skip NaN, and otherwise -0, which changes no sum. */
union scalar schedule_masked_fill(const struct schedule *self)
{
    const enum element accumulator = self->choice.accumulator;
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX] = {0};
    union scalar value = {.u64 = 0};
    if (!self->plan->exact) {
        state_identity(self->plan->fold, accumulator, state);
        memcpy(&value, state, sizeof value);
    } else if (!element_is_integer(accumulator)) {
        const double fill = self->plan->fold == FOLD_nansum ? NAN : -0.0;
        value = scalar_narrow((struct scalar_wide){SCALAR_FLOAT, 0, fill, fill}, accumulator);
    }
    return value;
}
