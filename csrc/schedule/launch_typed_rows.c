/* Rows of a known type. benchmarks/tuning/cases.json has the effect of each case. */
#include "schedule/launch_config.h"

/* ---- short rows ---- */

/* Rows of up to 16 bytes are reduced in registers. Others are staged in shared memory, where one
 * thread reads a row if enough of them fit. */

/* Needs an aligned array, rows of a power of two of elements and of 2 bytes at least, and work for
 * all multiprocessors. */
static bool pack_rows(const struct launch_problem *problem, uint64_t n, uint64_t bytes,
                      struct launch_config *config)
{
    const unsigned block = tuned->short_rows.several;
    const uint64_t rounds = min_u64(ROWS_IN_REGISTERS, BYTES_IN_REGISTERS / bytes);
    if (!block || bytes < 2 || bytes > PACK_BYTES || bytes & (bytes - 1) ||
        problem->data % PACK_BYTES ||
        problem->axes->results >> WARP < rounds * problem->multiprocessors)
        return false;
    config->row.packed = (unsigned char)n;
    config->block = block;
    config->row.rounds = (unsigned)rounds;
    return true;
}

/* Rows are a multiple of 2^exponent packs, so threads of several rows would read from few banks: a
 * pack's position among the banks is XORed with its row number, except for the bits of a team. */
static void swizzle(unsigned exponent, struct launch_config *config)
{
    enum { BANKS = 3 }; /* log2 of the packs that fill all banks once */
    const unsigned team_mask = (1u << config->team) - 1;
    config->row.swizzle_mask = ((1u << min_u64(exponent, BANKS)) - 1) & ~team_mask;
    config->row.swizzle_shift =
        config->row.swizzle_mask ? (exponent > BANKS ? exponent : BANKS) - config->team : 0;
}

/* The batch is all rows if they are contiguous; else those of the last outer dimension. False if
 * batches are small or have fewer rows than a quarter of a block's threads. */
static bool find_batch(const struct launch_problem *problem, uint64_t bytes, bool flat,
                       struct row_tile *row)
{
    const struct short_rows_tuning *tuning = &tuned->short_rows;
    const struct axes *axes = problem->axes;
    const unsigned last = axes->outer - 1;
    row->batch = axes->shape[last];
    if (flat && axes->outer == 1)
        return true;
    row->dimensions = 1;
    return launch_has_strided(problem, KERNEL_TYPED_SHORT_ROWS) &&
           (axes->outer == 1 ||
            (row->batch >> (tuning->staging - 2) > 0 && row->batch * bytes >= tuning->batch));
}

/* Adds threads per row until a block's rows fit in shared memory and threads are busy; then adds
 * rows per team while they fit and enough blocks remain. False if a row is too long. */
static bool share_staging(const struct launch_problem *problem, uint64_t bytes, uint64_t loads,
                          struct launch_config *config)
{
    enum { ROUNDS_MAX = 64 };
    const struct short_rows_tuning *tuning = &tuned->short_rows;
    const uint64_t results = problem->axes->results,
                   threads = (uint64_t)problem->multiprocessors * tuning->threads;
    config->block = tuning->staging;
    while (config->team < WARP &&
           (bytes << (config->block - config->team) > tuning->staged ||
            (loads >> (config->team + 1) && results << config->team < threads)))
        config->team++;
    const uint64_t teams = (uint64_t)1 << (config->block - config->team),
                   room = min_u64(tuning->staged / (teams * bytes),
                                  ceil_div(config->row.batch, teams)),
                   busy = (results << config->team) / (4 * threads);
    config->row.bytes = bytes;
    config->row.rounds = (unsigned)min_u64(min_u64(room, busy ? busy : 1), ROUNDS_MAX);
    return room > 0;
}

/* Loads are as long as the alignment of all rows permits, so that adjacent threads, an odd number
 * of loads apart, have no bank conflicts. `begin` has the alignment bits of the rows in shared
 * memory. The rows are followed by room for misaligned starts, swizzled groups of eight packs, and
 * a word. */
