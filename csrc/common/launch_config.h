/* The kinds of kernels, and the launch configuration of reductions along axes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a kernel does, with its arguments in parentheses. */
enum kernel_kind {
    /* A method's pass over a flat array: (kernel_array, n, partials[, tickets[, epilogue]]). Only
     * methods whose last block merges the partial results take an epilogue. The variant is the
     * block size. Elements of type `input` are converted to the accumulator. */
    KERNEL_FLAT,

    /* The same over strided rows, with or without a mask: (kernel_rows, ...). Accumulators are the
     * widest ones and float32; elements convert to them without rounding or truncation, as in all
     * kernels along axes and of segments. */
    KERNEL_STRIDED,

    /* Along axes: (kernel_axes, partials, counts, tickets). KERNEL_ALONG takes a kernel_axes_any
     * instead, of any dimensions. KERNEL_FEW is for few elements per result, without splits and
     * with teams within a warp. */
    KERNEL_ALONG,
    KERNEL_FEW,

    /* The same arguments, for elements of exactly type `input`: columns, one 16-byte load per
     * thread; columns that threads do not share; contiguous rows; short contiguous rows; strided
     * elements, loaded one by one; and floats of any strides, where the bits of a result depend
     * only on its own elements. */
    KERNEL_TYPED_COLUMNS,
    KERNEL_UNSPLIT_COLUMNS,
    KERNEL_TYPED_ROWS,
    KERNEL_TYPED_SHORT_ROWS,
    KERNEL_TYPED_STRIDED,
    KERNEL_BATCH_INVARIANT,

    /* Segments. The survey (kernel_segments) checks the offsets and finds where tiles begin. The
     * others take (kernel_segments, heads, tails). Tiles fold the segments within a tile, and the
     * parts of those that cross its ends to states. KERNEL_SEGMENTS merges these states or, if the
     * offsets decrease or there was no survey, folds all segments one by one. Tiles are staged as
     * elements, or as one state per element. */
    KERNEL_SURVEY,
    KERNEL_TILES,
    KERNEL_TILES_OF_STATES,
    KERNEL_SEGMENTS,

    /* Merges contiguous states: (states, n, partials, tickets, epilogue, fold, accumulator). On the
     * ladder, the method's own kernel for flat arrays does this. */
    KERNEL_MERGE,

    /* Copies n elements to a contiguous array of the widest accumulator: (array, n, target) from an
     * array of type `input`, or (..., accumulator, fill, valid, first) from a layout of any type,
     * starting at position `first`. Masked elements become the union scalar `fill` and 0 in
     * `valid`, others 1; `valid` may be null. */
    KERNEL_COPY_FLAT,
    KERNEL_COPY_GATHERED,

    /* One thread finishes a state: (state, reduction, struct finish, counted, type of out, out,
     * epilogue). `counted` is the device's element count, null if finish.count has it. The mailbox
     * post says that the state is no longer needed. */
    KERNEL_FINISH,

    /* Stores adjacent values in a layout: (values, type, bytes of one, n, layout). */
    KERNEL_STORE,

    /* Exact sums: of a flat array, of the words of pieces, and one warp that rounds the words. The
     * first two as KERNEL_FLAT and KERNEL_MERGE, and then (fold, accumulator, watches,
     * exact_result, factors): `watches` detects elements other than -0, and only products have
     * factors. The last takes (words, exact_result, counted, epilogue), as KERNEL_FINISH. */
    KERNEL_EXACT_FLAT,
    KERNEL_EXACT_MERGE,
    KERNEL_EXACT_FINISH,

    /* Exact sums along axes, of aligned elements: (kernel_exact_along). Contiguous rows, by blocks;
     * and any strides, by threads, without watching. */
    KERNEL_EXACT_ROWS,
    KERNEL_EXACT_COLUMNS,

    /* By key. KERNEL_KEYS adds elements exactly, converted to the accumulator (kernel_keys), and
     * FINISH rounds the sums (kernel_keys, exact_result, epilogue). EXTREMES finds extremes
     * (kernel_keys), and STORE stores them (kernel_keys, type, out type, out, empty_result,
     * epilogue). */
    KERNEL_KEYS,
    KERNEL_KEYS_FINISH,
    KERNEL_KEYS_EXTREMES,
    KERNEL_KEYS_STORE,

    /* Elements of given ranks of each row: (kernel_select). `input` has the elements' width. */
    KERNEL_SELECT,

