/* Columns of a known type: a thread reads the columns of one 16-byte load. Short contiguous rows
 * are coalesced so that adjacent threads have whole, aligned loads. benchmarks/tuning/cases.json
 * has the effect of each case. */
#include "schedule/launch_config.h"

enum {
    AHEAD = 2,         /* log2 of ROWS_AHEAD */
    BATCHES = 2,       /* log2 of the minimum number of such batches per thread */
    LANES = 7,         /* log2 of the threads side by side up to which more rows are coalesced */
    THREADS = 10,      /* log2 of the threads per multiprocessor that tunings are scaled to */
    BATCH_ROWS = 8192, /* minimum rows to coalesce in a batch */
    FEW_ROWS = 32 /* most rows per unsplit thread for folds with states, or for unaligned batches;
                     and of unaligned columns of every second element that are read one by one */
};

/* The array as rows of columns, `stride` bytes apart, `coalesced` of which form one. Adjacent
 * columns are `step` elements apart. */
struct columns {
    size_t state;
    uint64_t size, load; /* bytes per element, and elements per load */
    uint64_t columns, rows, stride, coalesced;
    uint64_t depth; /* length of the shorter of two reduced dimensions */
    unsigned inner, step;
    uint64_t packs, all; /* loads per row, and in all outer dimensions */
    bool shifted;        /* rows are not aligned to loads */

    /* Threads the device has room for: in all, in splits, and without sharing columns. */
    uint64_t threads, split_threads, unsplit;
    unsigned lanes; /* log2 of the threads that read adjacent loads */
};

/* ---- memory layout ---- */

/* Whether short rows may be coalesced: all of them, or those of each batch if threads would
 * otherwise be idle. Short batches are staged instead. */
static bool can_coalesce_rows(const struct axes *axes, const struct columns *self)
{
    if (self->rows == 1 || self->depth > 1 || self->stride != self->columns * self->size)
        return false;
    return axes->outer == 1 || (axes->outer == 2 && self->rows >= BATCH_ROWS &&
                                2 * axes->results * self->inner * self->step * self->size <=
                                    self->threads * COLUMN_BYTES);
}

/* Number of rows to coalesce, in blocks of up to 2^block threads; 1: none. Among the numbers that
 * keep the most adjacent threads busy, the smallest whose columns fit in shared memory. For small
 * arrays, only as many as make whole loads, so that blocks have columns of their own. */
static uint64_t coalesced_rows(const struct launch_problem *problem, const struct columns *self,
                               unsigned block)
{
    enum { ROWS_LEFT = 4 << AHEAD, ROW_MOST = 256 };
    unsigned lanes = block;
    while (self->state * self->load * ((1u << lanes) + 1) > COLUMNS_SHARED)
        lanes--;
    const uint64_t row_bytes = self->columns * self->size, boundary = row_bytes & -row_bytes,
                   whole = boundary < COLUMN_BYTES ? COLUMN_BYTES / boundary : 1,
                   loads = whole * row_bytes / COLUMN_BYTES,
                   room = (uint64_t)1 << min_u64(lanes, LANES);
    const bool small = axes_are_small(problem);
    uint64_t best = 1, busy = 0, across = 1;
    if (!can_coalesce_rows(problem->axes, self) || (whole > 1 && row_bytes > ROW_MOST) ||
        loads > (uint64_t)1 << lanes || self->rows / whole < ROWS_LEFT)
        return 1;
    for (uint64_t times = 1; times == 1 || (times * loads <= room &&
                                            self->rows / (times * whole) >= ROWS_LEFT && !small);
         times++) {
        const uint64_t all = times * loads,
                       wide = (uint64_t)1 << ceil_log2(all > 1 << WARP ? all : 1 << WARP);
        if (all * across > busy * wide) {
            best = times * whole;
            busy = all;
            across = wide;
        }
    }
    return best;
}

/* Columns per result, and elements from one to the next: 2 if every second column counts, as loads
 * include those in between (cases/every_second). One element is a column of one row. */
