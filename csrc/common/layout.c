/* The order in which a layout is walked. A reduction may take elements in any order, so dimensions
 * are reversed, sorted and merged until those that lie side by side in memory are walked side by
 * side: an array that fills one block of memory, however it is transposed or reversed, comes out as
 * one flat run. */
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

void layout_copy_few(const struct layout *layout, struct layout_of_few *to)
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

static void move_dimension(struct layout *layout, unsigned from, unsigned to)
{
    layout->shape[to] = layout->shape[from];
    layout->strides[to] = layout->strides[from];
    layout->mask_strides[to] = layout->mask_strides[from];
}

/* Walks a dimension from its other end. */
static void reverse(struct layout *layout, unsigned k)
{
    const int64_t last = (int64_t)layout->shape[k] - 1;
    layout->data = (const char *)layout->data + last * layout->strides[k];
    layout->strides[k] = -layout->strides[k];
    if (layout->mask)
        layout->mask += last * layout->mask_strides[k];
    layout->mask_strides[k] = -layout->mask_strides[k];
}

uint64_t layout_distance(int64_t stride)
{
    return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

/* Whether dimension k belongs outside dimension `other`. Broadcast dimensions are the outermost:
 * each repeats a walk over memory. */
static bool is_outside(const struct layout *layout, unsigned k, unsigned other)
{
    const int64_t stride = layout->strides[k], beside = layout->strides[other];
    if (stride != beside)
        return beside != 0 && (stride == 0 || stride > beside);
    return layout_distance(layout->mask_strides[k]) > layout_distance(layout->mask_strides[other]);
}

static void swap_dimensions(struct layout *layout, unsigned k, unsigned other)
{
    const uint64_t shape = layout->shape[k];
    const int64_t stride = layout->strides[k], mask_stride = layout->mask_strides[k];
    move_dimension(layout, other, k);
    layout->shape[other] = shape;
    layout->strides[other] = stride;
    layout->mask_strides[other] = mask_stride;
}

/* Unsigned, so that the product of a broken stride may overflow. */
static bool continues(const int64_t *strides, const uint64_t *shape, unsigned k)
{
    return (uint64_t)strides[k] == shape[k + 1] * (uint64_t)strides[k + 1];
}

static void merge(struct layout *layout)
{
    unsigned kept = 0;
    for (unsigned k = 0; k < layout->dimensions; k++) {
        const uint64_t outer = layout->shape[k];
        const bool merged = k + 1 < layout->dimensions &&
                            continues(layout->strides, layout->shape, k) &&
                            continues(layout->mask_strides, layout->shape, k);
        if (merged)
            layout->shape[k + 1] *= outer;
        else
            move_dimension(layout, k, kept++);
    }
    layout->dimensions = kept;
}

/* A walk that goes to another line of memory with each step is not to be repeated: rather is each
 * of its elements, at once. */
static void repeat_in_place(struct layout *layout)
{
    enum { LINE = 64 };
    const unsigned dimensions = layout->dimensions;
    if (dimensions < 2 || layout->strides[dimensions - 1] < LINE)
        return;
    while (layout->strides[0] == 0)
        for (unsigned k = 0; k + 1 < dimensions; k++)
            swap_dimensions(layout, k, k + 1);
}

void layout_normalise(struct layout *layout, bool in_order)
{
    if (element_size(layout->input) == 1)
        layout->swapped = false;
    if (layout_length(layout) == 0) {
        layout->dimensions = 1;
        layout->shape[0] = 0;
        layout->strides[0] = (int64_t)element_size(layout->input);
        layout->mask_strides[0] = 1;
        return;
    }
    unsigned kept = 0;
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (layout->shape[k] != 1)
            move_dimension(layout, k, kept++);
    layout->dimensions = kept;
    for (unsigned k = 0; k < layout->dimensions; k++) {
        if (!layout->mask)
            layout->mask_strides[k] = 0;
        const int64_t stride =
            layout->strides[k] ? layout->strides[k] : layout->mask_strides[k]; /* of what differs */
        if (!in_order && stride < 0)
            reverse(layout, k);
    }
    /* By insertion: dimensions are few and mostly in order. */
    for (unsigned next = 1; !in_order && next < layout->dimensions; next++)
        for (unsigned k = next; k > 0 && is_outside(layout, k, k - 1); k--)
            swap_dimensions(layout, k, k - 1);
    merge(layout);
    if (!in_order)
        repeat_in_place(layout);
}

struct layout layout_of_its_mask(const struct layout *layout)
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
        const uint64_t reach = (layout->shape[k] - 1) * layout_distance(layout->strides[k]);
        extent.bytes += reach;
        if (layout->strides[k] < 0)
            extent.first -= reach;
    }
    return extent;
}
