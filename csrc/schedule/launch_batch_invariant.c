/* Results whose bits follow from their own elements alone: how many shares one has follows from how
 * many elements it has, and shares merge as a binary tree over their numbers. */
#include "schedule/launch_config.h"

enum {
    SHARE = 32,      /* elements of a share at least, */
    SHARE_LONG = 64, /* or so many where a block has as many shares as threads */
    SECTOR = 32      /* bytes of neighbouring results that a block reads at least, if there are */
};

/* Neighbouring results of a block, as an exponent, where these are closer than a result's elements:
 * fewer where that keeps more of the device busy. */
static unsigned side_by_side(const struct launch_problem *problem, uint64_t splits)
{
    const struct axes *axes = problem->axes;
    const uint64_t busy = (uint64_t)problem->multiprocessors * tuned->axes.threads;
    const unsigned sector = exponent_up(SECTOR / element_bytes(axes));
    unsigned exponent = exponent_up(least(axes->results, INVARIANT_LANES));
    while (exponent > sector &&
           divide_up(axes->results, 1u << exponent) * splits << STRIDED_BLOCK < busy)
        exponent--;
    return exponent;
}

bool launch_batch_invariant(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const uint64_t n = elements_of_result(axes), block = 1u << STRIDED_BLOCK;
    if (!launch_has(problem, KERNEL_BATCH_INVARIANT) || n == 0 || n > INT32_MAX / 2 ||
        axes->reduced.dimensions > 2 || axes->runs > 2)
        return false;
    const uint64_t shares = least(divide_up(n, SHARE), block),
                   splits = least(divide_up(n, block * SHARE_LONG), block);
    const bool across = axes_lie_across(axes);
    uint64_t results = least(block / shares, axes->results);
    if (across && results >> side_by_side(problem, splits) == 0)
        results = (uint64_t)1 << side_by_side(problem, splits);
    const unsigned each = exponent_up(divide_up(shares * results, block)),
                   threads = exponent_up(results * divide_up(shares, 1u << each));
    *config = (struct launch_config){
        .kernel = KERNEL_BATCH_INVARIANT,
        .block = threads < WARP ? WARP : threads,
        .across = across,
        .rounds = 1,
        .groups = divide_up(axes->results, results),
        .splits = splits,
        .inner = 1,
        .step = 1,
        .strided = {.results = (unsigned)results, .rows = (unsigned)shares, .shares = each}};
    config->shared_bytes = problem->state << config->block;
    return true;
}