    /* Exact sums of products of two flat arrays, or of one with itself: as KERNEL_EXACT_FLAT, and
     * then (type, factors' type), which only the integer kernel takes. */
    KERNEL_EXACT_PRODUCTS,

    /* Sums of products in the accumulator's arithmetic, of any type. States are FOLD_sum's. */
    KERNEL_DOT,

    /* Counts the unmasked elements: (layout, n, counted). */
    KERNEL_COUNT,

    /* Stores the words of its first argument: (written_words, count, target). */
    KERNEL_WRITE,

    /* Only reads: (data, n 16-byte packs, sink). The variant is one of READ_SHAPES. */
    KERNEL_READ,
};

/* Short rows, staged in shared memory by a block or loaded into a thread's registers. */
struct row_tile {
    /* Rows per batch: those of the last outer dimension. `dimensions`: 0 if all rows are contiguous
     * and form one batch; 1 if rows are strided; 2 for batches of columns. `blocks`: per batch. */
    uint64_t batch;
    unsigned blocks;

    unsigned rounds;       /* rows per team, one after the other */
    unsigned bytes;        /* per row or batch staged in shared memory */
    unsigned batches;      /* per block, if it stages whole batches of columns; else 0 */
    unsigned char padding; /* bytes between these, against bank conflicts */
    unsigned char packed;  /* elements per row, if one load takes several rows; 0: see bytes */
    unsigned char unit;    /* contiguous bytes, if staged rows or their elements are strided; else
                              0 */

    /* The staged 16-byte pack k is stored at index k ^ (k >> shift & mask), so that threads that
     * read different rows use different banks. */
    unsigned char swizzle_shift, dimensions;
    unsigned swizzle_mask;
};

/* Columns, in the typed kernels. */
struct column_tile {
    uint64_t packs;       /* of COLUMN_BYTES in the last outer dimension or, if there is a span,
                             blocks */
    unsigned span;        /* columns per block, whose results have several or coalesced rows each; 0
                             if packs follow each other from block to block */
    unsigned results;     /* per block */
    unsigned coalesced;   /* adjacent rows treated as one */
    unsigned leftover;    /* rows that remain after these */
    unsigned split_group; /* splits merged by the last of their group before the last of all */
    unsigned unsplit;     /* loads' columns per thread; 0: KERNEL_TYPED_COLUMNS */
    unsigned char outer;  /* outer dimensions before the last one. As in kernel_axes, but blocks
                             would wait for that line of constants, and most need no other of it */
    bool shifted;         /* rows are misaligned */
    bool stores_packs;    /* a thread's columns are adjacent results */
};

/* Elements loaded one by one: adjacent results per block, and threads per column. When batch
 * invariant, `rows` counts the shares of a result instead, of which a thread has 2^shares. */
struct strided_tile {
    unsigned results, rows, shares;
    unsigned reciprocal; /* 2^16 / the block's columns, rounded up: a thread's row is its index
                            times this, divided by 2^16 */
};

/* Long rows, in the typed kernel. */
struct long_row {
    unsigned readers; /* threads of one or more blocks that share a row; not log2 */
    bool stacked;     /* rows of one stride, each of whole packs, one per reader */
};

/* How a reduction along axes is launched. The planner chooses it (schedule/launch_config.h),
 * kernels take it unchanged, and gred.explain prints it. Powers of two are stored as log2. Kernels
 * read most of it from two constant cache lines: see BEGINS_LINE in common/kernel_arguments.h. */
struct launch_config {
    unsigned block;     /* threads per block */
    unsigned team;      /* threads that fold a result */
    uint64_t splits;    /* blocks that share a result */
    unsigned inner;     /* adjacent columns per result, not log2 */
    unsigned char load; /* elements that one load takes of a staged row or of adjacent columns */
    unsigned char step; /* 1, or 2 if every second element of a row or of the columns is used, where
                           typed kernels load them all; not log2 */
    bool across;        /* adjacent threads belong to different teams */

    /* KERNEL_ALONG: the elements of a thread and the order of merging depend only on the number of
     * elements per result and on their dimensions, not on addresses. */
    bool batch_invariant;

    /* Rows: threads per group, and windows per stretch; see kernel_stretches. */
    unsigned char lanes, windows;

    enum kernel_kind kernel;
    unsigned shared_bytes; /* per block */
    uint64_t groups;       /* blocks, before splitting */

    union { /* by kernel */
        struct long_row long_row;
        struct row_tile row;
        struct column_tile column;
        struct strided_tile strided;
    };
};

static inline uint64_t launch_grid(const struct launch_config *self)
{
    return self->groups * self->splits;
}
