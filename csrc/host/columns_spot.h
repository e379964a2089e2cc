/* Columns as threads fold them, a spot at a time. */
#pragma once

#include "common/moves.h"
#include "common/slab.h"
#include "host/job.h"
#include "plan/axes.h"

#include <stdatomic.h>

enum columns_way { COLUMNS_IN_PLACE, COLUMNS_MOVED, COLUMNS_TURNED };

/* A spot is what one slab covers: neighbouring results, of one block or of several. */
struct columns {
    const struct job *job;
    const struct plan *plan;
    const struct axes *axes;
    enum columns_way way;
    fold_slab *fold;
    fold_pairs *merge;
    move_tile *move;
    turn_rows *turn;
    convert_elements *convert; /* to the loop's type; NULL: they are of it, or it takes them */
    bool brings;               /* into order, or into another type: not as they lie */
    size_t input_size, size,
        width; /* of an element, of one as the loop takes it, of a state, bytes */
    int64_t row_stride, column_stride, block_stride;
    int64_t mask_row_stride, mask_column_stride;
    union scalar nothing;   /* what hidden elements become */
    uint64_t row;           /* results in a block, times `folded` */
    uint64_t folded;        /* rows that are taken for one: a power of 2 */
    uint64_t tile, tiles;   /* results of a spot in a block, and spots of a block */
    uint64_t blocks, group; /* that lie at one distance, and of a spot */
    uint64_t groups;        /* of those blocks */
    uint64_t spots;
    struct slab_parts parts;
    uint64_t run, runs; /* parts of one, and how many there are */
    uint64_t together;  /* of those that are shared, by one thread to one state: a power of 2 */
    bool shared;        /* a spot's runs are, among threads */
    bool direct;        /* states are results, and go where those do */
    bool tells;         /* which of these are NaN */
    double divisor;     /* of those; 0: none */
    const char *end;    /* of all elements */
    size_t ahead;       /* as struct slab has it */
    bool counted;       /* how many elements of each result the mask shows has to be */
    char *benches, *partials;
    size_t bench_bytes, brought, unconverted, counts, states; /* and where those begin on a bench */
    size_t spot_bytes;                                        /* of a spot's states */
    uint64_t start;                                           /* the first piece of this stretch */
    atomic_uint findings;                                     /* bits of common/findings.h */
};

/* Pieces for sharing_run, counted from columns->start: a spot and its results; and some runs of a
 * spot, where these are shared. */
threads_piece columns_fold_spot, columns_fold_shared_runs;

/* Of a spot whose runs were shared, counted from 0: what becomes of it in the end. */
threads_piece columns_finish_spot;
