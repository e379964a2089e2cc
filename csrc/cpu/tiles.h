/* Sharing of work among threads: work is divided into tiles, and each thread has a workspace. */
#pragma once

#include "cpu/host.h"

#include <stdatomic.h>

/* How work, or the chunks of a fold, is shared. */
struct sharing {
    uint64_t chunks; /* per piece */
    uint64_t pieces; /* that threads share; 1: not shared */
    bool brief;      /* over before a sleeping thread would wake up */
};

/* How elements get to a loop: in place, as tiles that are moved or transposed, or one by one; and
 * the cost in picoseconds per element ("sharing" in benchmarks/tuning/host.json). */
enum gathering { GATHERS_NOTHING = 0, GATHERS_TILES = 75, GATHERS_ELEMENTS = 1000 };

/* For n >= 1 elements of type `input` in chunks of CHUNK_MAX, reduced to `results` or one state. */
struct sharing sharing_of(enum fold, enum element input, enum gathering, bool along, uint64_t n,
                          uint64_t results);

/* Processes a tile with a thread's workspace. Returns FOUND_ bits and, above these, others that are
 * not passed to the run, such as TILE_OUT_OF_MEMORY. */
typedef unsigned tile_function(void *context, uint64_t tile, void *workspace);

enum { TILE_OUT_OF_MEMORY = 1 << 16 };

struct tiles {
    struct job *job;
    struct sharing sharing;
    bool default_fenv;        /* in the default floating-point environment */
    uint64_t poll_interval;   /* tiles between polls of the watch; 0: all */
    size_t workspace, common; /* bytes per thread, and of the memory in common */
    unsigned threads;         /* number of workspaces */
    char *memory;             /* workspaces, and then the common memory */
    uint64_t start;           /* first tile of the current stretch */
    tile_function *work;
    void *context;
    atomic_uint findings; /* of all tiles */
};

/* Rounds up to whole cache lines. */
size_t tiles_aligned(size_t bytes);

/* Allocates memory in cache lines of its own for the threads that so many tiles need. False if out
 * of memory, recorded as the run's failure: "out of memory for ...". */
bool tiles_open(struct tiles *, uint64_t tiles, const char *purpose);

/* Frees the memory and adds the findings to the run's. */
void tiles_close(struct tiles *);

static inline void *tiles_workspace(const struct tiles *self, unsigned thread)
{
    return self->memory + thread * self->workspace;
}

static inline void *tiles_common(const struct tiles *self)
{
    return tiles_workspace(self, self->threads);
}

/* Processes the tiles, with several threads if that pays. False if interrupted. */
bool tiles_run(struct tiles *, uint64_t tiles, tile_function *, void *context);

/* Explains loops by threads that share so many tiles. Always true. */
bool tiles_explain(const struct job *, struct loops, uint64_t tiles);

/* tiles_open, the work on tiles of so many pieces each, and tiles_close. Tiles of one piece are
 * processed as a whole, others in pieces and then finished; piece p of tile t has index p * tiles +
 * t. False: a failure. */
bool tiles_process(struct tiles *, uint64_t tiles, uint64_t pieces, const char *purpose,
                   tile_function *whole, tile_function *piece, tile_function *finish,
                   void *context);
