/* How a reduction along axes is shared among a device's threads: a pure function of the axes, the
 * types and the device's size. */
#pragma once

#include "common/kernels.h"
#include "plan/axes.h"

/* Columns of a known type; see kernel_axes. */
struct typed_columns {
    unsigned load; /* columns that one takes; 0: they are not of those */
    unsigned repeats, leftover, neighbours;
    unsigned states; /* that a block's threads leave each other */
    uint64_t packs;
    bool shifted, usual, stores_packs, stores_usual;
    unsigned lone; /* loads' columns that a thread makes alone; 0: another kernel's */
    bool paired, unread;
};

/* How many threads fold one result, and which; see kernel_axes. */
struct axes_shape {
    unsigned block; /* threads of one, as an exponent */
    bool columns;   /* a thread makes neighbouring results side by side */
    bool abreast;   /* neighbouring threads are of different teams */
    unsigned team;  /* 2^team threads */
    unsigned lanes; /* see kernel_rows */
    bool few;
    uint64_t staged; /* bytes of a row; 0: none is staged */
    unsigned rounds, load, packing, inner, windows;
    uint64_t splits; /* blocks that share a result */
    uint64_t groups; /* of results, one a block */

    /* Where the kernel knows the elements' type. */
    bool short_rows;
    unsigned several, turned, turns, unit;
    bool long_rows;
    unsigned readers; /* threads that share one, */
    bool stacked;     /* with a pack of it for each */
    struct typed_columns typed;
    unsigned step; /* see kernel_axes */
};

/* What the choice rests on, found by measuring. */
struct axes_tuning {
    unsigned block;   /* threads, as an exponent */
    unsigned large;   /* the same of blocks that make few columns alone */
    unsigned threads; /* of a multiprocessor, that are enough to be busy with */
    unsigned share;   /* of a thread, in windows and as an exponent, before a team of rows grows */
    unsigned blocks;  /* of a multiprocessor, that splits may make */
    unsigned staging; /* threads of a block that brings rows to shared memory, as an exponent, */
    unsigned staged;  /* and bytes of such rows, at most */
    unsigned columns; /* 0: threads make one result each */
    unsigned windows; /* of a stretch of a long row at most, as an exponent */
    unsigned across;  /* columns of a known type, where these are shared, that neighbouring threads
                       * of a block read, as an exponent */
    unsigned typed; /* bytes a multiprocessor from which on there is use in knowing it, of elements
                     * of 2 bytes; of others see bytes_worth_a_type */
    unsigned lone;  /* loads' columns, at most, that a thread makes alone; 0: for those that could
                     * be made so, too, the kernel is taken that can share columns */
    unsigned alone; /* threads of a block that makes columns alone, as an exponent */
    unsigned small; /* bytes a multiprocessor below which columns are shared such that all
                     * multiprocessors have some, */
    unsigned small_block; /* by blocks of at most so many threads, as an exponent, */
    unsigned small_large; /* or so many where they make them alone */
};

/* From now on this, for tests; of no threads a block: as measured. */
void axes_tuning_force(struct axes_tuning);

const struct axes_tuning *axes_tuning(void);

/* Whether an array is small, and what the choice rests on where it is in columns: what was found of
 * small ones holds for up to so many rows, and for any number of narrow ones. */
enum { AXES_SMALL_ROWS = 1024 };
bool axes_are_small(const struct axes *, unsigned multiprocessors);
struct axes_tuning axes_tuning_of_columns(const struct axes *, unsigned multiprocessors);

/* What kernels there are of a fold. */
struct axes_kernels {
    enum element accumulator;
    size_t state;       /* bytes */
    bool columns;       /* one makes neighbouring results side by side */
    bool few;           /* one makes results of few elements each */
    bool indexed;       /* positions matter */
    bool packs;         /* they take several narrow elements to a word, in any order */
    bool typed_columns; /* one knows the elements' type, */
    bool lone_columns;  /* and one makes columns alone, and what results are wanted */
};

/* Of elements of which the first result's lie at `data`. */
void axes_shape_make(const struct axes *, const struct axes_kernels *, uintptr_t data,
                     unsigned multiprocessors, struct axes_shape *);

/* Whether rows of so many bytes, and their elements, lie one after the other, without a mask. */
bool axes_lie_flat(const struct axes *, uint64_t row_bytes);

/* Whether neighbours in memory belong to different results. */
bool axes_lie_abreast(const struct axes *);

/* How many of a result's elements are neighbours, where so few are that they are better read side
 * by side with those of other results; 1: where its neighbours are others' elements; 0: neither. */
unsigned axes_inner_columns(const struct axes *, bool indexed);

/* The rows, or stretches of long ones, that threads of this shape share. */
void axes_shape_rows(const struct axes_shape *, const struct axes *, enum element accumulator,
                     struct kernel_rows *);

/* Counters of blocks. */
uint64_t axes_shape_tickets(const struct axes_shape *);

/* What a kernel of this shape takes, in words. */
const char *axes_shape_name(const struct axes_shape *);

/* Of shared memory, for states of so many bytes. */
size_t axes_shape_shared_bytes(const struct axes_shape *, size_t state);
