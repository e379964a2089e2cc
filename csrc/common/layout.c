/* Normalization of layouts. A reduction may take elements in any order, so dimensions are reversed,
 * sorted and merged to follow memory: a contiguous array of any shape becomes one flat run. */
#include "common/layout.h"

#include <stddef.h>
#include <string.h>

void layout_copy(const struct layout *layout, struct layout *to)
{
    const unsigned dimensions = layout->dimensions;
    memcpy(to, layout, offsetof(struct layout, shape));
    memcpy(to->shape, layout->shape, dimensions * sizeof *to->shape);
    memcpy(to->strides, layout->strides, dimensions * sizeof *to->strides);
    memcpy(to->mask_strides, layout->mask_strides, dimensions * sizeof *to->mask_strides);
}

void layout_copy_small(const struct layout *layout, struct layout_small *to)
{
    const unsigned dimensions = layout->dimensions;
    to->data = layout->data;
    to->mask = layout->mask;
    to->input = layout->input;
    to->type = layout->type;
    to->dimensions = dimensions;
    memcpy(to->shape, layout->shape, dimensions * sizeof *to->shape);
    memcpy(to->strides, layout->strides, dimensions * sizeof *to->strides);
    memcpy(to->mask_strides, layout->mask_strides, dimensions * sizeof *to->mask_strides);
}

uint64_t stride_magnitude(int64_t stride)
{
    return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

static void copy_dimension(const struct dimensions *self, unsigned from, unsigned to)
{
    self->shape[to] = self->shape[from];
    self->strides[to] = self->strides[from];
    self->mask_strides[to] = self->mask_strides[from];
    if (self->places)
        self->places[to] = self->places[from];
}

/* Reverses a dimension. */
static void reverse_dimension(const struct dimensions *self, unsigned k)
{
    struct layout *first = self->first;
    const int64_t last = (int64_t)self->shape[k] - 1;
    first->data = (const char *)first->data + last * self->strides[k];
    self->strides[k] = -self->strides[k];
    if (first->mask)
        first->mask += last * self->mask_strides[k];
    self->mask_strides[k] = -self->mask_strides[k];
    if (self->places) {
        *self->place += last * self->places[k];
        self->places[k] = -self->places[k];
    }
}

/* Whether dimension k belongs outside another one; broadcast dimensions are outermost. */
static bool is_outside(const struct dimensions *self, unsigned k, unsigned other)
{
    const int64_t stride = self->strides[k], other_stride = self->strides[other];
    if (stride != other_stride)
        return other_stride != 0 && (stride == 0 || stride > other_stride);
    return self->places ? self->places[k] > self->places[other]
                        : stride_magnitude(self->mask_strides[k]) >
                              stride_magnitude(self->mask_strides[other]);
}

static void swap_steps(int64_t *steps, unsigned k, unsigned other)
{
    const int64_t step = steps[k];
    steps[k] = steps[other];
    steps[other] = step;
}

static void swap(const struct dimensions *self, unsigned k, unsigned other)
{
    swap_steps((int64_t *)self->shape, k, other);
    swap_steps(self->strides, k, other);
    swap_steps(self->mask_strides, k, other);
    if (self->places)
        swap_steps(self->places, k, other);
}

/* Whether dimensions k and k + 1 merge. Unsigned, as invalid strides may overflow. */
static bool can_merge(const struct dimensions *self, const int64_t *steps, unsigned k)
{
    return !steps || (uint64_t)steps[k] == self->shape[k + 1] * (uint64_t)steps[k + 1];
}

static void merge(const struct dimensions *self)
{
    unsigned kept = 0;
    for (unsigned k = 0; k < *self->count; k++) {
        const uint64_t length = self->shape[k];
        if (k + 1 < *self->count && can_merge(self, self->strides, k) &&
            can_merge(self, self->mask_strides, k) && can_merge(self, self->places, k))
            self->shape[k + 1] *= length;
        else
            copy_dimension(self, k, kept++);
    }
    *self->count = kept;
}

/* Insertion sort: dimensions are few and mostly in order. In broadcast dimensions, the mask's
 * strides determine the direction. */
void dimensions_normalise(const struct dimensions *self, bool in_order)
{
    for (unsigned k = 0; !in_order && k < *self->count; k++) {
        const bool differ = self->strides[k] || self->places;
        if ((differ ? self->strides[k] : self->mask_strides[k]) < 0)
            reverse_dimension(self, k);
    }
    if (*self->count < 2)
        return;
    for (unsigned next = 1; !in_order && next < *self->count; next++)
        for (unsigned k = next; k > 0 && is_outside(self, k, k - 1); k--)
            swap(self, k, k - 1);
    merge(self);
}

void dimensions_order_by_places(const struct dimensions *self)
{
    for (unsigned next = 1; next < *self->count; next++)
        for (unsigned k = next;
             k > 0 && stride_magnitude(self->places[k]) > stride_magnitude(self->places[k - 1]);
             k--)
            swap(self, k, k - 1);
}

/* If each step goes to another cache line, broadcast dimensions become the innermost: each element
 * is repeated rather than the whole walk. */
static void move_broadcast_inside(const struct dimensions *self)
{
    enum { LINE = 64 };
    const unsigned count = *self->count;
    if (count < 2 || self->strides[count - 1] < LINE)
        return;
    while (self->strides[0] == 0)
        for (unsigned k = 0; k + 1 < count; k++)
            swap(self, k, k + 1);
}

void layout_normalise(struct layout *layout, bool in_order)
{
    const struct dimensions dims = {.first = layout,
                                    .count = &layout->dimensions,
                                    .shape = layout->shape,
                                    .strides = layout->strides,
                                    .mask_strides = layout->mask_strides};
    if (element_size(layout->input) == 1)
        layout->swapped = false;
    if (layout_length(layout) == 0) {
        layout_make_flat(layout, 0);
        return;
    }
    unsigned kept = 0;
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (layout->shape[k] != 1)
            copy_dimension(&dims, k, kept++);
    layout->dimensions = kept;
    for (unsigned k = 0; k < kept && !layout->mask; k++)
        layout->mask_strides[k] = 0;
    dimensions_normalise(&dims, in_order);
    if (!in_order)
        move_broadcast_inside(&dims);
}

struct layout layout_of_mask(const struct layout *layout)
{
    struct layout mask = *layout;
    mask.data = layout->mask;
    mask.mask = NULL;
    mask.input = mask.type = ELEMENT_BOOL;
    mask.swapped = false;
    memcpy(mask.strides, layout->mask_strides, sizeof mask.strides);
    return mask;
}

uint64_t layout_length(const struct layout *layout)
{
    uint64_t length = 1;
    for (unsigned k = 0; k < layout->dimensions; k++)
        length *= layout->shape[k];
    return length;
}

bool layout_is_flat(const struct layout *layout)
{
    const size_t size = element_size(layout->input);
    if (layout->swapped || layout->mask || (uintptr_t)layout->data % size)
        return false;
    return layout->dimensions == 0 ||
           (layout->dimensions == 1 && layout->strides[0] == (int64_t)size);
}

struct extent layout_extent(const struct layout *layout)
{
    struct extent extent = {(uintptr_t)layout->data, element_size(layout->input)};
    for (unsigned k = 0; k < layout->dimensions; k++) {
        if (layout->shape[k] == 0)
            return (struct extent){(uintptr_t)layout->data, 0};
        const uint64_t reach = (layout->shape[k] - 1) * stride_magnitude(layout->strides[k]);
        extent.bytes += reach;
        if (layout->strides[k] < 0)
            extent.first -= reach;
    }
    return extent;
}