static bool stage_rows(const struct launch_problem *problem, uint64_t n, uint64_t bytes,
                       uint64_t begin, struct launch_config *config)
{
    enum { ADJACENT_MAX = 3, PADDING_BYTES = 8 * PACK_BYTES };
    const unsigned boundary = trailing_zeros(bytes | begin | PACK_BYTES),
                   load = boundary - trailing_zeros(bytes / n);
    const uint64_t loads = n >> load;
    const bool swizzles = tuned->short_rows.turns && boundary == trailing_zeros(PACK_BYTES);
    config->team = swizzles ? 0 : (unsigned)min_u64(trailing_zeros(loads), ADJACENT_MAX);
    if (!share_staging(problem, bytes, loads, config))
        return false;
    config->load = load;
    config->shared_bytes =
        (size_t)(bytes * config->row.rounds << (config->block - config->team)) + PADDING_BYTES;
    if (swizzles)
        swizzle(trailing_zeros(loads), config);
    return true;
}

/* Strided rows that are not interleaved with other results. The unit is the largest aligned run in
 * all rows, or an element if elements are not contiguous. Units too narrow to be copied are loaded
 * one by one, which takes longer than the kernel of long rows unless rows are short or states are
 * large; but rows of every second element that continue each other are loaded in whole packs. */
static bool has_separate_rows(const struct launch_problem *problem, uint64_t n, uint64_t bytes,
                              struct launch_config *config)
{
    enum { COPY_BYTES_MIN = 4 };
    const struct axes *axes = problem->axes;
    const struct layout *reduced = &axes->reduced;
    const uint64_t size = bytes / n;
    if (reduced->dimensions > 1 || axes->outer == 0 || size > PACK_BYTES / 2 ||
        axes_are_interleaved(axes))
        return false;
    const int64_t stride = reduced->dimensions ? reduced->strides[0] : (int64_t)size;
    const uint64_t alignment = axes_row_alignment_bits(axes, problem->data, 0) | bytes | PACK_BYTES;
    const bool stride2 =
        stride == (int64_t)(2 * size) && axes->strides[axes->outer - 1] == (int64_t)(2 * bytes);
    config->step = stride2 && size < COPY_BYTES_MIN ? 2 : 1;
    config->row.unit = (unsigned char)(stride != (int64_t)size ? size : alignment & -alignment);
    return stride != (int64_t)size || config->row.unit >= COPY_BYTES_MIN ||
           bytes < tuned->long_rows.few_rows << (problem->state - 1) / LONG_ROWS_SMALL;
}

bool launch_short_rows(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const uint64_t n = elements_per_result(axes), bytes = n * element_bytes(axes);
    *config = (struct launch_config){
        .kernel = KERNEL_TYPED_SHORT_ROWS, .splits = 1, .inner = 1, .step = 1};
    if (n == 0 || bytes > tuned->short_rows.longest)
        return false;
    const bool flat = axes_rows_are_contiguous(axes, bytes);
    if ((!flat && !has_separate_rows(problem, n, bytes, config)) ||
        !find_batch(problem, bytes, flat, &config->row))
        return false;
    uint64_t begin =
        axes_row_alignment_bits(axes, problem->data, config->row.dimensions) % PACK_BYTES;
    if (!flat) /* gathered from an aligned address, or at the offset of the elements that count */
        begin = config->step == 2 ? begin / (2 * bytes / n) * (bytes / n) : 0;
    const bool packed =
        !config->row.dimensions && problem->native && pack_rows(problem, n, bytes, config);
    if (!packed && !stage_rows(problem, n, bytes, begin, config))
        return false;
    const uint64_t rows = (uint64_t)config->row.rounds << (config->block - config->team);
    config->row.blocks = (unsigned)ceil_div(config->row.batch, rows);
    config->groups = axes->results / config->row.batch * config->row.blocks;
    return true;
}

/* ---- columns of short batches ---- */

/* Columns whose batches are so short that a block stages several in shared memory. */
struct column_batches {
    uint64_t n, columns, size; /* elements per column, columns per batch, bytes per element */
    uint64_t batches, others;  /* at one distance, and indices of the dimensions outside */
    uint64_t bytes, pitch;     /* from a batch's first element to its last, and to the next */
};

/* False if batches are interleaved or too large, too few at one distance to fill a block, or most
 * of their bytes are not read. */
