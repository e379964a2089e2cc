/* What a fold takes one thread is known beforehand (paces.def), near enough: where a processor is
 * twice as fast, threads join in at twice the length. Reading from memory takes longer, and then
 * more threads pay in any case. */
#include "host/sharing.h"

#include "common/arithmetic.h"

/* Nanoseconds of one thread's time, as benchmarks/host_paces.py --shared found them on 2 and on 16
 * cores. */
enum {
    ALONE = 10000, /* up to here nobody else is worth the trouble */
    PIECE = 2000,  /* as short as a piece may be: taking one is nothing beside it */
    BRIEF = 80000, /* to wake who sleeps takes as long, and some of the caller's time */
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
