/* The order in which a source is walked. A reduction may take elements in any order, so dimensions
 * are turned, sorted and merged until those that lie side by side in memory are walked side by
 * side: an array that fills one block of memory, however it is transposed or reversed, comes out as
 * one flat run. */
#include "source.h"

static void become_empty(struct source *source)
{
    source->dimensions = 1;
    source->shape[0] = 0;
    source->strides[0] = (int64_t)element_size(source->input);
    source->mask_strides[0] = 1;
}

static void move_dimension(struct source *source, unsigned from, unsigned to)
{
    source->shape[to] = source->shape[from];
    source->strides[to] = source->strides[from];
    source->mask_strides[to] = source->mask_strides[from];
}

static void drop_single_elements(struct source *source)
{
    unsigned kept = 0;
    for (unsigned k = 0; k < source->dimensions; k++)
        if (source->shape[k] != 1)
            move_dimension(source, k, kept++);
    source->dimensions = kept;
}

/* Walks a dimension from its other end. */
static void turn(struct source *source, unsigned k)
{
    const int64_t last = (int64_t)source->shape[k] - 1;
    source->data = (const char *)source->data + last * source->strides[k];
    source->strides[k] = -source->strides[k];
    if (source->mask)
        source->mask += last * source->mask_strides[k];
    source->mask_strides[k] = -source->mask_strides[k];
}

/* Where elements are broadcast, the mask decides. */
static bool runs_backwards(const struct source *source, unsigned k)
{
    return source->strides[k] < 0 || (source->strides[k] == 0 && source->mask_strides[k] < 0);
}

static uint64_t magnitude(int64_t stride)
{
    return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

/* Whether dimension k belongs outside dimension `other`. Broadcast dimensions are the outermost:
 * each repeats a walk over memory. */
static bool is_outside(const struct source *source, unsigned k, unsigned other)
{
    const int64_t stride = source->strides[k], beside = source->strides[other];
    if (stride != beside)
        return beside != 0 && (stride == 0 || stride > beside);
    return magnitude(source->mask_strides[k]) > magnitude(source->mask_strides[other]);
}

static void swap_dimensions(struct source *source, unsigned k, unsigned other)
{
    const uint64_t shape = source->shape[k];
    const int64_t stride = source->strides[k], mask_stride = source->mask_strides[k];
    move_dimension(source, other, k);
    source->shape[other] = shape;
    source->strides[other] = stride;
    source->mask_strides[other] = mask_stride;
}

/* By insertion: dimensions are few and mostly in order. */
static void sort(struct source *source)
{
    for (unsigned next = 1; next < source->dimensions; next++)
        for (unsigned k = next; k > 0 && is_outside(source, k, k - 1); k--)
            swap_dimensions(source, k, k - 1);
}

/* Unsigned, so that the product of a broken stride may overflow. */
static bool continues(const int64_t *strides, const uint64_t *shape, unsigned k)
{
    return (uint64_t)strides[k] == shape[k + 1] * (uint64_t)strides[k + 1];
}

static void merge(struct source *source)
{
    unsigned kept = 0;
    for (unsigned k = 0; k < source->dimensions; k++) {
        const uint64_t outer = source->shape[k];
        const bool merged = k + 1 < source->dimensions &&
                            continues(source->strides, source->shape, k) &&
                            continues(source->mask_strides, source->shape, k);
        if (merged)
            source->shape[k + 1] *= outer;
        else
            move_dimension(source, k, kept++);
    }
    source->dimensions = kept;
}

void source_normalise(struct source *source)
{
    if (element_size(source->input) == 1)
        source->swapped = false;
    if (source_length(source) == 0) {
        become_empty(source);
        return;
    }
    drop_single_elements(source);
    for (unsigned k = 0; k < source->dimensions; k++) {
        if (!source->mask)
            source->mask_strides[k] = 0;
        if (runs_backwards(source, k))
            turn(source, k);
    }
    sort(source);
    merge(source);
}

uint64_t source_length(const struct source *source)
{
    uint64_t length = 1;
    for (unsigned k = 0; k < source->dimensions; k++)
        length *= source->shape[k];
    return length;
}

bool source_is_flat(const struct source *source)
{
    const size_t size = element_size(source->input);
    if (source->swapped || source->mask || (uintptr_t)source->data % size)
        return false;
    return source->dimensions == 0 ||
           (source->dimensions == 1 && source->strides[0] == (int64_t)size);
}

struct extent source_extent(const struct source *source)
{
    struct extent extent = {(uintptr_t)source->data, element_size(source->input)};
    for (unsigned k = 0; k < source->dimensions; k++) {
        if (source->shape[k] == 0)
            return (struct extent){(uintptr_t)source->data, 0};
        const uint64_t reach = (source->shape[k] - 1) * magnitude(source->strides[k]);
        extent.bytes += reach;
        if (source->strides[k] < 0)
            extent.first -= reach;
    }
    return extent;
}