static bool find_batches(const struct launch_problem *problem, struct column_batches *self)
{
    enum { GAPS_MAX = 3 };
    const struct axes *axes = problem->axes;
    const struct layout *reduced = &axes->reduced;
    const unsigned last = axes->outer - 1;
    if (axes->outer < 2 || reduced->dimensions != 1 || reduced->shape[0] < 2 || reduced->mask)
        return false;
    const int64_t stride = reduced->strides[0], step = axes->strides[last],
                  pitch = axes->strides[last - 1];
    self->n = reduced->shape[0];
    self->size = element_bytes(axes);
    self->columns = axes->shape[last];
    self->batches = axes->shape[last - 1];
    self->others = axes->results / (self->columns * self->batches);
    self->pitch = (uint64_t)pitch;
    if (stride <= 0 || step <= 0 || pitch <= 0 || self->pitch > tuned->short_rows.batches ||
        (axes->outer > 2 && self->batches * self->pitch < tuned->short_rows.batch))
        return false;
    self->bytes =
        (self->n - 1) * (uint64_t)stride + (self->columns - 1) * (uint64_t)step + self->size;
    return self->bytes <= self->pitch &&
           GAPS_MAX * self->n * self->columns * self->size >= self->pitch;
}

/* Chooses log2 of the threads per column, so that a block's threads take the fewest steps for
 * `batches` batches. Returns the steps. */
static uint64_t share_batches(const struct column_batches *self, uint64_t batches,
                              struct launch_config *config)
{
    enum { AT_ONCE = 2 /* log2 */, STORE_STEPS = 2 };
    uint64_t least = UINT64_MAX;
    for (unsigned team = 0; team <= WARP && (team == 0 || self->n >> (team + 1)); team++) {
        const uint64_t each = ceil_div(self->n, 1u << (team + AT_ONCE)) + STORE_STEPS + team,
                       steps =
                           ceil_div(batches * self->columns << team, 1u << config->block) * each;
        if (steps < least) {
            config->team = team;
            least = steps;
        }
    }
    return least;
}

/* Chooses the threads per column for as many batches as fit, or for a few less if threads are
 * busier then. Returns the batches. */
static uint64_t batches_per_block(const struct launch_problem *problem,
                                  const struct column_batches *self, struct launch_config *config)
{
    enum { BLOCKS = 8 /* per multiprocessor */, TRIED = 8 };
    const uint64_t blocks = BLOCKS * (uint64_t)problem->multiprocessors,
                   most = min_u64(tuned->short_rows.batches / self->pitch,
                                  ceil_div(self->batches * self->others, blocks));
    uint64_t best = most, least = share_batches(self, most, config);
    for (uint64_t fewer = most - 1; fewer > most / 2 && fewer + TRIED > most; fewer--) {
        const uint64_t steps = share_batches(self, fewer, config);
        if (steps * best < least * fewer) {
            best = fewer;
            least = steps;
        }
    }
    share_batches(self, best, config);
    return best;
}

bool launch_staged_batches(const struct launch_problem *problem, struct launch_config *config)
{
    /* Batches of few columns at multiples of so many bytes begin at few banks. */
    enum { CONFLICTS = 32, FEW_COLUMNS = 4 };
    struct column_batches self;
    if (!launch_has(problem, KERNEL_TYPED_SHORT_ROWS) ||
        !launch_has_strided(problem, KERNEL_TYPED_SHORT_ROWS) || !find_batches(problem, &self))
        return false;
    const bool aligned = axes_row_alignment_bits(problem->axes, problem->data, 1) % PACK_BYTES == 0;
    *config = (struct launch_config){
        .kernel = KERNEL_TYPED_SHORT_ROWS,
        .block = tuned->short_rows.staging,
        .splits = 1,
        .inner = 1,
        .step = 1,
        .row = {.rounds = 1, .dimensions = 2, .bytes = (unsigned)self.bytes}};
    struct row_tile *row = &config->row;
    const uint64_t batches = batches_per_block(problem, &self, config);
    row->batches = (unsigned)batches;
    row->blocks = (unsigned)ceil_div(self.batches, batches);
    row->padding = aligned && self.columns <= FEW_COLUMNS && self.bytes == self.pitch &&
                           self.pitch % CONFLICTS == 0
                       ? PACK_BYTES
                       : 0;
    config->groups = self.others * row->blocks;
    config->shared_bytes = (unsigned)(batches * (self.pitch + row->padding)) + 2 * PACK_BYTES;
    return true;
}

