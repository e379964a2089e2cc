/* Kernels that find the elements' type out as they run. Threads go where loads are coalesced: along
 * a result's elements, or across neighbouring results. Of many short results each gets few threads,
 * of few long ones each a block or several. */
#include "schedule/launch_config.h"

enum {
    LOAD = 2,       /* elements that a loop by fours takes */
    FEW = 2,        /* of which so many are few, all as exponents */
    AT_ONCE = 2,    /* rows of columns that a thread reads before it waits, */
    TURNS = 1,      /* and how often it had better do so than share with others, as exponents */
    WINDOWS_MIN = 2 /* of a stretch, as an exponent */
};

static uint64_t busy_threads(const struct launch_problem *problem)
{
    return (uint64_t)problem->multiprocessors * axes_tuning()->threads;
}

/* ---- columns ---- */

/* Neighbouring columns in rows of so many: `inner` of them are a result's. */
struct any_columns {
    uint64_t columns, all, rows; /* of a row, of everything, and rows of each result */
    unsigned inner, across;      /* threads side by side, as an exponent */
};

/* Whether one load takes neighbouring columns in every row. */
static bool begin_at_boundaries(const struct launch_problem *problem,
                                const struct any_columns *columns)
{
    const struct layout *reduced = &problem->axes->reduced;
    const size_t load = least(element_bytes(problem->axes) * COLUMNS_A_THREAD, PACK_BYTES);
    uint64_t all = axes_row_bits(problem->axes, problem->data, 1);
    for (unsigned k = 0; k + (columns->inner > 1) < reduced->dimensions; k++)
        all |= (uint64_t)reduced->strides[k];
    return columns->columns % COLUMNS_A_THREAD == 0 && all % load == 0;
}

/* More threads for each column, of blocks of up to 2^most threads: as long as there is something
 * for each to do, and threads are idle. */
static unsigned team_of_columns(const struct any_columns *columns, unsigned most, uint64_t threads)
{
    unsigned team = 0;
    while (team + columns->across < most && columns->rows >> (team + AT_ONCE) > 1 &&
           columns->all / COLUMNS_A_THREAD << team < threads)
        team++;
    return team;
}

/* Threads of a block, as an exponent: at most so many, and such that the states that they leave
 * each other fit. */
static unsigned block_of_columns(size_t state, unsigned most)
{
    enum { SHARED_MAX = 48 << 10 };
    while (state * COLUMNS_A_THREAD << most > SHARED_MAX)
        most--;
    return most;
}

/* Threads side by side at most, as an exponent: a warp's, or, of a small array whose blocks would
 * then leave most multiprocessors idle, fewer. All of a result's columns are one block's. */
static unsigned threads_across(const struct launch_problem *problem,
                               const struct any_columns *columns)
{
    enum { NARROW = 1 };
    unsigned across = WARP;
    while (axes_are_small(problem) && across > NARROW && columns->rows >> AT_ONCE > 1 &&
           (unsigned)COLUMNS_A_THREAD << across > columns->inner &&
           columns->all / COLUMNS_A_THREAD >> across < problem->multiprocessors)
        across--;
    return across;
}

/* Blocks that share columns wait for one another longer than one that has all rows takes for a
 * second turn: where that suffices, it is made large instead. */
static void share_columns(const struct launch_problem *problem, const struct any_columns *columns,
                          struct launch_config *config)
{
    const struct axes_tuning tuning = axes_tuning_of_columns(problem);
    const uint64_t threads = busy_threads(problem),
                   blocks = (uint64_t)problem->multiprocessors * tuning.blocks;
    config->block = block_of_columns(problem->state, tuning.block);
    config->team = team_of_columns(columns, config->block, threads);
    const unsigned team = team_of_columns(columns, block_of_columns(problem->state, tuning.large),
                                          threads),
                   large = team + columns->across;
    if (columns->all >> columns->across <= blocks / 2 * COLUMNS_A_THREAD && large > config->block &&
        columns->rows >> (team + AT_ONCE + TURNS) <= 1) {
        config->team = team;
        config->block = large;
    }
}

