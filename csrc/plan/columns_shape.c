/* A thread has the columns of one load. Where rows are short and lie one after the other, so many
 * of them are taken for one that all threads abreast have whole loads, at boundaries. */
#include "plan/columns_shape.h"

#include "common/arithmetic.h"

enum {
    AHEAD = 3, /* ROWS_AHEAD, as an exponent */
    TURNS = 1, /* how often a thread had better read as many, as an exponent */
    LANES = 7, /* threads abreast, at most, for which more rows are taken for one, as an exponent */
    WARP = 32,
};

static unsigned exponent_up(uint64_t n)
{
    unsigned exponent = 0;
    while (exponent < 63 && n > (uint64_t)1 << exponent)
        exponent++;
    return exponent;
}

static unsigned columns_a_load(const struct axes *axes)
{
    return COLUMN_BYTES / (unsigned)element_size(axes->reduced.input);
}

/* Threads of a block, as an exponent: such that the states that they leave each other fit. */
static unsigned block_for(size_t state, unsigned columns, unsigned most)
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

/* How many rows are taken for one; 1: none are. Of those that give threads abreast as much to do as
 * any, the fewest. */
static uint64_t repeats_for(uint64_t row_bytes, uint64_t rows, unsigned block)
{
    enum { ROWS_LEFT = 4 << AHEAD };
    const uint64_t whole = rows_of_whole_loads(row_bytes), loads = whole * row_bytes / COLUMN_BYTES,
                   room = (uint64_t)1 << (block < LANES ? block : LANES);
    uint64_t best = 1, busy = 0, abreast = 1;
    if (loads > (uint64_t)1 << block || rows / whole < ROWS_LEFT)
        return 1;
    for (uint64_t times = 1;
         times == 1 || (times * loads <= room && rows / (times * whole) >= ROWS_LEFT); times++) {
        const uint64_t own = times * loads,
                       wide = (uint64_t)1 << exponent_up(own > WARP ? own : WARP);
        if (own * abreast > busy * wide) {
            best = times * whole;
            busy = own;
            abreast = wide;
        }
    }
    return best;
}

/* Whether all rows begin at boundaries. */
static bool at_boundaries(const struct axes *axes, uint64_t stride, uintptr_t data)
{
    uint64_t all = data | stride;
    for (unsigned k = 0; k + 1 < axes->kept; k++)
        all |= (uint64_t)axes->strides[k];
    return all % COLUMN_BYTES == 0;
}

/* A single element is a column of one row. */
static unsigned columns_a_result(const struct axes *axes, bool indexed)
{
    const struct layout *reduced = &axes->reduced;
    if (axes->kept > 0 && reduced->dimensions == 0)
        return axes->strides[axes->kept - 1] == (int64_t)element_size(reduced->input);
    return axes_inner_columns(axes, indexed);
}

bool columns_shape_make(const struct axes *axes, const struct axes_kernels *kernels, uintptr_t data,
                        unsigned multiprocessors, const struct axes_tuning *tuning,
                        struct axes_shape *shape)
{
    const struct layout *reduced = &axes->reduced;
    const uint64_t size = element_size(reduced->input), n = layout_length(reduced),
                   threads = (uint64_t)multiprocessors * tuning->threads;
    const unsigned inner = columns_a_result(axes, kernels->indexed),
                   outer = reduced->dimensions - (inner > 1);
    if (!kernels->typed_columns || !inner || outer > 1 || n == 0 || axes->results == 0 ||
        axes->results * n * size < (uint64_t)multiprocessors * tuning->typed)
        return false;
    const uint64_t columns = axes->shape[axes->kept - 1] * inner, rows = n / inner,
                   stride = outer ? (uint64_t)reduced->strides[0] : 0;
    const unsigned load = columns_a_load(axes),
                   most = block_for(kernels->state, load,
                                    least(tuning->block, exponent_up(COLUMNS_BLOCK)));
    uint64_t repeats = 1;
    if (axes->kept == 1 && rows > 1 && stride == columns * size)
        repeats = repeats_for(stride, rows, most);
    const bool shifted = !at_boundaries(axes, stride * repeats, data);
    if (rows > 1 && layout_distance((int64_t)stride) * repeats < COLUMN_BYTES)
        return false;
    const uint64_t packs = divide_up(columns * repeats, load),
                   all = axes->results * inner / columns * packs, left = rows / repeats;
    const unsigned across = (unsigned)least(exponent_up(all), repeats > 1 ? most : tuning->across);
    if (across > most)
        return false;
    shape->block = most;
    shape->team = 0;
    while (shape->team + across < most && left >> (shape->team + AHEAD) > 1 &&
           all << shape->team < threads)
        shape->team++;
    const uint64_t abreast = (uint64_t)1 << (shape->block - shape->team);
    shape->columns = shape->abreast = true;
    shape->inner = inner;
    shape->groups = divide_up(all, abreast);
    shape->splits = least((uint64_t)multiprocessors * tuning->blocks / shape->groups,
                          left >> (shape->team + AHEAD + TURNS));
    const uint64_t enough = divide_up(left, (uint64_t)ROWS_A_THREAD << shape->team);
    shape->splits = shape->splits > enough ? shape->splits : enough;
    shape->typed = (struct typed_columns){
        .load = load,
        .repeats = (unsigned)repeats,
        .leftover = (unsigned)(rows % repeats),
        .packs = packs,
        .shifted = shifted,
        .stores_packs = inner == 1 && repeats == 1 && axes->places[axes->kept - 1] == 1 &&
                        (axes->kept == 1 || columns % load == 0) && shape->team == 0 &&
                        shape->splits == 1,
    };
    return true;
}

size_t columns_shared_bytes(const struct axes_shape *shape, size_t state)
{
    return state * shape->typed.load * ((1u << shape->block) + 1);
}
