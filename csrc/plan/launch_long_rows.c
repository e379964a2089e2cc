/* Few threads for each of many results, and for one of few a block or several. Of results that
 * are made of several rows, each group of threads has a row to itself, if there are rows enough. */
#include "plan/launch_problem.h"

/* Packs are counted by 32 bits, with the readers beyond the last. */
static const uint64_t packs_max = (uint64_t)1 << 31;

/* A result's rows, of elements that are neighbours or every second one of them. */
struct long_rows {
    uint64_t bytes, rows; /* of a row, and rows of a result */
    uint64_t packs;       /* of 16 bytes, of a row */
    unsigned step;        /* elements from one of a row to the next */
    unsigned batch;       /* packs that a thread waits for at a time, as an exponent */
    uint64_t blocks;      /* that the device has room for */
};

/* Elements from one of a row to the next, where they are not others'; 0: there is no kernel for
 * that. */
static unsigned step_of(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    const int64_t size = (int64_t)element_bytes(axes),
                  stride = reduced->strides[reduced->dimensions - 1];
    if (stride == size)
        return 1;
    return stride == 2 * size && !axes_lie_across(axes) ? 2 : 0;
}

/* False: they are empty, or have a mask, or their elements are no neighbours. */
static bool find_rows(const struct launch_problem *problem, struct long_rows *rows)
{
    const struct layout *reduced = &problem->axes->reduced;
    const uint64_t n = layout_length(reduced), size = element_size(reduced->input);
    if (reduced->dimensions == 0 || reduced->mask || n == 0)
        return false;
    const uint64_t length = reduced->shape[reduced->dimensions - 1];
    const size_t state = problem->state;
    rows->bytes = length * size;
    rows->rows = n / length;
    rows->packs = rows->bytes / PACK_BYTES;
    rows->step = step_of(problem->axes);
    rows->batch = exponent_up(LONG_ROWS_PACKS(state, size));
    rows->blocks = (uint64_t)problem->multiprocessors *
                   LONG_ROWS_RESIDENT(state, size, rows->step > 1) * long_rows_tuning()->waves;
    return rows->step > 0 && rows->packs < packs_max;
}

/* Whether they are better off in shared memory, where kernels of any type read words as fast: sums
 * and extremes of 4-byte elements one row after the other. */
static bool are_better_staged(const struct launch_problem *problem, const struct long_rows *rows)
{
    enum { WORD = 4 };
    const struct axes *axes = problem->axes;
    return rows->bytes <= long_rows_tuning()->words && element_bytes(axes) == WORD &&
           problem->state == WORD && axes->reduced.dimensions == 1 && axes->kept == 1 &&
           (uint64_t)axes->strides[0] == rows->bytes;
}

/* Whether rows of all results are whole packs, which begin at one's boundary, and so few that a
 * team has one for each. */
static bool are_stacked(const struct launch_problem *problem, const struct long_rows *rows)
{
    const struct long_rows_tuning *tuning = long_rows_tuning();
    const struct layout *reduced = &problem->axes->reduced;
    if (problem->indexed || reduced->dimensions != 2 || rows->step > 1 ||
        rows->bytes < tuning->stacked || rows->packs > (uint64_t)1 << tuning->block ||
        reduced->shape[0] >= packs_max)
        return false;
    const uint64_t all = axes_row_bits(problem->axes, problem->data, 0) | rows->bytes |
                         (uint64_t)reduced->strides[0];
    return all % PACK_BYTES == 0;
}

static unsigned least_team_for(uint64_t packs, size_t state)
{
    const struct long_rows_tuning *tuning = long_rows_tuning();
    const uint64_t few = state > LONG_ROWS_SMALL ? 6 * tuning->few : tuning->few;
    return packs <= few && tuning->least > 0 ? tuning->least - 1 : tuning->least;
}

/* More threads for each result, as long as there are too few of them or a thread has much to do. */
static unsigned team_for(const struct launch_problem *problem, uint64_t packs, unsigned team)
{
    const struct long_rows_tuning *tuning = long_rows_tuning();
    const uint64_t threads = (uint64_t)problem->multiprocessors * tuning->threads;
    while (team < tuning->block && packs >> (team + 1) > 0 &&
           (packs >> (team + tuning->packs) > 0 || problem->axes->results << team < threads))
        team++;
    return team;
}

/* Blocks for each of so few results that there is room for more: whole waves of all blocks that are
 * there at a time, and a batch of packs for each thread. Before they wait for one another one block
 * has several. */
static uint64_t splits_for(uint64_t results, uint64_t packs, const struct long_rows *rows)
{
    const struct long_rows_tuning *tuning = long_rows_tuning();
    const uint64_t batches = packs >> (tuning->block + rows->batch),
                   splits = least(rows->blocks / results, batches);
    return batches > tuning->alone && splits > 1 ? splits : 1;
}

/* As many groups of a result's threads as there are rows for, and a batch of a row for each thread.
 */
static void share_rows(const struct long_rows *rows, struct launch_config *config)
{
    const uint64_t blocks = least(config->splits, rows->rows);
    const uint64_t together = config->splits / blocks; /* blocks, at one row */
    config->splits = blocks * together;
    config->readers = (unsigned)(together << config->team);
    unsigned lanes = config->team;
    while (together == 1 && lanes > WARP && rows->packs >> (lanes + rows->batch) == 0 &&
           blocks << (config->team - lanes + 1) <= rows->rows)
        lanes--;
    if (together == 1)
        config->readers = 1u << lanes;
}

bool launch_long_rows(const struct launch_problem *problem, struct launch_config *config)
{
    enum { ENOUGH_WAVES = 4 };
    const struct long_rows_tuning *tuning = long_rows_tuning();
    const uint64_t results = problem->axes->results;
    struct long_rows rows;
    if (!find_rows(problem, &rows) || are_better_staged(problem, &rows))
        return false;
    const bool stacked = are_stacked(problem, &rows);
    if (!stacked && rows.bytes < tuning->elements * element_bytes(problem->axes) &&
        rows.bytes < tuning->bytes)
        return false;
    const uint64_t packs = rows.packs * rows.rows;
    const unsigned lanes = stacked ? exponent_up(rows.packs) : 0,
                   least_team = least_team_for(packs, problem->state);
    *config = (struct launch_config){.kernel = KERNEL_TYPED_ROWS,
                                     .block = tuning->block,
                                     .rounds = 1,
                                     .splits = 1,
                                     .inner = 1,
                                     .step = rows.step,
                                     .stacked = stacked};
    config->team = team_for(problem, packs, lanes > least_team ? lanes : least_team);
    if (config->team == config->block)
        config->splits = splits_for(results, packs, &rows);
    const uint64_t teams = (uint64_t)1 << (config->block - config->team),
                   busy = results / (teams * rows.blocks * ENOUGH_WAVES);
    if (config->splits == 1)
        config->rounds = (unsigned)least(tuning->rounds, busy ? busy : 1);
    if (stacked)
        config->readers = 1u << lanes;
    else
        share_rows(&rows, config);
    config->groups = divide_up(results, teams * config->rounds);
    const size_t of_warp = problem->state > sizeof(uint64_t) ? problem->state : sizeof(uint64_t);
    config->shared_bytes = of_warp << (config->block - WARP);
    return true;
}
