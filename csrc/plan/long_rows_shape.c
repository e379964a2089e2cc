/* Few threads for each of many results, and for one of few a block or several. Of results that
 * are made of several rows, each group of threads has a row to itself, if there are rows enough. */
#include "plan/long_rows_shape.h"

#include "common/arithmetic.h"

/* On an H200, 256 MiB, shares of the read limit, of sum and argmax, by teams of at least 4, 8 and
 * 16 threads:
 *
 *     (n, 600) int8         0.79 0.61    0.72 0.44    0.56 0.30
 *     (n, 1000) int8        0.82 0.65    0.85 0.57    0.78 0.40
 *     (n, 1000) float32     0.87 0.76    0.84 0.72    0.89 0.74
 *     (n, 4097) float32     0.96 0.81    0.95 0.80    0.96 0.80
 *     (n, 4097) int8        0.88 0.86    0.90 0.83    0.90 0.81
 *
 * (n, 4097), (n, 2^16) and (n, 2^20), by LONG_ROWS_RESIDENT blocks of LONG_ROWS_PACKS loads:
 *
 *                        4 of 4            3 of 4            2 of 8
 *     argmax, float32    0.87 0.88 0.88    0.91 0.92 0.93    0.92 0.91 0.93
 *     argmax, float64    0.78 0.87 0.83    0.86 0.81 0.89    0.90 0.93 0.93
 *     argmax, int8       0.71 0.84 0.87    0.83 0.89 0.94    0.78 0.92 0.99
 *     var, float32       0.85 0.87 0.84    0.86 0.89 0.88    0.87 0.88 0.89
 *     var, float64       0.86 0.93 0.85    0.90 0.83 0.88    0.87 0.93 0.88
 *     var, float16       0.82 0.85 0.84    0.83 0.83 0.85    0.84 0.85 0.86
 *     var, int8          0.92 0.92 0.87    0.83 0.87 0.92    0.77 0.88 0.96
 *
 * Microseconds of argmax and var of small arrays, where 1024, 512, 256 and 128 threads of a
 * multiprocessor are enough:
 *
 *     (1024, 1024) float64     12 14     6.9 7.8    4.6 4.9    4.2 4.3
 *     (4096, 4096) float32     22 24     20 21      18 19      18 19
 *     (1024, 4096) float16     13 17     7.1 9.1    4.7 5.6    4.2 5.1
 *     (1024, 16384) int8       9.8 9.8   7.9 7.0    5.6 5.9    5.8 5.8
 *
 * Of few results, sum, argmax and var, where a block has a result to itself up to 4, 8 and 16
 * batches of a thread:
 *
 *     (64, 16384) float64      7.5 5.1 5.3    4.3 5.1 5.2    4.3 5.1 5.2
 *     (1, 65536) float64       5.8 9.2 10     5.8 9.2 10     5.9 9.1 8.5
 *     (64, 65536) float32      8.2 10 11      8.2 6.7 7.9    6.0 6.7 7.9
 *     (128, 32768) float32     8.3 5.6 6.3    4.9 5.6 6.3    4.9 5.6 6.3
 *
 * and without a graph, where blocks share less dearly:
 *
 *     (1, 65536) float64       4.9 8.3 9.5    4.9 8.3 9.6    4.9 10 9.4
 *     (1, 65536) float32       4.7 7.6 8.9    4.8 7.0 8.3    6.4 7.0 8.2
 *
 * Where several blocks share a result, twice and four times as many as there is room for at a time
 * take 2^26 of float32 at 0.90 and 0.86 of it instead of 0.93. Four results one after the other
 * help int8, (n, 1000) 0.85 for 0.78, and cost where few blocks are left, float32 0.84 for 0.91. */
static const struct long_rows_tuning measured = {
    .elements = 512,
    .bytes = 2048,
    .block = 8,
    .least = 3,
    .threads = 128,
    .packs = 7,
    .alone = 8,
    .waves = 1,
    .rounds = 4,
    .stacked = 64,
    .few = 48,
    .words = 4096,
};

static struct long_rows_tuning forced;

void long_rows_tuning_force(struct long_rows_tuning tuning)
{
    forced = tuning;
}

static const struct long_rows_tuning *tuned(void)
{
    return forced.block ? &forced : &measured;
}

enum { PACK_BYTES = 16, WORD = 4, WARP = 5 };

/* Packs are counted by 32 bits, with the readers beyond the last. */
static const uint64_t packs_max = (uint64_t)1 << 31;

static uint64_t row_length(const struct axes *axes)
{
    return axes->reduced.shape[axes->reduced.dimensions - 1];
}

static uint64_t row_bytes(const struct axes *axes)
{
    return row_length(axes) * element_size(axes->reduced.input);
}

uint64_t long_rows_count(const struct axes *axes)
{
    return layout_length(&axes->reduced) / row_length(axes);
}

/* Elements from one of a row to the next, where they are not others'; 0: there is no kernel for
 * that. */
static unsigned step_of(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    const int64_t size = (int64_t)element_size(reduced->input),
                  stride = reduced->strides[reduced->dimensions - 1];
    if (stride == size)
        return 1;
    return stride == 2 * size && !axes_lie_abreast(axes) ? 2 : 0;
}

static bool are_rows(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    return reduced->dimensions > 0 && !reduced->mask && layout_length(reduced) > 0 &&
           step_of(axes) > 0 && row_bytes(axes) / PACK_BYTES < packs_max;
}

static bool are_long(const struct axes *axes, const struct long_rows_tuning *tuning)
{
    return row_length(axes) >= tuning->elements || row_bytes(axes) >= tuning->bytes;
}

