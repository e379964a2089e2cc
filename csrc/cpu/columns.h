/* Columns on the host: adjacent results are folded together. Threads take output tiles, adjacent
 * results of one or several blocks, which slabs cover. */
#pragma once

#include "cpu/tiles.h"
#include "plan/axes.h"
#include "threads/gather.h"

enum columns_mode { COLUMNS_IN_PLACE, COLUMNS_GATHERED, COLUMNS_TRANSPOSED };

/* Strides of elements, or of their mask's bytes, and how they are gathered. */
struct columns_rows {
    int64_t row_stride, column_stride, block_stride;
    struct tile_writer tile_writer;
};

/* The input of a loop. */
struct columns_input {
    enum columns_mode mode;
    bool gather;         /* elements are gathered or converted first */
    size_t stored, size; /* bytes of an element, and of the loop's */
    uint64_t inner;      /* rows in the last dimension, which have one stride */
    struct columns_rows elements, mask;
    bool takes_mask; /* the loop does; else masked elements are replaced */
    fill_masked *fill;
    convert_elements *convert; /* NULL: the loop takes elements unchanged */
    union scalar fill_value;   /* replaces masked elements */
};

/* ---- choices for a plan ---- */

/* The outer dimensions from `first` on have one stride in the input, and so form one row of
 * `columns`, though outputs may not. The next outer dimension has `blocks` such rows. */
struct merged_row {
    unsigned first;
    uint64_t columns, blocks;
};

struct merged_row columns_merged(const struct axes *);

enum columns_mode columns_mode(const struct plan *);

/* Whether loops take the mask itself, because no value is neutral. */
bool columns_take_mask(const struct plan *);

/* Whether a tile may have columns of several blocks, gathered into one row. This pays where blocks
 * have few rows ("host, 2 cores" in benchmarks/tuning/cases.json). */
bool columns_gather_blocks(const struct plan *);

/* Whether results must be checked for all-NaN columns. */
bool columns_check_nan(const struct plan *);

/* columns_loop returns the loop for the plan's elements, converted first if there is no other.
 * columns_loop_to_results returns the loop that computes final results, if these are states or
 * states divided and need nothing else. NULL: there is none. */
const struct slab_loop *columns_loop(const struct job *, bool *converted);
const struct slab_loop *columns_loop_to_results(const struct job *);

/* ---- tiling ---- */

/* Divides results into output tiles, and their rows into runs. */
struct columns_cut {
    uint64_t row;           /* results in a block, times `coalesced` */
    uint64_t coalesced;     /* adjacent rows treated as one: a power of 2 */
    uint64_t width, in_row; /* results per tile in a block, and tiles per block */
    uint64_t blocks, group; /* blocks of one stride, and blocks per tile */
    uint64_t groups;        /* per `blocks` */
    uint64_t tiles;
    struct slab_parts parts;
    uint64_t run, runs;   /* parts per run, and runs */
    uint64_t merged_runs; /* runs that one thread merges to a state: a power of 2, or all */
};

struct columns {
    const struct plan *plan;
    const struct axes *axes;
    struct columns_input input;
    struct columns_cut cut;
    struct tiles tiles; /* common memory: states of shared runs */
    const struct slab_loop *loop;
    merge_pairs *merge;
    size_t width;   /* bytes per state */
    bool dense;     /* a tile's results are as contiguous as its states */
    bool direct;    /* states are results and are stored directly */
    bool checks;    /* direct results must be checked for NaN */
    double divisor; /* of direct results; 0: none */
    bool counted;   /* unmasked elements of each result are counted */
    size_t gathered, unconverted, counts, valid, states; /* offsets in a workspace */
    size_t tile_bytes;                                   /* of a tile's states */
};

/* The value that replaces masked elements without changing the fold; false if the type has none. */
bool columns_fill_value(enum fold, enum element type, union scalar *fill_value);

/* Fold a whole tile to results; and some runs of a tile, if its runs are shared by threads. */
tile_function columns_fold_tile, columns_fold_shared_runs;

/* Merges the shared runs of a tile and stores its results. */
tile_function columns_finish_tile;
