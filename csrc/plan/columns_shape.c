/* A thread has the columns of one load. Where rows are short and lie one after the other, so many
 * of them are taken for one that all threads side by side have whole loads, at boundaries. */
#include "plan/columns_shape.h"

#include "common/arithmetic.h"

enum {
    AHEAD = 2,   /* ROWS_AHEAD, as an exponent */
    TURNS = 2,   /* how often a thread had better read as many, as an exponent */
    LANES = 7,   /* threads side by side, at most, for which more rows are taken for one, as an
                    exponent */
    WARP = 5,    /* threads, as an exponent */
    THREADS = 10 /* of a multiprocessor that tunings speak of, as an exponent */
};

static unsigned columns_a_load(const struct axes *axes)
{
    return COLUMN_BYTES / (unsigned)element_size(axes->reduced.input);
}

/* Threads of a block, as an exponent, of up to so many: such that a multiprocessor has a whole
 * number of blocks, and what they leave each other fits. */
static unsigned block_for(size_t state, size_t element, unsigned most)
{
    while (COLUMNS_THREADS(state, element) % (1u << most) ||
           COLUMNS_LEFT(state, element) << most > 2 * COLUMNS_SHARED)
        most--;
    return most;
}

/* Threads side by side for whose columns there is room, as an exponent, at most so many. */
static unsigned lanes_for(size_t state, unsigned columns, unsigned most)
{
    while (state * columns * ((1u << most) + 1) > COLUMNS_SHARED)
        most--;
    return most;
}

/* How many rows make whole loads. */
static uint64_t rows_of_whole_loads(uint64_t row_bytes)
{
    const uint64_t boundary = row_bytes & -row_bytes;
    return boundary < COLUMN_BYTES ? COLUMN_BYTES / boundary : 1;
}

/* How many rows are taken for one; 1: none are. Of those that give threads side by side as much to
 * do as any, the fewest. */
static uint64_t repeats_for(uint64_t row_bytes, uint64_t rows, unsigned block)
{
    enum { ROWS_LEFT = 4 << AHEAD, ROW_MOST = 256 };
    const uint64_t whole = rows_of_whole_loads(row_bytes), loads = whole * row_bytes / COLUMN_BYTES,
                   room = (uint64_t)1 << (block < LANES ? block : LANES);
    uint64_t best = 1, busy = 0, abreast = 1;
    if (whole > 1 && row_bytes > ROW_MOST)
        return 1;
    if (loads > (uint64_t)1 << block || rows / whole < ROWS_LEFT)
        return 1;
    for (uint64_t times = 1;
         times == 1 || (times * loads <= room && rows / (times * whole) >= ROWS_LEFT); times++) {
        const uint64_t own = times * loads,
                       wide = (uint64_t)1 << exponent_up(own > 1 << WARP ? own : 1 << WARP);
        if (own * abreast > busy * wide) {
            best = times * whole;
            busy = own;
            abreast = wide;
        }
    }
    return best;
}

/* Elements from one column to the next; of every second one loads take all that lie there. */
static unsigned step_of(const struct axes *axes)
{
    const int64_t size = (int64_t)element_size(axes->reduced.input);
    return axes->kept > 0 && axes->strides[axes->kept - 1] == 2 * size ? 2 : 1;
}

/* A single element is a column of one row. */
static unsigned columns_a_result(const struct axes *axes, bool indexed)
{
    const struct layout *reduced = &axes->reduced;
    if (step_of(axes) > 1)
        return axes_lie_abreast(axes);
    if (axes->kept > 0 && reduced->dimensions == 0)
        return axes->strides[axes->kept - 1] == (int64_t)element_size(reduced->input);
    return axes_inner_columns(axes, indexed);
}

/* As they lie: rows of so many columns, so many bytes apart, and how many of them are one. Columns
 * are `step` elements from each other. */
struct columns {
    uint64_t size, load; /* bytes of an element, and elements of a load */
    uint64_t columns, rows, stride, repeats;
    unsigned inner, step;
    uint64_t packs, all; /* loads of a row, and of everything that is kept */
    bool shifted;        /* rows do not begin at boundaries */
    bool paired;         /* a load has two, of half as many columns each */
};

