/* How a reduction along axes is launched: the planner chooses it once (plan/launch_config.h), a
 * kernel takes it as it is, and gred.explain prints it. Powers of two are said by their exponents.
 */
#pragma once

#include "common/kernel_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Short rows that a block brings to shared memory, or a thread to registers. */
struct row_tile {
    uint64_t bytes;   /* of a row that is staged in shared memory; 0: rows are read as they lie */
    unsigned packing; /* elements of such a row that one word takes: loads are of words */
    unsigned packed;  /* elements of a row, where one load takes several rows; 0: see bytes */

    /* Pack number k that is staged, of 16 bytes, lies where number k ^ (k >> shift & mask) would,
     * so that threads of several rows read from different banks. */
    unsigned swizzle_mask, swizzle_shift;

    unsigned unit; /* bytes that lie together, where rows that are staged or their elements lie
                    * apart; 0: they lie one after the other */
};

/* Columns whose type is known. */
struct column_tile {
    uint64_t packs;       /* of COLUMN_BYTES, in the last of the outer dimensions */
    unsigned coalesced;   /* neighbouring rows that are taken for one */
    unsigned leftover;    /* and those after the last of these */
    unsigned split_group; /* splits whose last folds what they have left, before that of all does */
    unsigned unsplit;     /* loads' columns that a thread makes by itself; 0: see team */
    bool shifted;         /* rows do not begin at boundaries */
    bool stores_packs;    /* what a thread makes are results, which are neighbours */
    bool stores_native;   /* and of usual types, where every second column counts */
    bool paired;          /* a load has two rows, of 8 bytes */
    bool unread;          /* the place of the best of one row: elements need not be read */
};

struct launch_config {
    enum kernel_kind kernel;
    unsigned block;      /* threads of one */
    unsigned team;       /* so many threads fold one result */
    bool across;         /* neighbouring threads are of different teams */
    unsigned rounds;     /* results that a team makes, one after the other */
    uint64_t groups;     /* blocks, if none shared results */
    uint64_t splits;     /* blocks that share a result */
    size_t shared_bytes; /* of a block */
    unsigned load;       /* elements of a row that is staged, or neighbouring columns, that one load
                          * takes */
    unsigned inner;      /* neighbouring columns to a result, not an exponent */
    unsigned step; /* neighbours, in a row or among columns, of which one counts, where kernels
                    * that know its type read them all: 1 or 2 */

    /* Of rows: threads of a group, and windows of a stretch; see kernel_stretches. */
    unsigned lanes, windows;

    /* Of long rows whose type is known. */
    unsigned readers; /* threads, of one block or of several, that share one; not an exponent */
    bool stacked;     /* they are whole packs, one a reader, and lie at one distance */

    struct row_tile row;
    struct column_tile column;
};

static inline uint64_t launch_grid(const struct launch_config *self)
{
    return self->groups * self->splits;
}
