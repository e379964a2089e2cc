/* How a reduction along axes is shared among a device's threads: a pure function of the axes, the
 * types and the device's size. */
#pragma once

#include "common/kernels.h"
#include "plan/axes.h"

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
    uint64_t splits;  /* blocks that share a result */
    uint64_t groups;  /* of results, one a block */
    bool typed_rows;  /* long rows, whose elements' type the kernel knows, */
    unsigned readers; /* and so many threads share one, */
    bool stacked;     /* with a pack of it for each */
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
};

/* From now on this, for tests; of no threads a block: as measured. */
void axes_tuning_force(struct axes_tuning);

/* What kernels there are of a fold. */
struct axes_kernels {
    enum element accumulator;
    size_t state; /* bytes */
    bool columns; /* one makes neighbouring results side by side */
    bool indexed; /* positions matter */
    bool packs;   /* they take several narrow elements to a word, in any order */
};

/* Of elements of which the first result's lie at `data`. */
void axes_shape_make(const struct axes *, const struct axes_kernels *, uintptr_t data,
                     unsigned multiprocessors, struct axes_shape *);

/* The rows, or stretches of long ones, that threads of this shape share. */
void axes_shape_rows(const struct axes_shape *, const struct axes *, enum element accumulator,
                     struct kernel_rows *);

/* Of shared memory, for states of so many bytes. */
size_t axes_shape_shared_bytes(const struct axes_shape *, size_t state);
