/* The normal form of a reduction along axes: the elements of the first result, and the strides to
 * other results and their elements. Pure functions of shapes and strides. */
#pragma once

#include "common/layout.h"

enum axes_kind {
    AXES_ROWS,    /* a result's elements are contiguous */
    AXES_COLUMNS, /* adjacent results' elements are contiguous, a result's have one stride */
    AXES_GENERAL,
};

/* Outer dimensions are stored outermost first, with strides in bytes for the elements and the mask,
 * and `places`, strides between the results, in results. */
struct axes {
    enum axes_kind kind;
    struct layout reduced; /* the first result's elements, normalized */
    unsigned runs;         /* groups of adjacent reduction axes, of any length */
    uint64_t results;
    bool aligned;   /* all elements are, and in native byte order */
    unsigned outer; /* number of outer dimensions */
    int64_t first;  /* index of the first result in the output */
    uint64_t shape[DIMENSIONS_MAX];
    int64_t strides[DIMENSIONS_MAX], mask_strides[DIMENSIONS_MAX], places[DIMENSIONS_MAX];
};

/* Byte offsets of the lowest element and of the highest one's end from the first result's first. */
void axes_byte_range(const struct axes *, int64_t *lowest, int64_t *end);

/* The end of the highest element. */
const char *axes_data_end(const struct axes *);

/* The number of elements along these axes, a bit each. */
uint64_t axes_length(const struct layout *, uint64_t axes);

/* The shape of the results, with length 1 for kept axes; returns the number of dimensions. */
unsigned axes_out_shape(const struct layout *, uint64_t axes, bool kept, uint64_t *shape);

/* NumPy's memory order of the dimensions, outermost first: C order, but with decreasing strides.
 * False: it is C order. */
bool axes_order(unsigned count, const uint64_t *shape, const int64_t *strides, unsigned *order);

/* `in_order`: a result's elements keep the array's order. `order`: the array's dimensions in the
 * results' memory order; NULL: C order. */
void axes_make(const struct layout *layout, uint64_t axes, bool in_order, const unsigned *order,
               struct axes *);

/* Sorts the outer dimensions, which are in the order of the elements, by the results' order. */
void axes_order_by_results(struct axes *);

/* Copies only the dimensions that are in use. */
void axes_copy(const struct axes *, struct axes *to);

/* The `count` results from `start` on along dimension `along`, at index `outer` before that. */
void axes_slice(const struct axes *, unsigned along, uint64_t outer, uint64_t start, uint64_t count,
                struct axes *part);

/* A walk over results in the order of their dimensions, from any result on. */
struct result_iterator {
    const struct axes *axes;
    int64_t offset, mask_offset; /* in bytes, from the first result's elements */
    int64_t place;
    uint64_t index[DIMENSIONS_MAX];
};

void results_seek(struct result_iterator *, const struct axes *, uint64_t result);
void results_next(struct result_iterator *);

/* Skips results of the innermost dimension, which has at least `count` left. */
void results_advance(struct result_iterator *, uint64_t count);

/* Moves a copy of the axes' `reduced` to the elements of the current result. */
void results_set_layout(const struct result_iterator *, struct layout *);
