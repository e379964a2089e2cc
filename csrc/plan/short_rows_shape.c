/* Rows that a load of 16 bytes takes one or several of are folded where they are loaded to. Others
 * are staged in shared memory, where one thread reads a row, as long as so much of it fits, one
 * after the other however they lie elsewhere. */
#include "plan/short_rows_shape.h"

#include "common/arithmetic.h"

/* On an H200, shares of the read limit, what is written counted: float32, float16, float64 and int8
 * rows of 2, 3, 8, 31, 64 and 100, 256 MiB, sum, max, mean, argmax and var, median and smallest; in
 * brackets of float64's var of 31:
 *
 *     128 threads, 16 KiB            0.94    0.87    (0.93)
 *      64 threads,  8 KiB            0.94    0.85    (0.93)
 *     128 threads, 12 KiB            0.94    0.69    (0.69)
 *     256 threads, 16 KiB            0.94    0.66    (0.66)
 *
 * Where a thread has room for less of a row, more threads share it, and where it has an odd number
 * of loads they read from the same banks. Of float64 rows of 8, sums have 0.95 and argmax 0.53
 * where packs are not turned, 0.98 and 0.97 where they are. */
static const struct short_rows_tuning measured = {
    .several = 8,
    .staging = 7,
    .staged = 16 << 10,
    .turns = true,
    .threads = 1024,
    .longest = 4096,
};

static struct short_rows_tuning forced;

void short_rows_tuning_force(struct short_rows_tuning tuning)
{
    forced = tuning;
}

static const struct short_rows_tuning *tuned(void)
{
    return forced.staging ? &forced : &measured;
}

enum { PACK = 16, WARP = 5 };

/* How often a number can be halved. */
static unsigned twos_of(uint64_t n)
{
    return (unsigned)__builtin_ctzll(n);
}

/* A power of two of elements, which begin where a load can. */
static bool shape_several(uint64_t n, uint64_t bytes, uintptr_t data,
                          const struct short_rows_tuning *tuning, struct axes_shape *shape)
{
    if (!tuning->several || n < 2 || bytes > PACK || bytes & (bytes - 1) || data % PACK)
        return false;
    shape->several = (unsigned)n;
    shape->block = tuning->several;
    shape->rounds = (unsigned)least(ROWS_IN_REGISTERS, BYTES_IN_REGISTERS / bytes);
    return true;
}

/* Rows are a multiple of 2^even packs: so far apart is what threads of several rows read at a time,
 * and with an even number in few banks. The number of a pack's place in all banks is mixed with
 * what counts rows, but for its bits that tell packs of a team's threads apart. */
static void turn_packs(unsigned even, struct axes_shape *shape)
{
    enum { BANKS = 3 }; /* packs that fill them once, as an exponent */
    const unsigned own = (1u << shape->team) - 1;
    shape->turned = ((1u << least(even, BANKS)) - 1) & ~own;
    shape->turns = shape->turned ? (even > BANKS ? even : BANKS) - shape->team : 0;
}

/* As many threads a row as share what there is room for, and more where rows are few. Loads are as
 * long as all rows are multiples of: neighbouring threads, an odd number of loads apart, then read
 * from different banks. The first row is to be so far after a boundary. */
static bool shape_staged(uint64_t results, uint64_t n, uint64_t bytes, uint64_t behind,
                         uint64_t threads, const struct short_rows_tuning *tuning,
                         struct axes_shape *shape)
{
    enum { ROUNDS_MAX = 64, TOGETHER = 3 };
    const unsigned boundary = twos_of(bytes | behind | PACK), load = boundary - twos_of(bytes / n);
    const uint64_t loads = n >> load;
    const bool turns = tuning->turns && boundary == twos_of(PACK);
    unsigned team = turns ? 0 : (unsigned)least(twos_of(loads), TOGETHER);
    while (team < WARP && (bytes << (tuning->staging - team) > tuning->staged ||
                           (loads >> (team + 1) && results << team < threads)))
        team++;
    const uint64_t teams = (uint64_t)1 << (tuning->staging - team),
                   room = tuning->staged / (teams * bytes),
                   busy = (results << team) / (2 * threads);
    if (room == 0)
        return false;
    shape->block = tuning->staging;
    shape->team = team;
    shape->load = load;
    shape->staged = bytes;
    shape->rounds = (unsigned)least(least(room, busy ? busy : 1), ROUNDS_MAX);
    if (turns)
        turn_packs(twos_of(loads), shape);
    return true;
}

/* ---- rows that lie apart ---- */

/* Whether every second element is one of a row's, up to the last row's last. */
static bool goes_on_by_twos(const struct axes *axes, uint64_t n, uint64_t size)
{
    const struct layout *reduced = &axes->reduced;
    return reduced->dimensions == 1 && reduced->strides[0] == (int64_t)(2 * size) &&
           axes->strides[0] == (int64_t)(2 * n * size);
}

/* Bytes that lie together wherever a row or, if its elements lie apart, one of these begins. */
static unsigned unit_of(const struct axes *axes, uint64_t bytes, uint64_t size, uintptr_t data)
{
    const struct layout *reduced = &axes->reduced;
    if (reduced->dimensions == 1 && reduced->strides[0] != (int64_t)size)
        return (unsigned)size;
    const uint64_t all = data | bytes | PACK | (uint64_t)axes->strides[0];
    return (unsigned)(all & -all);
}

/* Rows and their elements at one distance each, and neither among other rows' elements: where the
 * first row is to be after a boundary, in bytes. False: they are not of those. */
static bool lie_apart(const struct axes *axes, uint64_t n, uint64_t bytes, uintptr_t data,
                      struct axes_shape *shape, uint64_t *behind)
{
    const uint64_t size = bytes / n;
    if (axes->reduced.dimensions > 1 || axes->reduced.mask || axes->kept != 1 || size > PACK / 2 ||
        axes_lie_abreast(axes))
        return false;
    shape->step = goes_on_by_twos(axes, n, size) ? 2 : 1;
    shape->unit = shape->step == 2 ? (unsigned)size : unit_of(axes, bytes, size, data);
    *behind = shape->step == 2 ? data % PACK / (2 * size) * size : 0;
    return true;
}

bool short_rows_shape_make(const struct axes *axes, uintptr_t data, unsigned multiprocessors,
                           struct axes_shape *shape)
{
    const struct short_rows_tuning *tuning = tuned();
    const uint64_t n = layout_length(&axes->reduced), bytes = n * element_size(axes->reduced.input),
                   threads = (uint64_t)multiprocessors * tuning->threads;
    uint64_t behind = data;
    *shape = (struct axes_shape){.short_rows = true, .splits = 1, .inner = 1, .step = 1};
    if (n == 0 || bytes > tuning->longest)
        return false;
    const bool flat = axes_lie_flat(axes, bytes);
    if (!flat && !lie_apart(axes, n, bytes, data, shape, &behind))
        return false;
    if (!(flat && shape_several(n, bytes, data, tuning, shape)) &&
        !shape_staged(axes->results, n, bytes, behind, threads, tuning, shape))
        return false;
    shape->groups =
        divide_up(axes->results, (uint64_t)shape->rounds << (shape->block - shape->team));
    return true;
}

/* A block's rows, what lies before a boundary, the last of eight packs that are turned, and a word
 * after a row. */
size_t short_rows_shared_bytes(const struct axes_shape *shape)
{
    enum { AROUND = 8 * PACK };
    if (!shape->staged)
        return 0;
    return (size_t)(shape->staged * shape->rounds << (shape->block - shape->team)) + AROUND;
}