/* ---- long rows ---- */

/* Many results get few threads each; few results get a block or several. If a result consists of
 * several rows, each group of threads has its own row, provided there are enough rows. */

/* Pack indices have 32 bits and may exceed the last by the number of readers. */
static const uint64_t packs_max = (uint64_t)1 << 31;

/* The rows of a result, of contiguous elements or of every second element. */
struct long_rows {
    uint64_t bytes, rows; /* bytes per row, and rows per result */
    uint64_t packs;       /* 16-byte packs per row */
    unsigned step;        /* stride in elements */
    unsigned batch;       /* log2 of the loads in flight per thread */
    uint64_t blocks;      /* that are resident on the device */
};

/* False if rows are empty, or no kernel supports their stride or interleaved results. */
static bool find_rows(const struct launch_problem *problem, struct long_rows *rows)
{
    const struct layout *reduced = &problem->axes->reduced;
    const uint64_t n = layout_length(reduced), size = element_size(reduced->input);
    if (reduced->dimensions == 0 || n == 0)
        return false;
    const unsigned last = reduced->dimensions - 1;
    const int64_t stride = reduced->strides[last];
    const bool stride2 = stride == (int64_t)(2 * size);
    rows->bytes = reduced->shape[last] * size;
    rows->rows = n / reduced->shape[last];
    rows->packs = rows->bytes / PACK_BYTES;
    rows->step = stride2 ? 2 : 1;
    rows->batch = ceil_log2(LONG_ROWS_PACKS(problem->state, size));
    rows->blocks = (uint64_t)problem->multiprocessors *
                   LONG_ROWS_RESIDENT(problem->state, size, stride2) * tuned->long_rows.waves;
    return rows->packs < packs_max && (stride2 ? launch_has_strided(problem, KERNEL_TYPED_ROWS) &&
                                                     !axes_are_interleaved(problem->axes)
                                               : stride == (int64_t)size);
}

/* Whether rows are whole aligned packs, few enough for a team to read one per thread, and of more
 * than a few packs only if a thread reads some; so of large states, which are expensive to merge.
 */
static bool rows_are_stacked(const struct launch_problem *problem, const struct long_rows *rows)
{
    enum { ROWS_MIN = 4, PACKS_FEW = 8 };
    const struct long_rows_tuning *tuning = &tuned->long_rows;
    const struct layout *reduced = &problem->axes->reduced;
    if (rows->rows < ROWS_MIN && (problem->state > LONG_ROWS_SMALL || rows->packs > PACKS_FEW))
        return false;
    if (problem->indexed || reduced->dimensions != 2 || rows->step > 1 ||
        rows->bytes < tuning->stacked || rows->packs > (uint64_t)1 << tuning->block ||
        reduced->shape[0] >= packs_max)
        return false;
    const uint64_t alignment = axes_row_alignment_bits(problem->axes, problem->data, 0) |
                               rows->bytes | (uint64_t)reduced->strides[0];
    return alignment % PACK_BYTES == 0;
}

/* log2 of the threads per result: a minimum, and more while the device is not full or a thread has
 * much to do. */
static unsigned team_for(const struct launch_problem *problem, uint64_t packs, unsigned lanes)
{
    const struct long_rows_tuning *tuning = &tuned->long_rows;
    const bool large = problem->state > LONG_ROWS_SMALL;
    const uint64_t enough = large ? 2 * tuning->threads / 3 : tuning->threads,
                   threads = problem->multiprocessors * enough,
                   few = large ? 6 * tuning->few : tuning->few;
    unsigned team = packs <= few && tuning->least > 0 ? tuning->least - 1 : tuning->least;
    if (team < lanes)
        team = lanes;
    while (team < tuning->block && packs >> (team + 2) > 0 &&
           (packs >> (team + tuning->packs) > 0 || problem->axes->results << team < threads))
        team++;
    return team;
}