/* Whether rows at this distance begin at boundaries. Of every second column the one beside the
 * first may. */
static bool at_boundaries(const struct axes *axes, const struct columns *columns, uint64_t stride,
                          uintptr_t data)
{
    const bool odd = columns->step > 1 && data / columns->size % 2;
    uint64_t all = (data - odd * columns->size) | stride;
    for (unsigned k = 0; k + 1 < axes->kept; k++)
        all |= (uint64_t)axes->strides[k];
    return all % COLUMN_BYTES == 0;
}

/* Whether two rows make a load, again and again, but not all rows one. */
static bool lie_in_pairs(const struct axes *axes, const struct columns *self, uintptr_t data)
{
    return axes->kept > 1 && self->inner == 1 && self->step == 1 && self->size < COLUMN_BYTES / 2 &&
           self->columns * self->size == COLUMN_BYTES / 2 && self->stride == COLUMN_BYTES / 2 &&
           self->rows % 2 == 0 && at_boundaries(axes, self, 2 * self->stride, data);
}

/* Whether rows are short ones that may be taken for one: all of them, or those of each of so few
 * batches that threads would have nothing to do. */
static bool lie_one_after_the_other(const struct axes *axes, uint64_t threads,
                                    const struct columns *self)
{
    if (self->rows == 1 || self->stride != self->columns * self->size * self->step)
        return false;
    return axes->kept == 1 || (axes->kept == 2 && self->inner == 1 &&
                               2 * axes->results * self->size <= threads * COLUMN_BYTES);
}

/* False: they are no columns that a kernel could take. */
static bool lie_in_columns(const struct axes *axes, bool indexed, unsigned block, uint64_t threads,
                           uintptr_t data, struct columns *self)
{
    const struct layout *reduced = &axes->reduced;
    const uint64_t n = layout_length(reduced);
    self->inner = columns_a_result(axes, indexed);
    if (n == 0 || axes->results == 0 || !self->inner || reduced->dimensions - (self->inner > 1) > 1)
        return false;
    self->size = element_size(reduced->input);
    self->load = COLUMN_BYTES / self->size;
    self->columns = axes->shape[axes->kept - 1] * self->inner;
    self->rows = n / self->inner;
    self->stride = self->rows > 1 ? (uint64_t)reduced->strides[0] : 0;
    self->step = step_of(axes);
    const uint64_t row = self->columns * self->size;
    self->repeats =
        lie_one_after_the_other(axes, threads, self) ? repeats_for(row, self->rows, block) : 1;
    self->paired = self->repeats == 1 && lie_in_pairs(axes, self, data);
    self->shifted = !self->paired && !at_boundaries(axes, self, self->stride * self->repeats, data);
    if (self->paired)
        self->load /= 2;
    self->packs = divide_up(self->columns * self->repeats, self->load);
    self->all = axes->results * self->inner / self->columns * self->packs;
    return self->rows == 1 || self->paired ||
           layout_distance((int64_t)self->stride) * self->repeats >= COLUMN_BYTES * self->step;
}

/* Threads that read neighbouring loads, at least: all that a result is of, or all that there are,
 * if these have not more than 2^across columns. An exponent. */
static unsigned abreast_of(const struct columns *columns, unsigned across)
{
    const unsigned of_result = exponent_up(divide_up(columns->inner, columns->load)),
                   of_all = exponent_up(columns->repeats > 1 ? columns->packs : columns->all),
                   load = exponent_up(columns->load);
    unsigned abreast = across > load ? across - load : 0;
    if (abreast > WARP)
        abreast = WARP;
    if (columns->repeats > 1 || of_all < abreast)
        return of_all;
    return of_result > abreast ? of_result : abreast;
}

/* Room for what half of a block's threads leave the other half, then for what all columns have
 * become, and then, a thread each, for parts of results. */
