/* The kinds of kernels that there are, and how those along axes are launched. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a kernel does. Its arguments are in brackets. */
enum kernel_kind {
    /* A method's pass over a flat array: (kernel_array, n, partials[, tickets[, epilogue]]); those
     * whose last block folds take an epilogue. The variant is the block size. Each element of type
     * `input` is converted to the accumulator. */
    KERNEL_FLAT,

    /* The same over rows of elements (kernel_rows, ...), masked or not: accumulators are the widest
     * and float32 only, and elements become such without being rounded or cut. So they do in all
     * kernels along axes and of segments. */
    KERNEL_STRIDED,

    /* Along axes (kernel_axes, partials, counts, tickets): of any dimensions, of a
     * kernel_axes_of_any; and of few elements a result, without splits and with teams within a
     * warp. */
    KERNEL_ALONG,
    KERNEL_FEW,

    /* The same arguments, of elements of the very type `input`:
     * columns, of which a thread makes as many as a load of 16 bytes takes; those that no threads
     * share; rows whose elements are neighbours; short ones of these that lie one after the other;
     * any elements, one by one; and any of floats, such that bits of a result follow from its own
     * elements alone. */
    KERNEL_TYPED_COLUMNS,
    KERNEL_UNSPLIT_COLUMNS,
    KERNEL_TYPED_ROWS,
    KERNEL_TYPED_SHORT_ROWS,
    KERNEL_TYPED_STRIDED,
    KERNEL_BATCH_INVARIANT,

    /* Of segments. The survey (kernel_segments) looks at offsets and finds tiles' beginnings. Then
     * (kernel_segments, heads, tails) has segments that lie in one tile folded, and of others what
     * lies in a tile, and once more what these become, or, where offsets do not rise or nobody has
     * looked, all segments one by one. Tiles have elements as they lie, or states of one each. */
    KERNEL_SURVEY,
    KERNEL_TILES,
    KERNEL_TILES_OF_STATES,
    KERNEL_SEGMENTS,

    /* Merges states that lie one after the other: (states, n, partials, tickets, epilogue, fold,
     * accumulator). On the ladder the method's own kernel of flat arrays does it. */
    KERNEL_MERGE,

    /* Copies elements of type `input`, or a layout of any type into one of the widest accumulators:
     * (array, n, target), and for a layout (..., accumulator, fill, valid, first): from position
     * `first` on; `fill`, a union scalar, goes where a mask leaves an element out, and there is 0
     * in `valid` then, else 1; it may be null. */
    KERNEL_COPY_FLAT,
    KERNEL_COPY_GATHERED,

    /* One thread makes the result of a state: (state, reduction, struct finish, counted, type of
     * out, out, epilogue). `counted` is the device's own count of what took part, null where
     * finish.count says it. What is posted is that the state is no longer needed. */
    KERNEL_FINISH,

    /* Stores values that are neighbours in a layout: (values, type, bytes of one, n, layout). */
    KERNEL_STORE,

    /* Exact sums: of a flat array of a type, of the words that pieces have left, and one warp that
     * makes the result of words. As KERNEL_FLAT and KERNEL_MERGE, and then (fold, accumulator,
     * watches, exact_result, factors); `watches` asks for whether there is anything but -0, and
     * only products have factors. And (words, exact_result, counted, epilogue), as KERNEL_FINISH.
     */
    KERNEL_EXACT_FLAT,
    KERNEL_EXACT_MERGE,
    KERNEL_EXACT_FINISH,

    /* All exact sums along axes, of the type's elements, which are aligned: (kernel_exact_along).
     * Rows, whose elements are neighbours, by blocks; and any, by threads, without watching. */
    KERNEL_EXACT_ROWS,
    KERNEL_EXACT_COLUMNS,

