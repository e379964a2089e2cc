/* Results that are folded one by one, as threads fold them. */
#pragma once

#include "cpu/chunk.h"
#include "cpu/tiles.h"
#include "plan/axes.h"

#include <stdatomic.h>

enum {
    ALONG_GRAIN = 64,  /* elements of which a part's length is a multiple, for the memory's sake */
    ALONG_LANES = 16,  /* results side by side, at most */
    ALONG_LEVELS = 34, /* of states that wait for their like */
    ALONG_DONE = 64,   /* states that wait to be finalized, at most */
};

/* 2^shift of them, which begin at multiples of a power of two; `count` is 0 of no elements. */
struct parts {
    uint64_t n, count;
    unsigned shift;
};

struct along {
    const struct plan *plan;
    const struct axes *axes;
    struct chunks chunks; /* of the first result */
    struct parts parts;   /* of a result's elements */
    struct tiles tiles;
    uint64_t results_a_tile, groups; /* of so many results */
    uint64_t runs;             /* branches of a result's tree, each for one thread: a power of 2 */
    unsigned lanes;            /* results that are folded side by side */
    bool at_once;              /* each is, in one go */
    move_tile *move;           /* what brings its elements together first, or NULL */
    transpose_rows *transpose; /* the same where those of several results lie side by side */
    size_t states, done;       /* where states begin in a workspace, and those that wait */
    size_t chunks_at;          /* and what a thread makes of `chunks` */
    _Alignas(STATE_ALIGNMENT) char identity[STATE_BYTES_MAX];
    atomic_uint findings;
};

/* Several results, in one run each; and a run of a group of results side by side. */
tile_work along_fold_results, along_fold_run;

/* Of a group whose runs were shared: what becomes of it in the end. */
tile_work along_finish_group;
