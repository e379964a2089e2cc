/* How a fold's chunks are shared among threads. */
#pragma once

#include "host/job.h"

struct sharing {
    uint64_t chunks; /* in a piece */
    uint64_t pieces;
    bool brief; /* over before a thread that sleeps would be there */
};

/* How a loop's elements come to it: as they lie, in tiles that are moved or turned, or one by one.
 */
enum bringing { BRINGS_NOTHING, BRINGS_TILES, BRINGS_ELEMENTS };

/* Of n >= 1 elements of type `input`, in chunks of LOOP_MOST. */
struct sharing sharing_of(enum fold, enum element input, enum bringing, uint64_t n);

/* The same of elements that make so many results. */
struct sharing sharing_along(enum fold, enum element input, enum bringing, uint64_t n,
                             uint64_t results);

/* Has so many pieces done, by several threads where that pays, in stretches of `stretch` with a
 * thought of the watch between them. *start is the first piece of the stretch that is under way,
 * from which pieces are counted. False: somebody has lost patience. */
bool sharing_run(struct sharing, struct job *, uint64_t pieces, uint64_t stretch, uint64_t *start,
                 threads_piece *, void *context);