static unsigned states_of_block(const struct columns *columns, size_t state, unsigned block,
                                unsigned team)
{
    const uint64_t left =
                       team ? divide_up(COLUMNS_LEFT(state, columns->size) << block, 2 * state) : 0,
                   all = columns->load * ((1u << (block - team)) + 1), own = 1u << block;
    const uint64_t most = left > all ? left : all;
    return (unsigned)(most > own ? most : own);
}

/* More threads for each column, as long as there is something for each to do and the device has
 * room for them at a time; fewer for each block, until there is room for what they leave each
 * other. */
static void share_columns(const struct columns *columns, size_t state, unsigned abreast,
                          uint64_t threads, struct axes_shape *shape)
{
    const uint64_t rows = columns->rows / columns->repeats;
    for (;; shape->block--) {
        shape->team = 0;
        while (shape->team + abreast < shape->block && rows >> (shape->team + AHEAD) > 1 &&
               (columns->repeats > 1 || columns->all << (shape->team + 1) <= threads))
            shape->team++;
        shape->typed.states = states_of_block(columns, state, shape->block, shape->team);
        if (state * shape->typed.states <= COLUMNS_SHARED)
            return;
    }
}

/* Splits for as many threads as the device has room for, and at least as many as blocks may have
 * rows for. If what they leave takes a thread more than one turn, some are folded before all are.
 */
static void split_columns(const struct columns *columns, size_t state, uint64_t threads,
                          struct axes_shape *shape)
{
    enum { SPLITS_AT_ONCE = 16 };
    const uint64_t rows = columns->rows / columns->repeats, blocks = threads >> shape->block,
                   useful = least(blocks / shape->groups, rows >> (shape->team + AHEAD + TURNS)),
                   needed = divide_up(rows, ROWS_A_BLOCK),
                   results = (columns->load << (shape->block - shape->team)) / columns->repeats /
                             columns->inner;
    shape->splits = useful > needed ? useful : needed;
    shape->typed.neighbours = SPLITS_AT_ONCE;
    while ((uint64_t)shape->typed.neighbours * shape->typed.neighbours < shape->splits)
        shape->typed.neighbours++;
    if (shape->splits * results <= (uint64_t)COLUMNS_PARTIALS(state) << shape->block)
        shape->typed.neighbours = shape->splits > SPLITS_AT_ONCE ? shape->splits : SPLITS_AT_ONCE;
}

/* Whether each thread makes results of its own, neighbours where its columns are. */
static bool are_made_alone(const struct axes *axes, const struct columns *columns,
                           const struct axes_shape *shape)
{
    return columns->repeats == 1 && shape->team == 0 && shape->splits == 1 &&
           axes->places[axes->kept - 1] == 1 &&
           (axes->kept == 1 || columns->columns % columns->load == 0);
}

/* Threads of a block, as an exponent. Where these have two turns or three, and small states, they
 * had better not all be at the same rows. */
static unsigned block_alone(const struct columns *columns, size_t state, unsigned block,
                            uint64_t threads)
{
    const unsigned alone = (unsigned)least(axes_tuning()->alone, exponent_up(LONE_BLOCK));
    const bool few = columns->all > threads && columns->all < 3 * threads;
    return few && state <= LONE_SMALL ? block : alone;
}

/* How busy so many threads are kept, in parts of 2^10: some have nothing to do in the last turn. */
static uint64_t busy_parts(uint64_t packs, uint64_t threads)
{
    const uint64_t some = threads ? threads : 1;
    return (packs << THREADS) / (divide_up(packs, some) * some);
}

/* Whether so few threads would have a last turn, of many rows, that the larger number of those that
 * can share columns is kept busier by a quarter. Of rows off boundaries some threads only load. */
static bool leave_little(const struct columns *columns, uint64_t threads, uint64_t sharing)
{
    enum { MANY_ROWS = 4 * LONE_LOADS, LANES_OF_WARP = 1 << WARP };
    const uint64_t packs = columns->shifted
                               ? divide_up(columns->all * LANES_OF_WARP, LANES_OF_WARP - 1)
                               : columns->all;
    return columns->inner == 1 && columns->rows > MANY_ROWS && !columns->paired &&
           4 * busy_parts(columns->all, sharing) > 5 * busy_parts(packs, threads);
}

