/* Results side by side, as the loops of kernels/cpu/ fold them: a vector register holds as much of
 * each of many. */
#pragma once

#include "common/reduction.h"

/* All rows of results are cut into 2^shift parts of nearly one length, of which a slab has some: so
 * what parts are, and the bits of sums, do not depend on how results are cut into slabs. */
struct slab_parts {
    uint64_t n; /* rows in all */
    unsigned shift;
};

enum {
    SLAB_COLUMNS = 1024,         /* at most, of complex numbers half as many, ... */
    SLAB_COLUMNS_OF_PART = 4096, /* and where there is only one part */
    SLAB_PART_ROWS = 16,         /* at most */
    SLAB_PARTS = 128,            /* at most, ... */
    SLAB_PARTS_OF_BYTES = 16,    /* and of elements of a byte where positions matter */
    SLAB_ROOM = 208 << 10,
};

static inline struct slab_parts slab_parts_of(uint64_t n)
{
    struct slab_parts parts = {n, 0};
    while ((n - 1) >> parts.shift >= SLAB_PART_ROWS)
        parts.shift++;
    return parts;
}

/* A part's first row. */
static inline uint64_t slab_row(struct slab_parts parts, uint64_t part)
{
    return (uint64_t)((unsigned __int128)parts.n * part >> parts.shift);
}

/* Row `row` of the result in `column` of a block; a row's columns lie one after the other. */
struct slab {
    const char *at;           /* the first part's first row */
    uint64_t blocks, columns; /* 1 or more of each */
    struct slab_parts all;
    uint64_t first, count; /* parts; the latter is a power of 2 */
    uint64_t folded;       /* neighbouring rows that are taken for one, whose columns these are */
    uint64_t before;       /* rows before the first of all: positions count those, too */
    bool finishes;         /* states are results: NumPy's sums begin with 0, and so are never -0 */
    double divisor;        /* of those that are floats; 0: none */
    int64_t block_stride, row_stride;
    const char *end; /* up to here memory may be read, whatever it means */
    size_t ahead;    /* bytes that each row is asked for ahead of its use, or 0 */
    void *room;      /* SLAB_ROOM bytes, aligned to a cache line, for the loop's own use */
};

/* What folds a slab to a state for each result, in the order of blocks and columns: one of those of
 * kernels/cpu/, which know more of it. */
struct slab_loop {
    void (*fold)(const struct slab_loop *, const struct slab *, void *states);
};

/* Rows of n elements, at any distances, to columns. */
struct transposition {
    const char *at;
    uint64_t rows, n;
    int64_t row_stride, stride; /* the latter of a row's elements */
    const char *end;            /* as above */
};

/* Writes element k of row r at target + (k * columns + r) * size. */
typedef void transpose_rows(const struct transposition *, uint64_t columns, char *target);
