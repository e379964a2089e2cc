/* The normal form of a reduction along axes: what one result is made of, and where the others and
 * what they are made of lie. Pure functions of shapes and strides. */
#pragma once

#include "common/layout.h"

enum axes_kind {
    AXES_ROWS,    /* a result's elements lie one after the other */
    AXES_COLUMNS, /* neighbouring results' elements do, and a result's at one distance */
    AXES_GENERAL,
};

/* Outer dimensions, which results differ in, outermost first: of two neighbours, how far apart
 * their elements lie in bytes, the mask's in bytes, and they themselves in results. */
struct axes {
    enum axes_kind kind;
    struct layout reduced; /* of the first result; normalised */
    unsigned runs; /* of neighbouring axes among those that are reduced, whatever their lengths */
    uint64_t results;
    bool aligned;   /* every element is, and is in this machine's byte order */
    unsigned outer; /* dimensions that results differ in */
    int64_t first;  /* the first result's place among results as they lie */
    uint64_t shape[DIMENSIONS_MAX];
    int64_t strides[DIMENSIONS_MAX], mask_strides[DIMENSIONS_MAX], places[DIMENSIONS_MAX];
};

/* Bytes from the first result's first element to the first of any, and to one after the last. */
void axes_span(const struct axes *, int64_t *lowest, int64_t *end);

/* One after the last byte of any element. */
const char *axes_end(const struct axes *);

/* How many elements there are along these axes, a bit each. */
uint64_t axes_length(const struct layout *, uint64_t axes);

/* The lengths of what these axes leave, 1 where they are kept, and how many there are. */
unsigned axes_left(const struct layout *, uint64_t axes, bool kept, uint64_t *shape);

/* NumPy's order of so many dimensions in memory, outermost first: C's but where elements of one lie
 * further apart than those of one before it. False: it is C's. */
bool axes_order(unsigned count, const uint64_t *shape, const int64_t *strides, unsigned *order);

/* `in_order`: a result's elements are still walked in the array's own order. Results lie in an
 * order of the array's dimensions; NULL: in C's. */
void axes_make(const struct layout *layout, uint64_t axes, bool in_order, const unsigned *order,
               struct axes *);

/* Of dimensions no more than there are. */
void axes_copy(const struct axes *, struct axes *to);

/* So many results along dimension `along` from `start` on, number `outer` of those before it. */
void axes_part(const struct axes *, unsigned along, uint64_t outer, uint64_t start, uint64_t count,
               struct axes *part);

/* A walk over results in the order of their dimensions, from any on. */
struct walk_of_results {
    const struct axes *axes;
    int64_t offset, mask_offset; /* of the elements, from those of the first result */
    int64_t place;
    uint64_t index[DIMENSIONS_MAX];
};

void results_start(struct walk_of_results *, const struct axes *, uint64_t result);
void results_next(struct walk_of_results *);

/* Past so many results of the innermost dimension, which has as many left. */
void results_skip(struct walk_of_results *, uint64_t count);

/* Moves a copy of the axes' `reduced` to the elements of the result that the walk is at. */
void results_move(const struct walk_of_results *, struct layout *);