/* More loads' columns for a thread where rows are too few for LONE_LOADS of them, but of batches,
 * as long as all threads have something to do. Of rows off boundaries a warp's last thread makes
 * none. The place of the best of one row is the first, whatever lies there. */
static void make_alone(const struct axes *axes, const struct columns *columns, bool indexed,
                       unsigned block, uint64_t threads, struct axes_shape *shape)
{
    const bool unread = indexed && columns->rows == 1, shifted = columns->shifted && !unread;
    const uint64_t abreast = ((uint64_t)1 << block) - (shifted ? 1u << (block - WARP) : 0);
    unsigned lone = axes->kept > 1 || columns->inner > 1 ? 1 : axes_tuning()->lone;
    while (lone > 1 && (columns->rows > LONE_LOADS / lone || columns->all < threads * lone))
        lone /= 2;
    shape->block = block;
    shape->groups = divide_up(columns->all, abreast * lone);
    shape->typed.lone = lone;
    shape->typed.unread = unread;
    shape->typed.shifted = shifted;
    shape->typed.paired = columns->paired;
    shape->typed.states = 0;
}

/* Rows off boundaries are found by their neighbours where these are those of all that is kept. Of
 * every second column more would have to be loaded. Results of several columns are a warp's own if
 * loads are whole, and at boundaries. */
static bool could_be_made_alone(const struct axes *axes, const struct columns *columns)
{
    if (!axes_tuning()->lone || columns->step > 1)
        return false;
    if (columns->inner > 1)
        return axes->kept == 1 && !columns->shifted &&
               columns->inner * columns->rows <= ROWS_A_BLOCK &&
               columns->columns % columns->load == 0;
    return !columns->shifted || (axes->kept == 1 && (int64_t)columns->stride >= 0);
}

/* Bytes of an array from which on there is use in knowing its type: a thread takes 16 at a time
 * then, which of narrow elements are many columns, and wide ones and large states it converts and
 * merges faster; but of few rows it has few of them to merge. */
static uint64_t bytes_worth_a_type(const struct axes_tuning *tuning, size_t state, uint64_t size,
                                   uint64_t rows, unsigned multiprocessors)
{
    enum { LARGE = 8 };
    const uint64_t bytes = (uint64_t)multiprocessors * tuning->typed;
    const bool few = rows <= AXES_SMALL_ROWS;
    if (size > 4)
        return bytes >> 8;
    if (size == 4)
        return state <= LARGE ? 2 * bytes : few ? bytes >> 1 : bytes >> 4;
    if (size == 2)
        return state > LARGE && few ? 2 * bytes : bytes;
    return bytes >> 3;
}

/* Columns that neighbouring threads read, as an exponent: of small arrays so few that there are
 * blocks for all multiprocessors; where rows do not begin at sectors, twice as many as elsewhere,
 * for both ends of what they read are in sectors that others read, too. */
static unsigned columns_across(const struct axes *axes, const struct columns *columns,
                               uintptr_t data, unsigned multiprocessors)
{
    enum { NARROW = 4, NARROW_BYTES = 64, SECTOR = 32 };
    const unsigned narrow = (unsigned)least(exponent_up(NARROW_BYTES / columns->size), NARROW),
                   across = axes_tuning()->across;
    return axes_are_small(axes, multiprocessors)
               ? (unsigned)least(narrow, across)
               : across + ((data | columns->stride) % SECTOR != 0);
}

/* Blocks of up to 2^block threads. */
static void share_among_blocks(const struct columns *columns, size_t state, unsigned abreast,
                               uint64_t threads, uint64_t splitting, unsigned block,
                               struct axes_shape *shape)
{
    shape->block = block;
    share_columns(columns, state, abreast, threads, shape);
    shape->groups = columns->repeats > 1
                        ? columns->all / columns->packs
                        : divide_up(columns->all, (uint64_t)1 << (shape->block - shape->team));
    split_columns(columns, state, splitting, shape);
}

static uint64_t busy_threads(const struct axes_shape *shape)
{
    return shape->groups * shape->splits << shape->block;
}

