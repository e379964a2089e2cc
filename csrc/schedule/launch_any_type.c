/* Kernels that find the elements' type out as they run. Threads go where loads are coalesced: along
 * a result's elements, or across neighbouring results. Of many short results each gets few threads,
 * of few long ones each a block or several. */
#include "schedule/launch_config.h"

enum {
    LOAD = 2,       /* elements that a loop by fours takes */
    FEW = 2,        /* of which so many are few, all as exponents */
    WINDOWS_MIN = 2 /* of a stretch, as an exponent */
};

static uint64_t busy_threads(const struct launch_problem *problem)
{
    return (uint64_t)problem->multiprocessors * axes_tuning()->threads;
}

/* More threads for each result, as long as there are too few of them, and enough to do for each. */
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

/* In one row at most, and with a team within a warp. */
static bool has_few(const struct launch_problem *problem, const struct launch_config *config)
{
    const struct layout *reduced = &problem->axes->reduced;
    if (!launch_has(problem, KERNEL_FEW) || config->team > (config->across ? 0 : WARP))
        return false;
    return reduced->dimensions == 0 ||
           (reduced->dimensions == 1 && reduced->shape[0] >> (config->team + LOAD + FEW) == 0);
}

/* Where neighbours are neighbours' results, a warp reads across as many of them as there are. */
static void launch_across(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const unsigned across = (unsigned)least(exponent_up(axes->shape[axes->kept - 1]), WARP);
    config->team =
        team_for(axes->results, elements_of_result(axes), rows_slots(problem->accumulator), 0,
                 config->block - across, busy_threads(problem));
    config->lanes = (unsigned)least(config->team, inner_lanes(axes, problem->accumulator));
}

/* Long stretches, as long as there are enough for all threads if all rows were one. */
static void launch_any_rows(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const struct axes_tuning *tuning = axes_tuning();
    const uint64_t n = elements_of_result(axes), threads = busy_threads(problem);
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

/* Short rows in shared memory, without bank conflicts: neighbouring threads read neighbouring
 * loads, or, of an odd number of loads or of large states, which cost more to merge, a row each.
 * Loads are of words that several narrow elements fill, and as long as all rows' beginnings allow.
 * False: rows are not short, or not neighbours. */
static bool launch_staged(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const struct axes_tuning *tuning = axes_tuning();
    const struct staging staging = {tuning->staging, tuning->staged, tuning->threads};
    const uint64_t size = element_bytes(axes), n = elements_of_result(axes), bytes = n * size;
    if (n == 0 || !launch_has(problem, KERNEL_FEW) || !axes_lie_flat(axes, bytes))
        return false;
    const uint64_t all = bytes | problem->data | PACK_BYTES, boundary = all & -all,
                   word =
                       problem->packs ? least(boundary, element_size(problem->accumulator)) : size;
    const unsigned together = problem->state > sizeof(uint64_t) ? 0 : 3,
                   packing = exponent_up(word / size),
                   load = (unsigned)least(exponent_up(boundary / word), ROW_LOAD_MAX);
    const uint64_t loads = n >> (packing + load);
    if (!stage_rows(problem, &staging, bytes, loads, (unsigned)least(twos_of(loads), together),
                    config))
        return false;
    config->kernel = KERNEL_FEW;
    config->row.packing = packing;
    config->load = load;
    return true;
}

/* ---- blocks ---- */

/* Blocks that share a result: as many as have a stretch for each group of a team, and no more than
 * are resident at a time. */
static uint64_t splits_for(const struct launch_problem *problem, const struct launch_config *config)
{
    const uint64_t blocks = (uint64_t)problem->multiprocessors * axes_tuning()->blocks;
    struct kernel_rows rows;
    uint64_t items = 1;
    if (config->kernel != KERNEL_FEW) {
        launch_rows(config, problem->axes, problem->accumulator, &rows);
        items = rows.how.items >> (config->team - config->lanes);
    }
    const uint64_t splits = least(blocks / config->groups, items);
    return splits > 1 ? splits : 1;
}

/* What a block's threads leave each other, or its rows and what lies before a boundary. */
static size_t shared_bytes(size_t state, const struct launch_config *config)
{
    const size_t left = (state > sizeof(uint64_t) ? state : sizeof(uint64_t)) << config->block,
                 rows = (config->row.bytes * config->rounds << (config->block - config->team)) +
                        PACK_BYTES;
    return config->row.bytes && rows > left ? rows : left;
}

void launch_any_type(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    *config = (struct launch_config){.kernel = KERNEL_ALONG,
                                     .block = axes_tuning()->block,
                                     .across = axes_lie_across(axes),
                                     .rounds = 1,
                                     .splits = 1,
                                     .inner = 1,
                                     .windows = WINDOWS_MIN,
                                     .column = {.coalesced = 1}};
    if (config->across)
        launch_across(problem, config);
    else if (!launch_staged(problem, config))
        launch_any_rows(problem, config);
    if (has_few(problem, config))
        config->kernel = KERNEL_FEW;
    config->groups =
        divide_up(axes->results, (uint64_t)config->rounds << (config->block - config->team));
    config->splits = splits_for(problem, config);
    config->shared_bytes = shared_bytes(problem->state, config);
}
