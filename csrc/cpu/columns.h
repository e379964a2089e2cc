/* Results side by side, as threads fold them: an output tile at a time, which is what one slab
 * covers: neighbouring results, of one block or of several. */
#pragma once

#include "cpu/tiles.h"
#include "plan/axes.h"
#include "threads/gather.h"

enum columns_way { COLUMNS_IN_PLACE, COLUMNS_MOVED, COLUMNS_TRANSPOSED };

/* How rows of elements, or of their mask's bytes, lie, and what brings them together. */
struct columns_rows {
    int64_t row_stride, column_stride, block_stride;
    struct bringer bringer;
};

/* What comes to a loop. */
struct columns_input {
    enum columns_way way;
    bool brings;         /* into order, or into another type: not as they lie */
    size_t stored, size; /* of an element, and of one as the loop takes it, bytes */
    uint64_t inner;      /* rows at one distance from each other: those of the last dimension */
    struct columns_rows elements, mask;
    bool masked; /* the loop takes the mask; else what that hides is filled */
    fill_hidden *fill;
    convert_elements *convert; /* to the loop's type; NULL: they are of it, or it takes them */
    union scalar neutral;      /* what masked elements become */
};

/* ---- what is chosen for a plan ---- */

/* The outer dimensions from `first` on lie as one row of so many columns, though results may not;
 * and of such rows the next one has so many. */
struct merged_row {
    unsigned first;
    uint64_t columns, blocks;
};

struct merged_row columns_merged(const struct axes *);

enum columns_way columns_way(const struct plan *);

/* Whether lanes go by the mask itself, since no element would change nothing. */
bool columns_take_mask(const struct plan *);

/* Whether a tile may have columns of several blocks: what is gathered then is one row of them all,
 * which pays where a block has few rows ("host, 2 cores" in benchmarks/tuning/cases.json). */
bool columns_gather_blocks(const struct plan *);

/* Whether of nothing but NaN that has to be said. */
bool columns_are_best_numbers(const struct plan *);

/* What takes elements as they are, or, if nothing does, once they are converted; and what makes
 * results, where these are what a state is, or that divided, and need nothing else. NULL: there is
 * none. */
const struct slab_loop *columns_loop(const struct job *, bool *converted);
const struct slab_loop *columns_loop_to_results(const struct job *);

/* ---- how it is cut ---- */

/* How results are cut into output tiles, and the rows of these into runs. */
struct columns_cut {
    uint64_t row;           /* results in a block, times `coalesced` */
    uint64_t coalesced;     /* rows that are taken for one: a power of 2 */
    uint64_t width, in_row; /* results of a tile in a block, and tiles of a block */
    uint64_t blocks, group; /* that lie at one distance, and of a tile */
    uint64_t groups;        /* of those blocks */
    uint64_t tiles;
    struct slab_parts parts;
    uint64_t run, runs; /* parts of one, and how many there are */
    uint64_t together;  /* of those, by one thread to one state: a power of 2, or all */
};

struct columns {
    const struct plan *plan;
    const struct axes *axes;
    struct columns_input input;
    struct columns_cut cut;
    struct tiles tiles; /* the threads' states of shared runs are in common */
    const struct slab_loop *loop;
    fold_pairs *merge;
    size_t width;   /* of a state, bytes */
    bool dense;     /* a tile's results lie as its states do */
    bool direct;    /* states are results, and go where those do */
    bool tells;     /* which of these are NaN */
    double divisor; /* of those; 0: none */
    bool counted;   /* how many elements the mask shows of each */
    size_t brought, unconverted, counts, valid, states; /* where these begin in a workspace */
    size_t tile_bytes;                                  /* of a tile's states */
};

/* The neutral element, which a fold makes nothing of and masked elements become; false: there is
 * none of this type. */
bool columns_neutral(enum fold, enum element type, union scalar *neutral);

/* A tile and its results; and some runs of a tile, where these are shared. */
tile_work columns_fold_tile, columns_fold_shared_runs;

/* Of a tile whose runs were shared: what becomes of it in the end. */
tile_work columns_finish_tile;