/* Blocks that share columns wait for one another: where larger ones need not, and leave next to
 * none of the device idle, these make them. */
static void enlarge_blocks(const struct columns *columns, size_t state, unsigned abreast,
                           uint64_t threads, uint64_t splitting, unsigned most,
                           struct axes_shape *shape)
{
    for (unsigned block = block_for(state, columns->size, most);
         shape->splits > 1 && block > shape->block;
         block = block_for(state, columns->size, block - 1)) {
        struct axes_shape larger = *shape;
        share_among_blocks(columns, state, abreast, threads, splitting, block, &larger);
        if (larger.block == block && larger.splits == 1 &&
            busy_threads(&larger) >= busy_threads(shape) / 16 * 15) {
            *shape = larger;
            return;
        }
    }
}

/* Of threads that make results of their own: how these store them, and whether they are those of
 * the kernel that makes columns alone. */
static void let_threads_be_alone(const struct axes *axes, const struct axes_kernels *kernels,
                                 const struct columns *columns, const struct axes_tuning *tuning,
                                 unsigned multiprocessors, uint64_t sharing,
                                 struct axes_shape *shape)
{
    const size_t state = kernels->state;
    const uint64_t threads =
        (uint64_t)multiprocessors * LONE_THREADS(state, columns->size) * tuning->threads >> THREADS;
    const unsigned most = (unsigned)least(tuning->block, exponent_up(LONE_BLOCK));
    shape->typed.stores_packs = columns->inner == 1;
    shape->typed.stores_usual =
        shape->typed.stores_packs && kernels->lone_columns && tuning->lone && columns->step > 1;
    if (kernels->lone_columns && could_be_made_alone(axes, columns) &&
        !leave_little(columns, threads, sharing))
        make_alone(axes, columns, kernels->indexed, block_alone(columns, state, most, threads),
                   threads, shape);
}

bool columns_shape_make(const struct axes *axes, const struct axes_kernels *kernels, uintptr_t data,
                        unsigned multiprocessors, struct axes_shape *shape)
{
    const struct axes_tuning tuning = axes_tuning_of_columns(axes, multiprocessors);
    struct columns columns;
    const size_t state = kernels->state;
    const unsigned most = exponent_up(COLUMNS_BLOCK),
                   small = block_for(state, element_size(axes->reduced.input),
                                     (unsigned)least(tuning.block, most));
    const uint64_t room = (uint64_t)multiprocessors *
                          COLUMNS_THREADS(state, element_size(axes->reduced.input)),
                   threads = room * tuning.threads >> THREADS,
                   splitting = room * tuning.blocks >> (THREADS - tuning.block);
    if (!kernels->typed_columns ||
        !lie_in_columns(axes, kernels->indexed, lanes_for(state, columns_a_load(axes), small),
                        threads, data, &columns))
        return false;
    const uint64_t bytes = axes->results * layout_length(&axes->reduced) * columns.size;
    if (bytes < bytes_worth_a_type(&tuning, state, columns.size, columns.rows, multiprocessors))
        return false;
    const unsigned abreast =
        abreast_of(&columns, columns_across(axes, &columns, data, multiprocessors));
    if (abreast > small)
        return false;
    *shape = (struct axes_shape){.columns = true,
                                 .abreast = true,
                                 .rounds = 1,
                                 .inner = columns.inner,
                                 .step = columns.step};
    share_among_blocks(&columns, state, abreast, threads, splitting, small, shape);
    if (abreast > shape->block)
        return false;
    enlarge_blocks(&columns, state, abreast, threads, splitting,
                   (unsigned)least(tuning.large, most), shape);
    shape->typed.load = (unsigned)columns.load;
    shape->typed.repeats = (unsigned)columns.repeats;
    shape->typed.leftover = (unsigned)(columns.rows % columns.repeats);
    shape->typed.packs = columns.packs;
    shape->typed.shifted = columns.shifted;
    shape->typed.usual = kernels->lone_columns;
    if (are_made_alone(axes, &columns, shape))
        let_threads_be_alone(axes, kernels, &columns, &tuning, multiprocessors, threads, shape);
    return !columns.paired || shape->typed.lone;
}
