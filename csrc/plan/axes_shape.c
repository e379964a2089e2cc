/* Threads go where memory is read in the order in which it lies: along a result's elements, or,
 * where neighbours belong to different results, side by side. Of many short results each gets few
 * threads, of few long ones each a block or several. */
#include "plan/axes_shape.h"

#include "common/arithmetic.h"
#include "plan/rows.h"

/* On an H200, 256 MiB of float32, device time in microseconds of sums; in brackets with twice the
 * threads and twice the blocks:
 *
 *     columns, (65536, 1024)     75   (85)
 *     columns, (1048576, 64)     78   (92)
 *     rows, (1, 67108864)        80   (83)
 *
 * Rows of 2, 8 and 64 take 135, 83 and 73 staged by blocks of 128 threads and 16 KiB, 143, 89 and
 * 76 by twice those, 165, 108 and 94 by 256 threads and 16 KiB. Rows of 2^20 take 80, 78 and 78
 * with 4, 8 and 16 windows a stretch (argmax 86, 84, 84; var 96, 92, 89). Asking for memory ahead
 * (prefetch.global.L2) costs 2 to 10 % instead.
 *
 * Columns of a known type, shares of what can be read: sums of (n, 1024) 0.90 of float32, 0.87 of
 * float16 and 0.93 of float64; of (n, 1000) and float16 0.76, 0.81 and 0.85 with 64, 128 and 256
 * columns side by side, but var of int8 0.54 and 0.26 with the latter two. With a third more blocks
 * than run at a time var of float32 takes 0.67 instead of 0.82. Blocks of 1024 threads and a
 * quarter as many splits take 0.88, 0.87 and 0.88 of sums of (n, 2) where blocks of 256 take 0.91,
 * 0.89 and 0.91; but (4097, n), which they need not split, 0.93, 0.91 and 0.94 instead of 0.90,
 * 0.87 and 0.91. With 8 loads of each of 512 threads on their way, instead of 4 of each of 768 or
 * 1024, argmax of (n, 1024) takes 0.90 instead of 0.82 of float32 and var 0.86 instead of 0.80, but
 * var of float16, which has no registers left for them, 0.70 instead of 0.72.
 *
 * Small columns, microseconds of sum and argmax: all multiprocessors busy, of any type and of a
 * known one; in brackets a warp's threads side by side, of any type:
 *
 *     float32, (32, 32)           3.6 5.3    4.0 5.0     (3.6 5.3)
 *     float32, (256, 256)         3.9 6.2    4.6 5.6     (6.4 8.5)
 *     float32, (1024, 1024)       5.6 8.9    5.5 6.6     (6.6 9.7)
 *     float64, (32, 32)           4.6 6.0    3.9 4.5     (4.6 6.0)
 *     float64, (256, 256)         5.1 8.0    4.6 5.1    (11.5 10.2)
 *     float64, (1024, 1024)       7.6 8.4    5.7 6.3     (7.6 8.4)
 *     float16, (512, 512)         4.6 6.9    5.3 7.2     (6.4 9.2)
 *     float16, (1024, 1024)       5.9 9.0    5.8 7.7     (6.7 9.9)
 *     int8, (256, 256)            4.8 7.2    6.1 12      (10 8.9)
 *     int8, (512, 512)            5.2 8.3    4.9 6.4     (7.3 9.5)
 *
 * The same of sum, argmax and var, by blocks of 256 threads and of 128, if large 1024 and 256; in
 * brackets of the other kind of the two:
 *
 *     float32, (32, 32)           2.9 4.5 4.4    2.6 3.7 4.0
 *     float32, (256, 256)         3.2 6.1 6.5    3.0 5.6 6.1    (3.0 5.0 5.4)
 *     float32, (1024, 1024)       4.4 7.1 8.0    4.4 7.1 8.0
 *     float64, (256, 256)         3.4 4.7 5.0    3.4 4.4 4.7
 *     float16, (256, 256)         3.6 5.6 5.8    3.4 5.1 5.5    (3.4 8.1 8.9)
 *     float16, (1024, 1024)       4.9 11 12      5.0 10 11      (5.1 8.3 8.8)
 *     int8, (256, 256)            4.0 6.4 6.6    3.6 6.0 6.0    (5.0 8.1 6.8)
 *     int8, (1024, 1024)          5.1 6.1 6.9    4.8 5.9 6.4    (8.7 14 16)
 *     float16, (65536, 3)         11 17 18       9.0 13 14
 *     float16, (4096, 16)         6.5 13 13      7.8 11 11
 *     int8, (4096, 16)            11 14 14       8.4 12 12
 *     int8, (4096, 256)           9.1 14 13      12 18 18
 *
 * Columns made alone, of sum, max, argmax and var, by blocks of 256 and of 64 threads: (2, n) of
 * float16 0.86, 0.94, 0.86, 0.71 and 0.95, 0.95, 0.87, 0.72; (3, n) of it 0.71, 0.73, 0.80, 0.56
 * and 0.80, 0.75, 0.89, 0.58; axis 1 of (n, 8, 8) of float32 0.87, 0.88, 0.91, 0.77 and 0.94,
 * 0.95, 0.95, 0.83. But (100, n) of float16, where threads have two turns, 0.86, 0.80, 0.69, 0.77
 * and 0.78, 0.81, 0.78, 0.80. Where they have little more than one, 100 rows of (200, n)[::2] of
 * int8, 0.64, 0.68, 0.68 and 0.61 of either, and 0.69, 0.79, 0.65 and 0.46 if columns are shared;
 * sum, argmax and var of 2 GiB of float32, (1000, n), 0.65, 0.64 and 0.67, and 0.93, 0.95 and 0.94
 * if they are.
 *
 * Shared columns, sum, max, argmax and var with 128 and 256 columns side by side. Rows that do not
 * begin at sectors: (n, 1000) of float16 0.78, 0.80, 0.76, 0.72 and 0.82, 0.84, 0.78, 0.72, of int8
 * 0.71, 0.71, 0.68, 0.69 and 0.79, 0.81, 0.73, 0.73; (n, 4097) of int8 0.77, 0.78, 0.72, 0.71 and
 * 0.79, 0.80, 0.77, 0.77. Rows that do: (65536, n) of int8 0.87, 0.89, 0.85, 0.86 and 0.84, 0.87,
 * 0.85, 0.84.
 */
