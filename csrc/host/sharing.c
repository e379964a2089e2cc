/* What a fold takes one thread is known beforehand (paces.def), near enough: where a processor is
 * twice as fast, threads join in at twice the length. Reading from memory takes longer, and then
 * more threads pay in any case. */
#include "host/sharing.h"

#include "common/arithmetic.h"

/* Microseconds of float32 sums on one thread and on all that there are, calls in a row and, in
 * brackets, one after a pause, as benchmarks/host_paces.py --shared shows them. With every sleeper
 * woken in any case, 1 MiB after a pause takes 50 to 100 on 2 cores and 26 to 48 on 16.
 *
 *               2 cores: one    all          16 cores: one    all
 *     256 KiB    11.1 (18.9)   11.1 (18.2)     4.6  (13)      5.4 (13)
 *     1 MiB      33.3 (56)     22.8 (56)      17.3  (43)      7.3 (42)
 *     2 MiB      89.7 (99)     39.8 (96)            (86)          (88)
 *     4 MiB       172 (195)     103 (150)     89.8 (175)     13.2 (50)
 *     16 MiB                                   363 (728)     38.8 (85)
 *
 * The limits are nanoseconds of one thread's time. */
enum {
    ALONE = 6000,  /* up to here nobody else is worth the trouble */
    PIECE = 1200,  /* as short as a piece may be: taking one is nothing beside it */
    BRIEF = 60000, /* to wake who sleeps takes as long, and some of the caller's time */
    GATHERING = 1, /* an element */
};

/* In long jobs, so many that threads end together. */
enum { PIECES = 512 };

static const uint16_t picoseconds[FOLDS][ELEMENTS] = {
#define PACES(name, ...) [FOLD_##name] = {__VA_ARGS__},
#include "host/paces.def"
#undef PACES
};

static uint64_t chunk_nanoseconds(enum fold fold, enum element input, bool gathered)
{
    const uint64_t element = picoseconds[fold][input] + (gathered ? 1000 * GATHERING : 0);
    return element * LOOP_MOST / 1000 + 1;
}

struct sharing sharing_of(enum fold fold, enum element input, bool gathered, uint64_t n)
{
    const uint64_t chunks = divide_up(n, LOOP_MOST);
    const uint64_t each = chunk_nanoseconds(fold, input, gathered);
    struct sharing sharing = {.chunks = chunks, .pieces = 1, .brief = chunks * each < BRIEF};
    if (chunks * each > ALONE) {
        const uint64_t least = divide_up(PIECE, each), fair = divide_up(chunks, PIECES);
        sharing.chunks = least > fair ? least : fair;
        sharing.pieces = divide_up(chunks, sharing.chunks);
    }
    return sharing;
}
