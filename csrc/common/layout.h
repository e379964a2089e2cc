/* Where a reduction's elements lie and what they become on the way, for the host's loops and,
 * copied to a device, the kernels. */
#pragma once

#include "common/element.h"

enum { DIMENSIONS_MAX = 64 };

/* A mask on its way from host to device has so many elements a byte. */
enum { MASK_BITS = 8 };

/* Element (i0, i1, ...) lies at data + sum of ik * strides[k], in bytes, and takes part if there is
 * no mask or mask[sum of ik * mask_strides[k]] is not 0. Once layout_normalise has seen it,
 * dimension 0 is the outermost, neighbouring dimensions that can be walked as one are one, a single
 * element has no dimensions, and strides are not negative, unless the array's order matters. */
struct layout {
    const void *data;
    const unsigned char *mask;
    enum element input; /* the elements' type */
    enum element type;  /* what each is converted to before it is accumulated */
    bool swapped;       /* the other byte order; on the host only */
    unsigned dimensions;
    uint64_t shape[DIMENSIONS_MAX];
    int64_t strides[DIMENSIONS_MAX], mask_strides[DIMENSIONS_MAX];
};

/* The same of few dimensions, which most arrays have once they are normalised: what a launch has to
 * bring, and a kernel to look at first, takes time. */
enum { DIMENSIONS_FEW = 4 };

struct layout_of_few {
    const void *data;
    unsigned dimensions;
    enum element input;
    uint64_t shape[DIMENSIONS_FEW];
    int64_t strides[DIMENSIONS_FEW];
    const unsigned char *mask;
    int64_t mask_strides[DIMENSIONS_FEW];
    enum element type;
};

/* As many dimensions as there are: a short call has little time for all the others. */
void layout_copy(const struct layout *, struct layout *to);
void layout_copy_few(const struct layout *, struct layout_of_few *to);

/* From now on it has n elements, one after the other, as its mask's bytes are. */
static inline void layout_make_flat(struct layout *layout, uint64_t n)
{
    layout->dimensions = 1;
    layout->shape[0] = n;
    layout->strides[0] = (int64_t)element_size(layout->input);
    layout->mask_strides[0] = 1;
}

/* The same of n others, whose mask may be NULL, in this machine's byte order. */
static inline void layout_lie_flat(struct layout *layout, const void *data,
                                   const unsigned char *mask, enum element input, uint64_t n)
{
    layout->data = data;
    layout->mask = mask;
    layout->input = input;
    layout->swapped = false;
    layout_make_flat(layout, n);
}

/* Brings dimensions into their best order, unless elements are to be walked `in_order`. */
void layout_normalise(struct layout *, bool in_order);

/* Dimensions, outermost first: a layout's own, or others that lead to such layouts. */
struct dimensions {
    struct layout *first; /* that they lead from */
    unsigned *count;
    uint64_t *shape;
    int64_t *strides, *mask_strides; /* bytes from one to the next */
    int64_t *places, *place;         /* as strides, and where they lead from; or NULL */
};

void dimensions_normalise(const struct dimensions *, bool in_order);

/* The mask's bytes as elements, walked as the array's are. */
struct layout layout_of_its_mask(const struct layout *);

/* Between neighbours in a dimension, whichever comes first in memory. */
uint64_t layout_distance(int64_t stride);

/* How many elements there are, masked or not. */
uint64_t layout_length(const struct layout *);

/* Whether the elements are ready for the kernels that take a plain pointer: one after the other,
 * all of them, aligned and in this machine's byte order. Needs a normalised layout. */
bool layout_is_flat(const struct layout *);

/* The bytes from the lowest to the highest element; of nothing, none. Any layout, as long as its
 * extent has been found to fit the address space. */
struct extent {
    uintptr_t first;
    uint64_t bytes;
};

struct extent layout_extent(const struct layout *);