/* A larger team if the last wave of blocks then takes a tenth less in all: a wave takes as long as
 * a thread's packs and the merge of its team. */
static unsigned team_for_waves(const struct launch_problem *problem, const struct long_rows *rows,
                               unsigned least)
{
    enum { MERGE_PACKS = 6, WAVES_MAX = 8 };
    const unsigned block = tuned->long_rows.block;
    unsigned best = least;
    uint64_t fewest = UINT64_MAX;
    for (unsigned team = least; team <= block && rows->packs >> (team + 2) > 0; team++) {
        const uint64_t waves = ceil_div(ceil_div(problem->axes->results, 1u << (block - team)),
                                        rows->blocks),
                       packs = waves * ((rows->packs * rows->rows >> team) + MERGE_PACKS);
        if (waves == 1 || waves > WAVES_MAX)
            break;
        if (11 * packs < 10 * fewest) {
            best = team;
            fewest = packs;
        }
    }
    return best;
}

/* Blocks per result if few results leave room for more: whole waves of resident blocks, with a
 * batch of packs for each thread. A single block processes several batches without splitting. */
static uint64_t splits_for(const struct launch_problem *problem, uint64_t packs,
                           const struct long_rows *rows)
{
    const struct long_rows_tuning *tuning = &tuned->long_rows;
    const uint64_t results = problem->axes->results,
                   batches = packs >> (tuning->block + rows->batch),
                   splits = min_u64(rows->blocks / results, batches),
                   alone = 2 * results > problem->multiprocessors ? tuning->alone : tuning->idle;
    return batches > alone && splits > 1 ? splits : 1;
}

/* One group of threads per row, with a batch of the row for each thread: threads that have less of
 * it load stand-ins. */
static void share_rows(const struct long_rows *rows, struct launch_config *config)
{
    const uint64_t blocks = min_u64(config->splits, rows->rows);
    const uint64_t blocks_per_row = config->splits / blocks;
    config->splits = blocks * blocks_per_row;
    unsigned lanes = config->team;
    while (blocks_per_row == 1 && lanes > tuned->long_rows.least &&
           rows->packs >> (lanes + rows->batch) == 0 &&
           blocks << (config->team - lanes + 1) <= rows->rows)
        lanes--;
    config->long_row.readers = (unsigned)(blocks_per_row << lanes);
}

/* Minimum row length. A result's threads wait for each of many rows, so these have to be long, or
 * too long for the strided kernel. */
static uint64_t row_bytes_min(const struct long_rows *rows, uint64_t size)
{
    enum { ROWS_FEW = 16 };
    const struct long_rows_tuning *tuning = &tuned->long_rows;
    return rows->rows <= ROWS_FEW ? tuning->few_rows
                                  : min_u64(tuning->bytes, ((1u << STRIDED_BLOCK) + 1) * size);
}

bool launch_long_rows(const struct launch_problem *problem, struct launch_config *config)
{
    const struct long_rows_tuning *tuning = &tuned->long_rows;
    const uint64_t results = problem->axes->results;
    struct long_rows rows;
    if (!find_rows(problem, &rows))
        return false;
    const bool stacked = rows_are_stacked(problem, &rows);
    if (!stacked && rows.bytes < row_bytes_min(&rows, element_bytes(problem->axes)))
        return false;
    const uint64_t packs = rows.packs * rows.rows;
    const unsigned lanes = stacked ? ceil_log2(rows.packs) : 0;
    *config = (struct launch_config){.kernel = KERNEL_TYPED_ROWS,
                                     .block = tuning->block,
                                     .team = team_for(problem, packs, lanes),
                                     .splits = 1,
                                     .inner = 1,
                                     .step = rows.step,
                                     .long_row = {.readers = 1u << lanes, .stacked = stacked}};
    if (!stacked)
        config->team = team_for_waves(problem, &rows, config->team);
    if (config->team == config->block)
        config->splits = splits_for(problem, packs, &rows);
    if (!stacked)
        share_rows(&rows, config);
    config->groups = ceil_div(results, 1u << (config->block - config->team));
    const size_t warp_bytes = problem->state > sizeof(uint64_t) ? problem->state : sizeof(uint64_t);
    config->shared_bytes = warp_bytes << (config->block - WARP);
    return true;
}