/* A thread of a team reads ROWS_AT_ONCE elements of each of its columns. Neighbours that it makes
 * by itself it stores at once, but not results of large states. False: they do not lie in columns.
 * */
static bool launch_columns(const struct launch_problem *problem, struct launch_config *config)
{
    enum { LOAD_COLUMNS = 2 };
    const struct axes *axes = problem->axes;
    const size_t state = problem->state;
    struct any_columns columns = {.inner = axes_inner_columns(axes, problem->indexed)};
    if (!columns.inner)
        return false;
    columns.columns = axes->shape[axes->kept - 1] * columns.inner;
    columns.all = axes->results * columns.inner;
    columns.rows = elements_of_result(axes) / columns.inner;
    const bool together = begin_at_boundaries(problem, &columns);
    if (!together && axes->kept > 1)
        return false;
    columns.across = (unsigned)least(exponent_up(divide_up(columns.columns, COLUMNS_A_THREAD)),
                                     threads_across(problem, &columns));
    share_columns(problem, &columns, config);
    const bool one_by_one =
        config->team == 0 && axes->kept == 1 && state > sizeof(uint64_t) && state <= STORED_APART;
    config->kernel = KERNEL_COLUMNS;
    config->across = true;
    config->load = together && !one_by_one ? LOAD_COLUMNS : 0;
    config->inner = columns.inner;
    config->column.packs = divide_up(columns.columns, COLUMNS_A_THREAD);
    return true;
}

/* ---- rows, and any ---- */

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
    if (config->kernel == KERNEL_COLUMNS) {
        items =
            elements_of_result(problem->axes) / config->inner >> (config->team + AT_ONCE + TURNS);
    } else if (config->kernel != KERNEL_FEW) {
        launch_rows(config, problem->axes, problem->accumulator, &rows);
        items = rows.how.items >> (config->team - config->lanes);
    }
    const uint64_t splits = least(blocks / config->groups, items);
    return splits > 1 ? splits : 1;
}

/* What a block's threads leave each other, or its rows and what lies before a boundary. */
static size_t shared_bytes(size_t state, const struct launch_config *config)
{
    const size_t width = config->kernel == KERNEL_COLUMNS ? COLUMNS_A_THREAD : 1,
                 left = (state > sizeof(uint64_t) ? state : sizeof(uint64_t)) * width
                        << config->block,
                 rows = (config->row.bytes * config->rounds << (config->block - config->team)) +
                        PACK_BYTES;
    return config->row.bytes && rows > left ? rows : left;
}

void launch_any_type(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const struct axes_tuning *tuning = axes_tuning();
    *config = (struct launch_config){.kernel = KERNEL_ALONG,
                                     .block = tuning->block,
                                     .rounds = 1,
                                     .splits = 1,
                                     .inner = 1,
                                     .windows = WINDOWS_MIN,
                                     .column = {.coalesced = 1}};
    const bool columns =
        launch_has(problem, KERNEL_COLUMNS) && tuning->columns && launch_columns(problem, config);
    if (!columns) {
        config->across = axes_lie_across(axes);
        if (config->across)
            launch_across(problem, config);
        else if (!launch_staged(problem, config))
            launch_any_rows(problem, config);
        if (has_few(problem, config))
            config->kernel = KERNEL_FEW;
    }
    const uint64_t made = columns ? COLUMNS_A_THREAD : 1,
                   a_block =
                       (made << (config->block - config->team)) * config->rounds / config->inner;
    config->groups = divide_up(axes->results, a_block);
    config->splits = splits_for(problem, config);
    if (columns)
        config->column.split_group = (unsigned)config->splits;
    config->shared_bytes = shared_bytes(problem->state, config);
}