/* Whether they are better off in shared memory, where kernels of any type read words as fast: sums
 * and extremes of 4-byte elements one row after the other, 1000 of them at 0.99 of the read limit.
 */
static bool are_better_staged(const struct axes *axes, size_t state,
                              const struct long_rows_tuning *tuning)
{
    return row_bytes(axes) <= tuning->words && element_size(axes->reduced.input) == WORD &&
           state == WORD && axes->reduced.dimensions == 1 && axes->kept == 1 &&
           (uint64_t)axes->strides[0] == row_bytes(axes);
}

/* Whether rows of all results are whole packs, which begin at one's boundary, and so few that a
 * team has one for each. */
static bool are_stacked(const struct axes *axes, uintptr_t data,
                        const struct long_rows_tuning *tuning)
{
    const struct layout *reduced = &axes->reduced;
    const uint64_t bytes = row_bytes(axes);
    uint64_t all = data | bytes;
    if (reduced->dimensions != 2 || step_of(axes) > 1 || bytes < tuning->stacked ||
        bytes / PACK_BYTES > (uint64_t)1 << tuning->block || reduced->shape[0] >= packs_max)
        return false;
    all |= (uint64_t)reduced->strides[0];
    for (unsigned k = 0; k < axes->kept; k++)
        all |= (uint64_t)axes->strides[k];
    return all % PACK_BYTES == 0;
}

/* More threads for each result, as long as there are too few of them or a thread has much to do. */
static unsigned team_for(const struct axes *axes, uint64_t packs, uint64_t threads, unsigned team,
                         const struct long_rows_tuning *tuning)
{
    while (team < tuning->block && packs >> (team + 1) > 0 &&
           (packs >> (team + tuning->packs) > 0 || axes->results << team < threads))
        team++;
    return team;
}

/* Blocks for each of so few results that there is room for more: whole waves of all blocks that are
 * there at a time, and a batch of packs for each thread. Before they wait for one another one block
 * has several. */
static uint64_t splits_for(const struct axes *axes, uint64_t packs, uint64_t blocks, unsigned batch,
                           const struct long_rows_tuning *tuning)
{
    const uint64_t batches = packs >> (tuning->block + batch),
                   splits = least(blocks / axes->results, batches);
    return batches > tuning->alone && splits > 1 ? splits : 1;
}

/* As many groups of a result's threads as there are rows for, and a batch of a row for each thread.
 */
static void share_rows(uint64_t rows, uint64_t packs, unsigned batch, struct axes_shape *shape)
{
    const uint64_t blocks = least(shape->splits, rows);
    const uint64_t together = shape->splits / blocks; /* blocks, at one row */
    shape->splits = blocks * together;
    shape->readers = (unsigned)(together << shape->team);
    unsigned lanes = shape->team;
    while (together == 1 && lanes > WARP && packs >> (lanes + batch) == 0 &&
           blocks << (shape->team - lanes + 1) <= rows)
        lanes--;
    if (together == 1)
        shape->readers = 1u << lanes;
}

static unsigned least_team_for(uint64_t packs, size_t state, const struct long_rows_tuning *tuning)
{
    const uint64_t few = state > LONG_ROWS_SMALL ? 6 * tuning->few : tuning->few;
    return packs <= few && tuning->least > 0 ? tuning->least - 1 : tuning->least;
}

bool long_rows_shape_make(const struct axes *axes, const struct axes_kernels *kernels,
                          uintptr_t data, unsigned multiprocessors, struct axes_shape *shape)
{
    enum { ENOUGH_WAVES = 4 };
    const struct long_rows_tuning *tuning = tuned();
    if (!are_rows(axes) || are_better_staged(axes, kernels->state, tuning))
        return false;
    *shape = (struct axes_shape){.rounds = 1, .splits = 1, .inner = 1, .step = step_of(axes)};
    shape->stacked = !kernels->indexed && are_stacked(axes, data, tuning);
    if (!shape->stacked && !are_long(axes, tuning))
        return false;
    const size_t size = element_size(axes->reduced.input);
    const uint64_t of_row = row_bytes(axes) / PACK_BYTES, rows = long_rows_count(axes),
                   packs = of_row * rows, threads = (uint64_t)multiprocessors * tuning->threads,
                   resident = LONG_ROWS_RESIDENT(kernels->state, size, shape->step > 1),
                   blocks = multiprocessors * resident * tuning->waves;
    const unsigned lanes = shape->stacked ? exponent_up(of_row) : 0,
                   batch = exponent_up(LONG_ROWS_PACKS(kernels->state, size)),
                   least_team = least_team_for(packs, kernels->state, tuning);
    shape->long_rows = true;
    shape->block = tuning->block;
    shape->team = team_for(axes, packs, threads, lanes > least_team ? lanes : least_team, tuning);
    if (shape->team == shape->block)
        shape->splits = splits_for(axes, packs, blocks, batch, tuning);
    const uint64_t teams = (uint64_t)1 << (shape->block - shape->team),
                   busy = axes->results / (teams * blocks * ENOUGH_WAVES);
    if (shape->splits == 1)
        shape->rounds = (unsigned)least(tuning->rounds, busy ? busy : 1);
    if (shape->stacked)
        shape->readers = 1u << lanes;
    else
        share_rows(rows, of_row, batch, shape);
    shape->groups = divide_up(axes->results, teams * shape->rounds);
    return true;
}

/* A state a warp. */
size_t long_rows_shared_bytes(const struct axes_shape *shape, size_t state)
{
    const size_t least_bytes = state > sizeof(uint64_t) ? state : sizeof(uint64_t);
    return least_bytes << (shape->block - WARP);
}