static const struct axes_tuning measured = {
    .block = 8,
    .large = 10,
    .threads = 1024,
    .share = 2,
    .blocks = 4,
    .staging = 7,
    .staged = 16 << 10,
    .columns = 1,
    .windows = 4,
    .across = 7,
    .typed = 8 << 10,
    .lone = LONE_PACKS,
    .alone = 6,
    .small = 64 << 10,
    .small_block = 7,
    .small_large = 8,
};

static struct axes_tuning forced;

void axes_tuning_force(struct axes_tuning tuning)
{
    forced = tuning;
}

const struct axes_tuning *axes_tuning(void)
{
    return forced.block ? &forced : &measured;
}

bool axes_are_small(const struct axes *axes, unsigned multiprocessors)
{
    const uint64_t elements = axes->results * layout_length(&axes->reduced);
    return elements * element_size(axes->reduced.input) <
           (uint64_t)multiprocessors * axes_tuning()->small;
}

struct axes_tuning axes_tuning_of_columns(const struct axes *axes, unsigned multiprocessors)
{
    enum { NARROW_ROW = 32 }; /* bytes */
    struct axes_tuning tuning = *axes_tuning();
    const bool narrow = axes->results * element_size(axes->reduced.input) <= NARROW_ROW,
               few = layout_length(&axes->reduced) <= AXES_SMALL_ROWS;
    if (axes_are_small(axes, multiprocessors) && (few || narrow)) {
        tuning.block = (unsigned)least(tuning.block, tuning.small_block);
        tuning.large = (unsigned)least(tuning.large, tuning.small_large);
    }
    return tuning;
}

