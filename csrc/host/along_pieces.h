/* Results that are folded one by one, as threads fold them. */
#pragma once

#include "common/moves.h"
#include "common/slab.h"
#include "host/chunk.h"
#include "plan/axes.h"

#include <stdatomic.h>

enum {
    ALONG_GRAIN = 64,  /* elements of which a part's length is a multiple, for the memory's sake */
    ALONG_LANES = 16,  /* results side by side, at most */
    ALONG_LEVELS = 34, /* of states that wait for their like */
    ALONG_DONE = 64,   /* states that wait to be finished, at most */
};

/* 2^shift of them, which begin at multiples of a power of two; `count` is 0 of no elements. */
struct parts {
    uint64_t n, count;
    unsigned shift;
};

struct along {
    const struct job *job;
    const struct plan *plan;
    const struct axes *axes;
    struct chunks chunks;             /* of the first result */
    struct parts parts;               /* of a result's elements */
    uint64_t start;                   /* the first piece of this stretch */
    uint64_t results_a_piece, groups; /* of so many results */
    uint64_t runs;    /* branches of a result's tree, each for one thread: a power of 2 */
    unsigned abreast; /* of which so many are folded side by side */
    bool at_once;     /* each is, in one go */
    move_tile *move;  /* what brings its elements together first, or NULL */
    turn_rows *turn;  /* the same where those of several results lie side by side */
    _Alignas(STATE_ALIGNMENT) char identity[STATE_BYTES_MAX];
    char *benches, *branches; /* the latter: states of all runs, those of a result together */
    /* Where states begin on a bench, those that wait, and what a thread makes of `chunks`. */
    size_t states, done, chunks_at, bench_bytes;
    _Atomic unsigned findings;
};

/* Pieces for sharing_run, counted from along->start: several results, in one run each; and a run of
 * a group of results side by side. */
threads_piece along_fold_results, along_fold_run;

/* Of a group whose runs were shared, counted from 0: what becomes of it in the end. */
threads_piece along_finish_group;
