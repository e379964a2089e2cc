/* Layouts of arrays: where elements are stored and which type they are converted to. Used by the
 * host's loops and, copied to a device, by kernels. */
#pragma once

#include "common/element.h"

enum { DIMENSIONS_MAX = 64 };

/* Element (i0, i1, ...) is at data + sum of ik * strides[k], in bytes. It is included if there is
 * no mask or mask[sum of ik * mask_strides[k]] is not 0. After layout_normalise, dimension 0 is the
 * outermost, adjacent dimensions are merged where possible, a single element has no dimensions and,
 * unless the array's order matters, strides are not negative. */
struct layout {
    const void *data;
    const unsigned char *mask;
    enum element input; /* element type */
    enum element type;  /* type that elements are converted to before they are accumulated */
    bool swapped;       /* non-native byte order; on the host only */
    unsigned dimensions;
    uint64_t shape[DIMENSIONS_MAX];
    int64_t strides[DIMENSIONS_MAX], mask_strides[DIMENSIONS_MAX];
};

/* A layout of few dimensions, enough for most normalized arrays. A smaller argument makes launches
 * and kernels faster. */
enum { DIMENSIONS_SMALL = 4 };

struct layout_small {
    const void *data;
    unsigned dimensions;
    enum element input;
    uint64_t shape[DIMENSIONS_SMALL];
    int64_t strides[DIMENSIONS_SMALL];
    const unsigned char *mask;
    int64_t mask_strides[DIMENSIONS_SMALL];
    enum element type;
};

/* Copy only the dimensions in use, which saves time in short calls. */
void layout_copy(const struct layout *, struct layout *to);
void layout_copy_small(const struct layout *, struct layout_small *to);

/* Makes it contiguous, of n elements; the mask, too. */
static inline void layout_make_flat(struct layout *layout, uint64_t n)
{
    layout->dimensions = 1;
    layout->shape[0] = n;
    layout->strides[0] = (int64_t)element_size(layout->input);
    layout->mask_strides[0] = 1;
}

/* Makes it n contiguous elements of native byte order elsewhere, whose mask may be NULL. */
static inline void layout_set_flat(struct layout *layout, const void *data,
                                   const unsigned char *mask, enum element input, uint64_t n)
{
    layout->data = data;
    layout->mask = mask;
    layout->input = input;
    layout->swapped = false;
    layout_make_flat(layout, n);
}

/* Sorts and merges dimensions; `in_order` keeps the order of elements. */
void layout_normalise(struct layout *, bool in_order);

/* Dimensions, outermost first: a layout's own, or outer ones whose elements are layouts. */
struct dimensions {
    struct layout *first; /* the layout at index 0 */
    unsigned *count;
    uint64_t *shape;
    int64_t *strides, *mask_strides; /* in bytes */
    int64_t *places, *place;         /* output strides and the first output index; or NULL */
};

void dimensions_normalise(const struct dimensions *, bool in_order);

/* Sorts them by their output strides instead. */
void dimensions_order_by_places(const struct dimensions *);

/* The mask's bytes as elements, in the order of the array's. */
struct layout layout_of_mask(const struct layout *);

/* The magnitude of a stride. */
uint64_t stride_magnitude(int64_t stride);

/* The number of elements, masked ones included. */
uint64_t layout_length(const struct layout *);

/* Whether elements are ready for kernels that take a plain pointer: contiguous, aligned, unmasked
 * and in native byte order. Requires a normalized layout. */
bool layout_is_flat(const struct layout *);

/* The bytes from the lowest to the highest element; none if there are no elements. For any layout
 * whose extent is known to fit the address space. */
struct extent {
    uintptr_t first;
    uint64_t bytes;
};

struct extent layout_extent(const struct layout *);