enum {
    WARP = 5,
    LOAD = 2,       /* elements that a loop by fours takes */
    FEW = 2,        /* of which so many are few, all as exponents */
    AT_ONCE = 2,    /* rows of columns that a thread reads before it waits, */
    TURNS = 1,      /* and how often it had better do so than share with others, as exponents */
    BOUNDARY = 16,  /* bytes: what a load takes */
    WINDOWS_MIN = 2 /* of a stretch, as an exponent */
};

bool axes_lie_abreast(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    if (axes->kept == 0 || reduced->dimensions == 0)
        return false;
    const uint64_t own = layout_distance(reduced->strides[reduced->dimensions - 1]),
                   other = layout_distance(axes->strides[axes->kept - 1]);
    return other != 0 && (own == 0 || other < own);
}

/* More threads for each result, as long as there are too few of them, and enough to do for each. */
static unsigned team_for(uint64_t results, uint64_t n, enum element accumulator,
                         unsigned least_team, unsigned most_team, uint64_t threads, unsigned share)
{
    const unsigned slots = exponent_up(SLOTS_BYTES / element_size(accumulator)) + share;
    unsigned team = least_team;
    while (team < most_team && n >> (team + slots) && results << team < threads)
        team++;
    return team;
}

/* As many as the device has room for at a time: one more block would come when all others are done.
 * Each group of a team has a stretch at least. */
static uint64_t splits_for(uint64_t groups, uint64_t items, uint64_t blocks)
{
    const uint64_t splits = least(blocks / groups, items);
    return splits > 1 ? splits : 1;
}

/* A single dimension stands for none, and nothing has one row of no items. */
void axes_shape_rows(const struct axes_shape *shape, const struct axes *axes,
                     enum element accumulator, struct kernel_rows *rows)
{
    struct layout *from = &rows->from;
    layout_copy(&axes->reduced, from);
    if (from->dimensions == 0) {
        from->dimensions = 1;
        from->shape[0] = 1;
        from->strides[0] = (int64_t)element_size(from->input);
        from->mask_strides[0] = 1;
    }
    if (layout_length(from) > 0)
        rows_in_lanes(from, 0, accumulator, shape->lanes, shape->windows, &rows->how);
    else
        rows->how = (struct kernel_stretches){.items = 0};
}

static unsigned inner_lanes(const struct axes *axes, enum element accumulator)
{
    const struct layout *reduced = &axes->reduced;
    const uint64_t length = reduced->dimensions ? reduced->shape[reduced->dimensions - 1] : 1;
    return length ? rows_lanes(length, accumulator) : 0;
}

static bool is_row(const struct layout *reduced)
{
    return reduced->dimensions == 0 ||
           (reduced->dimensions == 1 &&
            reduced->strides[0] == (int64_t)element_size(reduced->input));
}

bool axes_lie_flat(const struct axes *axes, uint64_t row_bytes)
{
    return is_row(&axes->reduced) && !axes->reduced.mask && axes->kept == 1 &&
           (uint64_t)axes->strides[0] == row_bytes;
}

unsigned axes_inner_columns(const struct axes *axes, bool indexed)
{
    enum { INNER_MAX = 64 };
    const struct layout *reduced = &axes->reduced;
    const int64_t size = (int64_t)element_size(reduced->input);
    const unsigned last = reduced->dimensions - 1;
    if (axes->kept == 0 || reduced->dimensions == 0 || reduced->mask)
        return 0;
    const uint64_t inner = reduced->shape[last];
    if (axes->strides[axes->kept - 1] == size)
        return axes_lie_abreast(axes);
    return !indexed && axes->kept == 1 && reduced->dimensions > 1 &&
                   reduced->strides[last] == size && inner <= INNER_MAX &&
                   (inner & (inner - 1)) == 0 && axes->strides[0] == (int64_t)inner * size
               ? (unsigned)inner
               : 0;
}