    /* By key: adds elements exactly, (kernel_keys), each as a value of the accumulator's type, and
     * rounds the sums, (kernel_keys, exact_result, epilogue); or finds extremes, and stores them,
     * (kernel_keys, values' type, type of out, out, of_none, epilogue). */
    KERNEL_KEYS,
    KERNEL_KEYS_FINISH,
    KERNEL_KEYS_EXTREMES,
    KERNEL_KEYS_STORE,

    /* Elements of given ranks of each row, (kernel_select), of elements as wide as the key's. */
    KERNEL_SELECT,

    /* Exact sums of products, of two flat arrays of a type, or of one and itself: as
     * KERNEL_EXACT_FLAT, and then (type, factors' type), which only the kernel of integers takes.
     */
    KERNEL_EXACT_PRODUCTS,

    /* Sums of products in an accumulator's arithmetic, of any type; states are FOLD_sum's. */
    KERNEL_DOT,

    /* Counts what a mask lets through: (layout, n, counted). */
    KERNEL_COUNT,

    /* Writes its first argument: (written_words, count, target). */
    KERNEL_WRITE,

    /* Makes 8 n bytes of a mask from n bytes of its bits: (bits, n, mask). */
    KERNEL_UNPACK,

    /* Reads and does nothing else: (data, n 16-byte packs, sink). The variant: of READ_SHAPES. */
    KERNEL_READ,
};

/* Short rows that a block brings to shared memory, or a thread to registers. */
struct row_tile {
    /* Rows that are staged in batches, of rows at one distance in so many of the last outer
     * dimensions; 0: all lie one after the other. Rows of a batch, and blocks. */
    uint64_t batch;
    unsigned blocks;

    unsigned bytes;  /* of a row that is staged in shared memory */
    unsigned packed; /* elements of a row, where one load takes several rows; 0: see bytes */
    unsigned unit;   /* bytes that lie together, where rows that are staged or their elements lie
                      * apart; 0: they lie one after the other */

    /* Pack number k that is staged, of 16 bytes, lies where number k ^ (k >> shift & mask) would,
     * so that threads of several rows read from different banks. */
    unsigned swizzle_mask;
    unsigned char swizzle_shift, dimensions;
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
};

/* Elements that are loaded one by one: neighbouring results of a block, and threads of each of
 * their columns; or, batch invariant, shares of each result, of which a thread has 2^shares. */
struct strided_tile {
    unsigned results, rows, shares;
    unsigned reciprocal; /* of the block's columns, times 2^16 and rounded up: a thread's number
                          * times this is its row's, times 2^16 */
};

/* Long rows whose type is known. */
struct long_row {
    unsigned readers; /* threads, of one block or of several, that share one; not an exponent */
    bool stacked;     /* they are whole packs, one a reader, and lie at one distance */
};

/* How a reduction along axes is launched: the planner chooses it once (schedule/launch_config.h), a
 * kernel takes it as it is, and gred.explain prints it. Powers of two are exponents. Kernels find
 * what they read in two lines of constants: see BEGINS_LINE in common/kernel_arguments.h. */
struct launch_config {
    unsigned block;     /* threads of one */
    unsigned team;      /* so many threads fold one result */
    uint64_t splits;    /* blocks that share a result */
    unsigned rounds;    /* results that a team makes, one after the other */
    unsigned inner;     /* neighbouring columns to a result, not an exponent */
    unsigned char load; /* elements of a row that is staged, or neighbouring columns, that one load
                         * takes */
    unsigned char step; /* neighbours, in a row or among columns, of which one counts, where kernels
                         * that know their type read them all: 1 or 2; not an exponent */
    bool across;        /* neighbouring threads are of different teams */

    /* Of the kernel of any type: which elements a thread takes, and how results merge, follows from
     * how many of them a result has, and from their dimensions, not from where they lie. */
    bool batch_invariant;

    /* Of rows: threads of a group, and windows of a stretch; see kernel_stretches. */
    unsigned char lanes, windows;

    enum kernel_kind kernel;
    unsigned shared_bytes; /* of a block */
    uint64_t groups;       /* blocks, if none shared results */

    union { /* the kernel's */
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