static unsigned columns_per_result(const struct launch_problem *problem, unsigned *step)
{
    const struct axes *axes = problem->axes;
    const int64_t size = (int64_t)element_bytes(axes),
                  outer_stride = axes->outer > 0 ? axes->strides[axes->outer - 1] : 0;
    *step = outer_stride == 2 * size && axes_are_interleaved(axes) ? 2 : 1;
    if (axes->outer > 0 && axes->reduced.dimensions == 0)
        return outer_stride == size;
    return *step > 1 ? 1 : axes_columns_per_result(axes, problem->indexed);
}

/* Sets the length of the shorter of two reduced dimensions. False if there are more dimensions,
 * positions matter, or the array is small: one thread would have all rows and others none. */
static bool find_depth(const struct launch_problem *problem, struct columns *self)
{
    const struct layout *reduced = &problem->axes->reduced;
    const unsigned dimensions = reduced->dimensions - (self->inner > 1);
    self->depth = dimensions == 2 ? min_u64(reduced->shape[0], reduced->shape[1]) : 1;
    return dimensions <= 1 || (dimensions == 2 && !problem->indexed && self->depth > 1 &&
                               self->depth <= ROWS_PER_BLOCK && !axes_are_small(problem));
}

/* Blocks have up to 2^block threads. False if no kernel reads these axes as columns, batches have
 * so few columns that most of each load is wasted, or unaligned columns of every second element so
 * few rows that elements are better loaded one by one (cases/changed_rules). */
static bool find_columns(const struct launch_problem *problem, unsigned block, struct columns *self)
{
    const struct axes *axes = problem->axes;
    const struct layout *reduced = &axes->reduced;
    const uint64_t n = layout_length(reduced);
    self->inner = columns_per_result(problem, &self->step);
    if (n == 0 || axes->results == 0 || !self->inner || !find_depth(problem, self))
        return false;
    self->columns = axes->shape[axes->outer - 1] * self->inner * self->step;
    self->rows = n / self->inner / self->depth;
    self->stride = self->rows > 1 ? (uint64_t)reduced->strides[0] : 0;
    const uint64_t other = self->depth > 1 ? (uint64_t)reduced->strides[1] : 0;
    self->coalesced = coalesced_rows(problem, self, block);
    const uint64_t alignment =
        axes_row_alignment_bits(axes, problem->data, 1) | other | self->stride * self->coalesced;
    self->shifted = alignment % COLUMN_BYTES != 0;
    if (self->step > 1 && self->shifted && self->rows <= FEW_ROWS)
        return false;
    self->packs = ceil_div(self->columns * self->coalesced, self->load);
    self->all = axes->results * self->inner * self->step / self->columns * self->packs;
    if (axes->outer > 1 && self->coalesced == 1 && 2 * self->columns <= self->load)
        return false;
    return self->rows == 1 ||
           (stride_magnitude((int64_t)self->stride) * self->coalesced >= COLUMN_BYTES &&
            (self->depth == 1 || other >= COLUMN_BYTES));
}

/* ---- columns shared among threads ---- */

/* Whether to read twice as many columns side by side, since rows are not aligned to sectors and
 * half a sector would be wasted. For narrow elements, blocks of half as many rows cost as much
 * unless the array is large. */
static bool wastes_sectors(const struct launch_problem *problem, const struct columns *columns)
{
    enum { SECTOR = 32, WIDE = 4 };
    const uint64_t bytes = columns->rows * columns->depth * columns->all * COLUMN_BYTES;
    return (problem->data | columns->stride) % SECTOR != 0 &&
           (columns->size >= WIDE || bytes >= problem->multiprocessors * tuned->axes.sectors);
}

/* Packs that a block may read side by side: those of one batch, if blocks have whole results. */
static uint64_t adjacent_packs(const struct columns *columns)
{
    return columns->inner * columns->coalesced > 1 ? columns->packs : columns->all;
}