/* Whether one load takes neighbouring columns in every row. */
static bool begin_at_boundaries(const struct axes *axes, unsigned inner, uint64_t columns,
                                uintptr_t data)
{
    const struct layout *reduced = &axes->reduced;
    const unsigned outer = reduced->dimensions - (inner > 1);
    const size_t load = least(element_size(reduced->input) * COLUMNS_A_THREAD, BOUNDARY);
    uint64_t all = data;
    for (unsigned k = 0; k + 1 < axes->kept; k++)
        all |= (uint64_t)axes->strides[k];
    for (unsigned k = 0; k < outer; k++)
        all |= (uint64_t)reduced->strides[k];
    return columns % COLUMNS_A_THREAD == 0 && all % load == 0;
}

/* More threads for each column, of blocks of up to 2^most threads, 2^across of them side by side:
 * as long as there is something for each to do, and threads are idle. */
static unsigned team_of_columns(uint64_t columns, uint64_t rows, unsigned across, unsigned most,
                                uint64_t threads)
{
    unsigned team = 0;
    while (team + across < most && rows >> (team + AT_ONCE) > 1 &&
           columns / COLUMNS_A_THREAD << team < threads)
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

/* Blocks that share columns wait for one another longer than one that has all rows takes for a
 * second turn: where that suffices, it is made large instead. */
static void enlarge_block(uint64_t columns, uint64_t rows, unsigned across, unsigned most,
                          uint64_t blocks, uint64_t threads, struct axes_shape *shape)
{
    const unsigned team = team_of_columns(columns, rows, across, most, threads);
    if (columns >> across > blocks / 2 * COLUMNS_A_THREAD || team + across <= shape->block ||
        rows >> (team + AT_ONCE + TURNS) > 1)
        return;
    shape->team = team;
    shape->block = team + across;
}

/* Threads side by side at most, as an exponent: a warp's, or, of a small array whose blocks would
 * then leave most multiprocessors idle, fewer. All of a result's columns are one block's. */
static unsigned threads_across(const struct axes *axes, uint64_t rows, unsigned inner,
                               unsigned multiprocessors)
{
    enum { NARROW = 1 };
    const uint64_t columns = axes->results * inner;
    unsigned across = WARP;
    if (!axes_are_small(axes, multiprocessors))
        return across;
    while (across > NARROW && rows >> AT_ONCE > 1 && (unsigned)COLUMNS_A_THREAD << across > inner &&
           columns / COLUMNS_A_THREAD >> across < multiprocessors)
        across--;
    return across;
}

/* A thread of a team reads ROWS_AT_ONCE elements of each of its columns. Neighbours that it makes
 * alone it stores at once; what large states become it stores one by one, so that neighbouring
 * threads are better off with neighbouring results. False: they do not lie in columns. */
static bool shape_columns(const struct axes *axes, const struct axes_kernels *kernels,
                          uintptr_t data, unsigned multiprocessors, struct axes_shape *shape)
{
    enum { LOAD_COLUMNS = 2 };
    const struct axes_tuning tuning = axes_tuning_of_columns(axes, multiprocessors);
    const uint64_t threads = (uint64_t)multiprocessors * tuning.threads,
                   blocks = (uint64_t)multiprocessors * tuning.blocks;
    const unsigned inner = axes_inner_columns(axes, kernels->indexed);
    if (!inner)
        return false;
    const uint64_t columns = axes->shape[axes->kept - 1] * inner, all = axes->results * inner,
                   rows = layout_length(&axes->reduced) / inner;
    const bool together = begin_at_boundaries(axes, inner, columns, data);
    if (!together && axes->kept > 1)
        return false;
    const unsigned across = (unsigned)least(exponent_up(divide_up(columns, COLUMNS_A_THREAD)),
                                            threads_across(axes, rows, inner, multiprocessors));
    shape->block = block_of_columns(kernels->state, tuning.block);
    shape->team = team_of_columns(all, rows, across, shape->block, threads);
    enlarge_block(all, rows, across, block_of_columns(kernels->state, tuning.large), blocks,
                  threads, shape);
    shape->columns = shape->abreast = true;
    const bool stores_apart = shape->team == 0 && axes->kept == 1 &&
                              kernels->state > sizeof(uint64_t) && kernels->state <= STORED_APART;
    shape->load = together && !stores_apart ? LOAD_COLUMNS : 0;
    shape->inner = inner;
    return true;
}

/* In one row at most, and with a team within a warp. */
static bool has_few(const struct axes *axes, unsigned team, bool abreast)
{
    const struct layout *reduced = &axes->reduced;
    if (team > (abreast ? 0 : WARP))
        return false;
    return reduced->dimensions == 0 ||
           (reduced->dimensions == 1 && reduced->shape[0] >> (team + LOAD + FEW) == 0);
}

/* Where neighbours are neighbours' results, a warp reads across as many of them as there are. */
static void shape_abreast(const struct axes *axes, enum element accumulator, uint64_t threads,
                          struct axes_shape *shape)
{
    const uint64_t n = layout_length(&axes->reduced);
    const unsigned across = (unsigned)least(exponent_up(axes->shape[axes->kept - 1]), WARP);
    shape->team = team_for(axes->results, n, accumulator, 0, shape->block - across, threads, 0);
    shape->lanes = (unsigned)least(shape->team, inner_lanes(axes, accumulator));
    shape->few = has_few(axes, shape->team, true);
}

/* How many stretches all rows would have if they were one. */
static uint64_t stretches_of_all(const struct axes *axes, enum element accumulator,
                                 const struct axes_shape *shape)
{
    return axes->results * layout_length(&axes->reduced) >>
           (exponent_up(SLOTS_BYTES / element_size(accumulator)) + shape->lanes + shape->windows);
}

/* Long stretches, as long as there are enough for all threads. */
static void shape_rows(const struct axes *axes, enum element accumulator, uint64_t threads,
                       const struct axes_tuning *tuning, struct axes_shape *shape)
{
    const uint64_t n = layout_length(&axes->reduced);
    shape->lanes = inner_lanes(axes, accumulator);
    const unsigned enough =
        team_for(1, n, accumulator, shape->lanes, WARP, UINT64_MAX, tuning->share);
    shape->team =
        team_for(axes->results, n, accumulator, enough, shape->block, threads, tuning->share);
    shape->few = has_few(axes, shape->team, false);
    shape->windows = tuning->windows;
    while (shape->windows > WINDOWS_MIN &&
           stretches_of_all(axes, accumulator, shape) < 2 * (threads >> shape->lanes))
        shape->windows--;
}

/* What all rows begin at and are multiples of. */
static uint64_t boundary_of_rows(uint64_t row_bytes, uintptr_t data)
{
    const uint64_t all = row_bytes | data | BOUNDARY;
    return all & -all;
}

/* How many elements of a row one word takes, and how many words a load, as exponents. */
static void shape_loads(const struct axes *axes, const struct axes_kernels *kernels,
                        uint64_t boundary, struct axes_shape *shape)
{
    const unsigned size = (unsigned)element_size(axes->reduced.input),
                   slot = (unsigned)element_size(kernels->accumulator);
    const uint64_t word = kernels->packs ? least(boundary, slot) : size;
    shape->packing = exponent_up(word / size);
    shape->load = (unsigned)least(exponent_up(boundary / word), ROW_LOAD_MAX);
}

/* Neighbouring threads read neighbouring loads as far as a row's number of them is a power of two
 * or a multiple of it: so no two read from one bank. With an odd number a thread reads a row of its
 * own, and more where rows are long or results few; so too where states are large, since merging
 * them costs more than waiting for a bank. As many rows a block as there is room for, as
 * long as there are blocks enough. False: a row is too long. */
static bool shape_staged(const struct axes *axes, const struct axes_kernels *kernels,
                         uintptr_t data, uint64_t threads, const struct axes_tuning *tuning,
                         struct axes_shape *shape)
{
    enum { ROUNDS_MAX = 64 };
    const unsigned together = kernels->state > sizeof(uint64_t) ? 0 : 3;
    const uint64_t n = layout_length(&axes->reduced), bytes = n * element_size(axes->reduced.input);
    shape_loads(axes, kernels, boundary_of_rows(bytes, data), shape);
    const uint64_t loads = n >> (shape->packing + shape->load);
    unsigned team = (unsigned)least((unsigned)__builtin_ctzll(loads), together);
    while (team < WARP && (bytes << (tuning->staging - team) > tuning->staged ||
                           (loads >> (team + 1) && axes->results << team < threads)))
        team++;
    const uint64_t teams = (uint64_t)1 << (tuning->staging - team),
                   room = tuning->staged / (teams * bytes),
                   busy = (axes->results << team) / (2 * threads);
    if (room == 0) {
        shape->load = shape->packing = 0;
        return false;
    }
    shape->few = true;
    shape->block = tuning->staging;
    shape->team = team;
    shape->staged = bytes;
    shape->rounds = (unsigned)least(least(room, busy ? busy : 1), ROUNDS_MAX);
    return true;
}

/* How many splits would have enough to do. */
static uint64_t items_of(const struct axes *axes, enum element accumulator,
                         const struct axes_shape *shape)
{
    if (shape->columns)
        return layout_length(&axes->reduced) / shape->inner >> (shape->team + AT_ONCE + TURNS);
    if (shape->few)
        return 1;
    struct kernel_rows rows;
    axes_shape_rows(shape, axes, accumulator, &rows);
    return rows.how.items >> (shape->team - shape->lanes);
}

void axes_shape_make(const struct axes *axes, const struct axes_kernels *kernels, uintptr_t data,
                     unsigned multiprocessors, struct axes_shape *shape)
{
    const struct axes_tuning *tuning = axes_tuning();
    const enum element accumulator = kernels->accumulator;
    const uint64_t threads = (uint64_t)multiprocessors * tuning->threads,
                   n = layout_length(&axes->reduced),
                   row_bytes = n * element_size(axes->reduced.input);
    *shape = (struct axes_shape){
        .block = tuning->block,
        .rounds = 1,
        .splits = 1,
        .inner = 1,
        .windows = WINDOWS_MIN,
    };
    if (!(kernels->columns && tuning->columns &&
          shape_columns(axes, kernels, data, multiprocessors, shape))) {
        shape->abreast = axes_lie_abreast(axes);
        if (shape->abreast)
            shape_abreast(axes, accumulator, threads, shape);
        else if (n == 0 || !kernels->few || !axes_lie_flat(axes, row_bytes) ||
                 !shape_staged(axes, kernels, data, threads, tuning, shape))
            shape_rows(axes, accumulator, threads, tuning, shape);
    }
    shape->few = shape->few && kernels->few;
    const unsigned across = shape->columns ? COLUMNS_A_THREAD : 1;
    const uint64_t a_block =
        ((uint64_t)across << (shape->block - shape->team)) * shape->rounds / shape->inner;
    shape->groups = divide_up(axes->results, a_block);
    shape->splits = splits_for(shape->groups, items_of(axes, accumulator, shape),
                               (uint64_t)multiprocessors * tuning->blocks);
}

/* Where what splits have left is folded in two steps, one for each few and one for all. */
uint64_t axes_shape_tickets(const struct axes_shape *shape)
{
    const uint64_t few = shape->typed.neighbours;
    return few ? shape->groups * (1 + divide_up(shape->splits, few)) : shape->groups;
}

/* What a block's threads leave each other, or its rows and what lies before a boundary. */
size_t axes_shape_shared_bytes(const struct axes_shape *shape, size_t state)
{
    if (shape->typed.load)
        return state * shape->typed.states;
    const size_t width = shape->columns ? COLUMNS_A_THREAD : 1,
                 left = (state > sizeof(uint64_t) ? state : sizeof(uint64_t)) * width
                        << shape->block,
                 rows = (shape->staged * shape->rounds << (shape->block - shape->team)) + BOUNDARY;
    return shape->staged && rows > left ? rows : left;
}

const char *axes_shape_name(const struct axes_shape *self)
{
    if (self->short_rows)
        return "short rows";
    if (self->long_rows)
        return "long rows";
    if (self->typed.lone)
        return "unsplit columns";
    if (self->columns || self->typed.load)
        return "columns";
    if (self->few)
        return "few elements each";
    return self->abreast ? "side by side" : "rows";
}
