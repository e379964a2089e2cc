/* How work is shared among threads: in tiles, and each thread has a workspace of its own. */
#pragma once

#include "cpu/host.h"

#include <stdatomic.h>

/* How work, or a fold's chunks, are shared. */
struct sharing {
    uint64_t chunks; /* in a piece */
    uint64_t pieces; /* in which it pays to be shared; 1: by nobody */
    bool brief;      /* over before a thread that sleeps would be there */
};

/* How a loop's elements come to it: as they lie, in tiles that are moved or transposed, or one by
 * one; and how many picoseconds that takes for each: "sharing" in benchmarks/tuning/host.json. */
enum bringing { BRINGS_NOTHING = 0, BRINGS_TILES = 75, BRINGS_ELEMENTS = 1000 };

/* Of n >= 1 elements of type `input`, in chunks of LOOP_MOST, that make so many results along axes,
 * or a state. */
struct sharing sharing_of(enum fold, enum element input, enum bringing, bool along, uint64_t n,
                          uint64_t results);

/* Does a tile's work in a thread's workspace, and returns what is to be said of its results: FOUND_
 * bits, and above these what the run is not told, such as that memory was too short for them. */
typedef unsigned tile_work(void *context, uint64_t tile, void *workspace);

enum { TILE_LACKS_MEMORY = 1 << 16 };

struct tiles {
    struct job *job;
    struct sharing sharing;
    bool plain;               /* in plain arithmetic, whatever the caller has set */
    uint64_t stretch;         /* tiles between two thoughts of the watch; 0: all */
    size_t workspace, common; /* bytes of each thread's memory, and of what they have together */
    unsigned threads;         /* that there are workspaces for */
    char *memory;             /* the workspaces, and then the common part */
    uint64_t start;           /* the first tile of the stretch that is under way */
    tile_work *work;
    void *context;
    atomic_uint findings; /* of all tiles */
};

/* Rounded up to whole cache lines. */
size_t tiles_aligned(size_t bytes);

/* Takes memory, in cache lines of their own, for as many threads as take part in so many tiles.
 * False: there is none, which is noted as the run's failure: "out of memory for ...". */
bool tiles_open(struct tiles *, uint64_t tiles, const char *purpose);

/* Gives it back, and tells the run what is to be said. */
void tiles_close(struct tiles *);

static inline void *tiles_workspace(const struct tiles *self, unsigned thread)
{
    return self->memory + thread * self->workspace;
}

static inline void *tiles_common(const struct tiles *self)
{
    return tiles_workspace(self, self->threads);
}

/* Does so many tiles, by several threads where that pays. False: somebody has lost patience. */
bool tiles_run(struct tiles *, uint64_t tiles, tile_work *, void *context);

/* Has the run's explanation tell of loops, by threads that share so many tiles. True. */
bool tiles_explain(const struct job *, struct loops, uint64_t tiles);

/* How tiles are done: each as a whole, or in pieces, of which tile t's number p is number
 * p * tiles + t, and then finished. */
struct tile_works {
    tile_work *whole, *piece, *finish;
};

/* Opens them, does tiles of so many pieces each, and closes them. False with a failure noted. */
bool tiles_do(struct tiles *, uint64_t tiles, uint64_t pieces, const char *purpose,
              const struct tile_works *, void *context);