/* Columns of the whole results that `packs` loads hold, which begin at whole loads. */
static uint64_t span_of(const struct columns *columns, uint64_t packs)
{
    const uint64_t capacity = packs * columns->load, inner = columns->inner,
                   whole = capacity / inner * inner;
    if (whole >= columns->columns)
        return columns->columns;
    return whole % columns->load == 0 ? whole : (capacity - columns->load + 1) / inner * inner;
}

/* log2 of the minimum threads that read adjacent loads, if results have several columns: as many as
 * leave few of them idle. UINT32_MAX if a result does not fit. */
static unsigned threads_of_results(const struct columns *columns, unsigned least)
{
    enum { MOST = 8, GAIN = 8 };
    uint64_t best = UINT32_MAX, used = 0;
    for (uint64_t lanes = least; lanes <= MOST; lanes++) {
        const uint64_t span = span_of(columns, (uint64_t)1 << lanes) << (MOST - lanes);
        if (GAIN * span > (GAIN + 1) * used) {
            used = span;
            best = lanes;
        }
    }
    return (unsigned)best;
}

/* log2 of the minimum threads that read adjacent loads: all loads of a result, or all there are if
 * few; one for small arrays, so that all multiprocessors have blocks. */
static unsigned adjacent_threads(const struct launch_problem *problem,
                                 const struct columns *columns)
{
    const unsigned across = axes_are_small(problem)
                                ? 0
                                : tuned->axes.across + wastes_sectors(problem, columns),
                   of_all = ceil_log2(adjacent_packs(columns)), load = ceil_log2(columns->load),
                   wanted = across > load ? (unsigned)min_u64(across - load, WARP) : 0,
                   least = columns->coalesced > 1 || of_all < wanted ? of_all : wanted;
    return columns->coalesced == 1 && columns->inner > 1 ? threads_of_results(columns, least)
                                                         : least;
}

/* Room for the states that half of a block's threads pass to the other half, then for the states of
 * all columns, then for one partial result per thread. */
static size_t block_bytes(const struct columns *columns, unsigned block, unsigned team)
{
    const size_t state = columns->state;
    const uint64_t left = team ? ceil_div(COLUMNS_MERGE_BYTES(state, columns->size) << block,
                                          2 * state)
                               : 0,
                   all = columns->load * ((1u << (block - team)) + 1), each = 1u << block;
    const uint64_t most = left > all ? left : all;
    return state * (most > each ? most : each);
}

/* Adds threads per column while there is work and room for them on the device, and halves the block
 * until its states fit in shared memory. */
static void share_columns(const struct columns *columns, struct launch_config *config)
{
    const uint64_t rows = columns->rows / columns->coalesced, packs = adjacent_packs(columns);
    for (;; config->block--) {
        config->team = 0;
        while (config->team + columns->lanes < config->block && rows >> config->team > 1 &&
               rows * columns->depth >> (config->team + AHEAD) > 1 &&
               (columns->coalesced > 1 || columns->all << (config->team + 1) <= columns->threads))
            config->team++;
        while (columns->coalesced == 1 && config->block > WARP &&
               packs << config->team <= 1u << (config->block - 1))
            config->block--;
        config->shared_bytes = block_bytes(columns, config->block, config->team);
        if (config->shared_bytes <= COLUMNS_SHARED)
            return;
    }
}

/* As many splits as the device has room for, and as ROWS_PER_BLOCK requires. If merging them takes
 * a thread more than MERGE_ITERATIONS (cases/merged_splits), they are first merged in groups.
 * After divide_columns, which sets the results per block. */
