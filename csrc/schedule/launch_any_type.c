/* Kernels that read the element type at run time, for everything that no other kernel supports:
 * masks, describe, any layout. Threads are placed for coalesced loads, along a result's elements or
 * across adjacent results. Short results get few threads each; few long ones a block or several. */
#include "schedule/launch_config.h"

enum {
    LOAD = 2,       /* log2 of the elements per iteration of an unrolled loop */
    FEW = 2,        /* log2 of the iterations up to which a result has few elements */
    WINDOWS_MIN = 2 /* log2 of the minimum windows per stretch */
};

static uint64_t busy_threads(const struct launch_problem *problem)
{
    return (uint64_t)problem->multiprocessors * tuned->axes.threads;
}

/* Adds threads per result while the device is not full and each thread has enough elements. */
static unsigned team_for(uint64_t results, uint64_t n, unsigned slots, unsigned team, unsigned most,
                         uint64_t threads)
{
    while (team < most && n >> (team + slots) && results << team < threads)
        team++;
    return team;
}

static unsigned inner_lanes(const struct axes *axes, enum element accumulator)
{
    const struct layout *reduced = &axes->reduced;
    const uint64_t length = reduced->dimensions ? reduced->shape[reduced->dimensions - 1] : 1;
    return length ? rows_lanes(length, accumulator) : 0;
}

/* At most one row per result, and a team within a warp. */
static bool fits_few(const struct launch_problem *problem, const struct launch_config *config)
{
    const struct layout *reduced = &problem->axes->reduced;
    if (!launch_has(problem, KERNEL_FEW) || config->team > (config->across ? 0 : WARP))
        return false;
    return reduced->dimensions == 0 ||
           (reduced->dimensions == 1 && reduced->shape[0] >> (config->team + LOAD + FEW) == 0);
}

/* Adjacent elements belong to adjacent results: a warp reads across as many as there are. */
static void launch_across(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const unsigned across = (unsigned)min_u64(ceil_log2(axes->shape[axes->outer - 1]), WARP);
    config->team =
        team_for(axes->results, elements_per_result(axes), rows_slots(problem->accumulator), 0,
                 config->block - across, busy_threads(problem));
    config->lanes = (unsigned)min_u64(config->team, inner_lanes(axes, problem->accumulator));
}

/* Long stretches, while there are enough of them for all threads if all rows were one. */
static void launch_any_rows(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const struct axes_tuning *tuning = &tuned->axes;
    const uint64_t n = elements_per_result(axes), threads = busy_threads(problem);
    const unsigned slots = rows_slots(problem->accumulator), share = slots + tuning->share;
    config->lanes = inner_lanes(axes, problem->accumulator);
    const unsigned enough = team_for(1, n, share, config->lanes, WARP, UINT64_MAX);
    config->team = team_for(axes->results, n, share, enough, config->block, threads);
    config->windows = tuning->windows;
    while (config->windows > WINDOWS_MIN && axes->results * n >>
                                                (slots + config->lanes + config->windows) <
                                                2 * (threads >> config->lanes))
        config->windows--;
}

/* ---- blocks ---- */

/* Blocks per result: all resident, with a stretch for each group of a team. */
static uint64_t splits_for(const struct launch_problem *problem, const struct launch_config *config)
{
    const uint64_t blocks = (uint64_t)problem->multiprocessors * tuned->axes.blocks;
    struct kernel_rows rows;
    launch_rows(config, problem->axes, problem->accumulator, &rows);
    const uint64_t items = rows.how.items >> (config->team - config->lanes);
    const uint64_t splits = min_u64(blocks / config->groups, items);
    return splits > 1 ? splits : 1;
}

static struct launch_config default_config(const struct launch_problem *problem)
{
    return (struct launch_config){.kernel = KERNEL_ALONG,
                                  .block = tuned->axes.block,
                                  .splits = 1,
                                  .inner = 1,
                                  .windows = WINDOWS_MIN,
                                  .batch_invariant = problem->batch_invariant};
}

static void set_groups(const struct launch_problem *problem, struct launch_config *config)
{
    config->groups =
        ceil_div(problem->axes->results, (uint64_t)1 << (config->block - config->team));
    config->shared_bytes = (problem->state > sizeof(uint64_t) ? problem->state : sizeof(uint64_t))
                           << config->block;
}

/* As many threads of a block as have enough elements, and then as many blocks. */
void launch_any_type_invariant(const struct launch_problem *problem, struct launch_config *config)
{
    enum { SPLITS_MAX = 256 };
    const struct axes *axes = problem->axes;
    const uint64_t n = elements_per_result(axes);
    const unsigned share = rows_slots(problem->accumulator) + tuned->axes.share;
    *config = default_config(problem);
    config->lanes = axes->runs > 1 ? 0 : inner_lanes(axes, problem->accumulator);
    config->team = team_for(1, n, share, config->lanes, config->block, UINT64_MAX);
    if (config->team == config->block)
        config->splits = min_u64(ceil_div(n, (uint64_t)1 << (config->team + share)), SPLITS_MAX);
    set_groups(problem, config);
}

void launch_any_type(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    *config = default_config(problem);
    config->across = axes_are_interleaved(axes);
    if (config->across)
        launch_across(problem, config);
    else
        launch_any_rows(problem, config);
    set_groups(problem, config);
    if (fits_few(problem, config))
        config->kernel = KERNEL_FEW;
    else
        config->splits = splits_for(problem, config);
}
