/* Elements of a known type loaded one by one: small arrays, for which fetching another kernel's
 * code takes longer than the reduction, and layouts that no other typed kernel supports. */
#include "schedule/launch_config.h"

enum {
    SECTOR = 32,        /* minimum bytes of adjacent columns per block of a small array, half of it
                           for large states */
    LANES = 32,         /* minimum columns per block of any other array */
    BATCHES = 4,        /* of a thread's loads, up to which blocks do not share a result */
    MERGED_MAX = 16,    /* maximum split states that a thread merges */
    LOADS_SMALL = 8,    /* maximum batches per thread of a small array */
    SCALAR_RUN_MAX = 3, /* longest run of a result's elements for which vector loads gain nothing */
    SCALAR_BYTES_MIN = 16 /* minimum bytes per thread, narrow elements counted as words; below it
                             vector loads of longer runs are faster */
};

/* Adjacent elements per result, if closer together than those of different results. */
static uint64_t inner_run(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    if (reduced->dimensions == 0 || axes_are_interleaved(axes))
        return 1;
    return reduced->shape[reduced->dimensions - 1];
}

/* `lanes`: minimum adjacent columns per block. */
static bool configure_strided(const struct launch_problem *problem, uint64_t lanes,
                              struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const uint64_t n = elements_per_result(axes), inner = inner_run(axes), rows = n / inner,
                   block = 1u << STRIDED_BLOCK;
    const unsigned dimensions = axes->reduced.dimensions - (inner > 1);
    if (!tuned->axes.strided || n == 0 || inner > block || dimensions > 2 || rows > INT32_MAX / 2)
        return false;
    const uint64_t busy = (uint64_t)problem->multiprocessors * tuned->axes.threads,
                   useful = ceil_div(rows, STRIDED_LOADS),
                   enough = ceil_div(busy, axes->results * inner),
                   threads = min_u64(enough, useful); /* per column */
    if (lanes < block / threads)
        lanes = block / threads;
    const uint64_t fit = min_u64(lanes, block) / inner,
                   results = min_u64(fit ? fit : 1, axes->results),
                   shared = min_u64(block / (results * inner), rows);
    const unsigned exponent = ceil_log2(results * inner * shared);
    *config = (struct launch_config){
        .kernel = KERNEL_TYPED_STRIDED,
        .block = exponent < WARP ? WARP : exponent,
        .groups = ceil_div(axes->results, results),
        .splits = threads <= BATCHES * shared
                      ? 1
                      : min_u64(ceil_div(threads, shared), MERGED_MAX * shared * inner),
        .inner = (unsigned)inner,
        .step = 1,
        .strided = {.results = (unsigned)results,
                    .rows = (unsigned)shared,
                    .reciprocal = (unsigned)ceil_div(1 << 16, results * inner)}};
    config->shared_bytes = problem->state << config->block;
    return true;
}

bool launch_strided(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const uint64_t n = elements_per_result(axes), run = inner_run(axes), size = element_bytes(axes),
                   word = sizeof(uint32_t);
    return (n == 1 || (run > 1 && run <= SCALAR_RUN_MAX && run < n) ||
            n / run * (size > word ? size : word) >= SCALAR_BYTES_MIN) &&
           configure_strided(problem, LANES, config);
}

/* Whether a result's rows are shorter than a block and not whole packs. */
static bool has_ragged_rows(const struct layout *reduced, uint64_t size)
{
    const uint64_t run = reduced->shape[reduced->dimensions - 1];
    return run <= 1 << STRIDED_BLOCK && run * size % PACK_BYTES;
}

/* Whether a small array's elements do not form rows, nor so many results of one contiguous element
 * each that vectorized loads are faster. */
static bool lacks_rows(const struct launch_problem *problem, uint64_t n)
{
    enum { SHORT_RUN = 32, COLUMNS_MAX = 64, COPIED_MAX = 1 << 10 /* bytes per multiprocessor */ };
    const struct axes *axes = problem->axes;
    const struct layout *reduced = &axes->reduced;
    const unsigned last = reduced->dimensions - 1;
    if (n == 1)
        return axes->results * element_bytes(axes) <= problem->multiprocessors * COPIED_MAX ||
               axes->outer > 1 || !axes_rows_are_contiguous(axes, element_bytes(axes));
    const unsigned columns = axes_columns_per_result(axes, problem->indexed);
    return (columns > 0 && columns <= COLUMNS_MAX) || axes_are_interleaved(axes) ||
           reduced->strides[last] != (int64_t)element_bytes(axes) ||
           (reduced->dimensions > 1 &&
            (reduced->shape[last] <= SHORT_RUN || has_ragged_rows(reduced, element_bytes(axes))));
}

bool launch_small(const struct launch_problem *problem, uint64_t most, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const uint64_t n = elements_per_result(axes), size = element_bytes(axes),
                   bytes = size > sizeof(uint32_t) ? size : sizeof(uint32_t),
                   sector = problem->state > sizeof(uint64_t) ? SECTOR / 2 : SECTOR;
    return n > 0 && axes->results * n * bytes <= problem->multiprocessors * most &&
           lacks_rows(problem, n) && configure_strided(problem, ceil_div(sector, size), config) &&
           n / config->inner <= config->splits * config->strided.rows * LOADS_SMALL * STRIDED_LOADS;
}

/* ---- batch invariant ---- */

/* A result's bits depend only on its own elements: its number of shares depends only on its number
 * of elements, and shares merge in a binary tree by number. */
enum {
    SHARE = 32,     /* minimum elements per share */
    SHARE_LONG = 64 /* the same if a block has as many shares as threads */
};

/* log2 of the adjacent results per block, if these are closer together than a result's elements:
 * fewer, down to one sector, if that keeps more of the device busy. */
static unsigned invariant_lanes(const struct launch_problem *problem, uint64_t splits)
{
    const struct axes *axes = problem->axes;
    const uint64_t busy = (uint64_t)problem->multiprocessors * tuned->axes.threads;
    const unsigned sector = ceil_log2(SECTOR / element_bytes(axes));
    unsigned exponent = ceil_log2(min_u64(axes->results, INVARIANT_LANES));
    while (exponent > sector &&
           ceil_div(axes->results, 1u << exponent) * splits << STRIDED_BLOCK < busy)
        exponent--;
    return exponent;
}

bool launch_batch_invariant(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const uint64_t n = elements_per_result(axes), block = 1u << STRIDED_BLOCK;
    if (!launch_has(problem, KERNEL_BATCH_INVARIANT) || n == 0 || n > INT32_MAX / 2 ||
        axes->reduced.dimensions > 2 || axes->runs > 2)
        return false;
    const uint64_t shares = min_u64(ceil_div(n, SHARE), block),
                   splits = min_u64(ceil_div(n, block * SHARE_LONG), block);
    const bool across = axes_are_interleaved(axes);
    uint64_t results = min_u64(block / shares, axes->results);
    if (across && results >> invariant_lanes(problem, splits) == 0)
        results = (uint64_t)1 << invariant_lanes(problem, splits);
    const unsigned each = ceil_log2(ceil_div(shares * results, block)),
                   threads = ceil_log2(results * ceil_div(shares, 1u << each));
    *config = (struct launch_config){
        .kernel = KERNEL_BATCH_INVARIANT,
        .block = threads < WARP ? WARP : threads,
        .across = across,
        .groups = ceil_div(axes->results, results),
        .splits = splits,
        .inner = 1,
        .step = 1,
        .strided = {.results = (unsigned)results, .rows = (unsigned)shares, .shares = each}};
    config->shared_bytes = problem->state << config->block;
    return true;
}