static void split_columns(const struct columns *columns, struct launch_config *config)
{
    enum { SPLITS_AT_ONCE = 16, MERGE_ITERATIONS = 3 };
    struct column_tile *tile = &config->column;
    const uint64_t rows = columns->rows / columns->coalesced,
                   blocks = columns->split_threads >> config->block,
                   worth = min_u64(rows >> config->team,
                                   rows * columns->depth >> (config->team + AHEAD + BATCHES)),
                   useful = min_u64(blocks / config->groups, worth),
                   needed = ceil_div(rows, ROWS_PER_BLOCK / columns->depth);
    config->splits = useful > needed ? useful : needed;
    tile->split_group = SPLITS_AT_ONCE;
    if (config->splits * tile->results <=
        (uint64_t)MERGE_ITERATIONS * COLUMNS_PARTIALS(columns->state) << config->block) {
        if (config->splits > SPLITS_AT_ONCE)
            tile->split_group = (unsigned)config->splits;
    } else {
        while ((uint64_t)tile->split_group * tile->split_group < config->splits)
            tile->split_group++;
    }
}

/* Divides the columns among blocks, which are not split yet. */
static void divide_columns(const struct columns *columns, struct launch_config *config)
{
    struct column_tile *tile = &config->column;
    const uint64_t lanes = (uint64_t)1 << (config->block - config->team),
                   row = columns->columns * columns->coalesced;
    config->groups = ceil_div(columns->all, lanes);
    tile->results = (unsigned)(columns->load * lanes / columns->step);
    if (columns->inner == 1 && columns->coalesced == 1)
        return;
    tile->span = (unsigned)(columns->coalesced > 1 ? row : span_of(columns, lanes));
    tile->results = (unsigned)(tile->span / (columns->inner * columns->step * columns->coalesced));
    tile->packs = ceil_div(row, tile->span);
    config->groups = columns->all / columns->packs * tile->packs;
}

/* Whether batches of results of several columns are too short for a block's threads. */
static bool wastes_threads(const struct columns *columns, const struct launch_config *config)
{
    return columns->all > columns->packs && columns->coalesced == 1 && columns->inner > 1 &&
           2 * config->column.span < columns->load << (config->block - config->team);
}

/* ---- columns of one thread each ---- */

/* Whether the thread at the array's end, which loads misaligned rows one by one, would take longer
 * than all others: cases/misaligned. */
static bool waits_for_edge(const struct launch_problem *problem, const struct columns *columns)
{
    enum { EDGE_ROWS = 40, ROW_BYTES = 16 << 10 /* per multiprocessor */ };
    return columns->shifted && columns->rows > EDGE_ROWS &&
           columns->columns * columns->size < problem->multiprocessors * ROW_BYTES;
}

/* Warps for the columns of an unaligned batch: a warp's last thread computes none. */
static uint64_t warps_of_batch(const struct columns *columns)
{
    return ceil_div(columns->packs, (1u << WARP) - 1);
}

/* Whether the unsplit kernel supports the columns: one per result, or whole loads of each result.
 * Unaligned batches have warps of their own, most of whose threads must have columns. */
static bool supports_unsplit(const struct launch_problem *problem, const struct columns *columns)
{
    const struct axes *axes = problem->axes;
    const bool few = columns->rows <= FEW_ROWS,
               shifted = columns->shifted && (int64_t)columns->stride >= 0;
    if (columns->inner > 1)
        return axes->outer == 1 && columns->inner >= columns->load && !columns->shifted &&
               columns->inner <= columns->load << WARP &&
               (columns->inner & (columns->inner - 1)) == 0;
    if (columns->step > 1 || !(problem->native || few))
        return false;
    if (axes->outer == 1)
        return shifted || !columns->shifted;
    if (!columns->shifted)
        return columns->columns % columns->load == 0 && columns->all <= UINT32_MAX;
    return shifted && few && axes->outer == 2 && axes->strides[0] >= 0 &&
           4 * columns->packs >= 3 * (((uint64_t)1 << WARP) - 1) * warps_of_batch(columns);
}

/* Small blocks, unless threads with small states have two or three iterations and should not all
 * read the same rows. A thread reads several loads' columns if there are fewer than UNSPLIT_LOADS
 * rows. In unaligned rows a warp's last thread computes none. */
static void launch_unsplit(const struct launch_problem *problem, const struct columns *columns,
                           struct launch_config *config)
{
    const struct axes_tuning *tuning = &tuned->axes;
    const bool few_iterations = problem->axes->outer == 1 && columns->all > columns->unsplit &&
                                columns->all < 3 * columns->unsplit;
    const unsigned most = few_iterations && columns->state <= UNSPLIT_SMALL ? tuning->block
                                                                            : tuning->unsplit_block,
                   block = (unsigned)min_u64(most, ceil_log2(UNSPLIT_BLOCK));
    const uint64_t made = ((uint64_t)1 << block) - (columns->shifted ? 1u << (block - WARP) : 0);
    unsigned loads = problem->axes->outer > 1 || columns->inner > 1 ? 1 : tuning->unsplit;
    while (loads > 1 &&
           (columns->rows > UNSPLIT_LOADS / loads || columns->all < columns->unsplit * loads))
        loads /= 2;
    config->kernel = KERNEL_UNSPLIT_COLUMNS;
    config->block = block;
    config->shared_bytes = 0;
    config->groups = columns->shifted && problem->axes->outer > 1
                         ? ceil_div(columns->all / columns->packs * warps_of_batch(columns),
                                    1u << (block - WARP))
                         : ceil_div(columns->all, made * loads);
    if (columns->inner > 1)
        config->team = ceil_log2(columns->inner / columns->load);
    config->column.unsplit = loads;
    config->column.shifted = columns->shifted;
}

/* ---- the launch configuration ---- */

bool launch_typed_columns(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const struct axes_tuning *tuning = &tuned->axes;
    const uint64_t size = element_bytes(axes), multiprocessors = problem->multiprocessors,
                   room = multiprocessors * COLUMNS_THREADS(problem->state, size),
                   unsplit = multiprocessors * UNSPLIT_THREADS(problem->state, size);
    struct columns columns = {.state = problem->state,
                              .size = size,
                              .load = COLUMN_BYTES / size,
                              .threads = room * tuning->threads >> THREADS,
                              .split_threads = room * tuning->blocks >> (THREADS - tuning->block),
                              .unsplit = unsplit * tuning->threads >> THREADS};
    if (!find_columns(problem, tuning->block, &columns))
        return false;
    columns.lanes = adjacent_threads(problem, &columns);
    if (columns.lanes > tuning->block)
        return false;
    *config =
        (struct launch_config){.kernel = KERNEL_TYPED_COLUMNS,
                               .across = true,
                               .load = ceil_log2(columns.load),
                               .inner = columns.inner,
                               .step = columns.step,
                               .column = {.packs = columns.packs,
                                          .outer = (unsigned char)(axes->outer - 1),
                                          .coalesced = (unsigned)columns.coalesced,
                                          .leftover = (unsigned)(columns.rows % columns.coalesced),
                                          .shifted = columns.shifted}};
    config->block = tuning->block;
    share_columns(&columns, config);
    divide_columns(&columns, config);
    split_columns(&columns, config);
    if (columns.lanes > config->block || wastes_threads(&columns, config))
        return false;
    /* Each thread computes whole results, adjacent if its columns are. */
    if (columns.coalesced == 1 && columns.depth == 1 && config->team == 0 && config->splits == 1 &&
        axes->places[axes->outer - 1] == 1) {
        config->column.stores_packs = columns.inner * columns.step == 1;
        if (tuning->unsplit && launch_has(problem, KERNEL_UNSPLIT_COLUMNS) &&
            supports_unsplit(problem, &columns) && !waits_for_edge(problem, &columns)) {
            launch_unsplit(problem, &columns, config);
            return true;
        }
    }
    if (columns.coalesced == 1 && config->team == 0 && config->splits == 1) {
        /* Small blocks of independent threads: some load while others store. */
        const unsigned least_block =
            tuning->unsplit_block > columns.lanes ? tuning->unsplit_block : columns.lanes;
        config->block = (unsigned)min_u64(least_block, config->block);
        divide_columns(&columns, config);
        config->shared_bytes = block_bytes(&columns, config->block, 0);
    }
    return true;
}
