/* Reduction dimensions become a layout of their own. Outer dimensions are normalized as layouts
 * are, except that every result keeps its place. */
#include "plan/axes.h"

#include <string.h>

static bool is_reduced(uint64_t axes, unsigned k)
{
    return axes >> k & 1;
}

uint64_t axes_length(const struct layout *layout, uint64_t axes)
{
    uint64_t length = 1;
    for (unsigned k = 0; k < layout->dimensions; k++)
        length *= is_reduced(axes, k) ? layout->shape[k] : 1;
    return length;
}

unsigned axes_out_shape(const struct layout *layout, uint64_t axes, bool kept, uint64_t *shape)
{
    unsigned left = 0;
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (kept || !is_reduced(axes, k))
            shape[left++] = is_reduced(axes, k) ? 1 : layout->shape[k];
    return left;
}

/* ---- reduction dimensions ---- */

static void gather_reduced(struct layout *part, const struct layout *layout, uint64_t axes)
{
    layout_copy(layout, part);
    part->dimensions = 0;
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (is_reduced(axes, k)) {
            part->shape[part->dimensions] = layout->shape[k];
            part->strides[part->dimensions] = layout->strides[k];
            part->mask_strides[part->dimensions] = layout->mask_strides[k];
            part->dimensions++;
        }
}

/* ---- outer dimensions ---- */

/* Insertion sort from the innermost dimension on. Dimensions of length 1 or stride 0 have no
 * defined order and are skipped. */
bool axes_order(unsigned count, const uint64_t *shape, const int64_t *strides, unsigned *order)
{
    bool moved = false;
    for (unsigned k = count; k-- > 0;) {
        const uint64_t stride = shape[k] == 1 ? 0 : stride_magnitude(strides[k]);
        unsigned position = k;
        for (unsigned i = k + 1; i < count; i++) {
            const unsigned inner = order[i];
            const uint64_t inner_stride = shape[inner] == 1 ? 0 : stride_magnitude(strides[inner]);
            if (stride == 0 || inner_stride == 0)
                continue;
            if (inner_stride <= stride)
                break;
            position = i;
        }
        memmove(order + k, order + k + 1, (position - k) * sizeof *order);
        order[position] = k;
        moved = moved || position > k;
    }
    return moved;
}

/* Outer dimensions of length 1 are dropped. */
static void gather_outer(struct axes *self, const struct layout *layout, uint64_t axes,
                         const unsigned *order)
{
    int64_t place = (int64_t)self->results;
    for (unsigned i = 0; i < layout->dimensions; i++) {
        const unsigned k = order ? order[i] : i;
        if (is_reduced(axes, k) || layout->shape[k] == 1)
            continue;
        place /= (int64_t)layout->shape[k];
        self->shape[self->outer] = layout->shape[k];
        self->strides[self->outer] = layout->strides[k];
        self->mask_strides[self->outer] = layout->mask ? layout->mask_strides[k] : 0;
        self->places[self->outer++] = place;
    }
}

static bool is_aligned(const struct axes *self)
{
    const struct layout *reduced = &self->reduced;
    uint64_t all = (uintptr_t)reduced->data;
    for (unsigned k = 0; k < reduced->dimensions; k++)
        all |= (uint64_t)reduced->strides[k];
    for (unsigned k = 0; k < self->outer; k++)
        all |= (uint64_t)self->strides[k];
    return !reduced->swapped && all % element_size(reduced->input) == 0;
}

static enum axes_kind kind_of(const struct axes *self)
{
    const struct layout *reduced = &self->reduced;
    const int64_t size = (int64_t)element_size(reduced->input);
    if (reduced->dimensions == 0 || (reduced->dimensions == 1 && reduced->strides[0] == size))
        return AXES_ROWS;
    if (reduced->dimensions == 1 && self->outer > 0 && self->strides[self->outer - 1] == size)
        return AXES_COLUMNS;
    return AXES_GENERAL;
}

static struct dimensions outer_dimensions(struct axes *self)
{
    return (struct dimensions){&self->reduced,     &self->outer, self->shape, self->strides,
                               self->mask_strides, self->places, &self->first};
}

void axes_order_by_results(struct axes *self)
{
    const struct dimensions outer = outer_dimensions(self);
    dimensions_order_by_places(&outer);
}

void axes_make(const struct layout *layout, uint64_t axes, bool in_order, const unsigned *order,
               struct axes *self)
{
    self->results = axes_length(layout, ~axes);
    self->runs = (unsigned)__builtin_popcountll(axes & ~(axes << 1));
    self->first = 0;
    self->outer = 0;
    gather_reduced(&self->reduced, layout, axes);
    layout_normalise(&self->reduced, in_order);
    if (self->results > 0) {
        const struct dimensions outer = outer_dimensions(self);
        gather_outer(self, layout, axes, order);
        dimensions_normalise(&outer, false);
    }
    self->aligned = is_aligned(self);
    self->kind = kind_of(self);
}

/* Unsigned arithmetic, as invalid strides may overflow. */
void axes_byte_range(const struct axes *axes, int64_t *lowest, int64_t *end)
{
    const struct layout *reduced = &axes->reduced;
    uint64_t below = 0, above = element_size(reduced->input);
    for (unsigned k = 0; k < axes->outer; k++)
        above += (axes->shape[k] - 1) * (uint64_t)axes->strides[k];
    for (unsigned k = 0; k < reduced->dimensions; k++)
        *(reduced->strides[k] < 0 ? &below : &above) +=
            (reduced->shape[k] - 1) * (uint64_t)reduced->strides[k];
    *lowest = (int64_t)below;
    *end = (int64_t)above;
}

const char *axes_data_end(const struct axes *axes)
{
    int64_t lowest, end;
    axes_byte_range(axes, &lowest, &end);
    return (const char *)axes->reduced.data + end;
}

/* Copies the outer dimensions from number `first` on. */
static void copy_outer(const struct axes *self, unsigned first, struct axes *to)
{
    const unsigned count = to->outer = self->outer - first;
    memcpy(to->shape, self->shape + first, count * sizeof *to->shape);
    memcpy(to->strides, self->strides + first, count * sizeof *to->strides);
    memcpy(to->mask_strides, self->mask_strides + first, count * sizeof *to->mask_strides);
    memcpy(to->places, self->places + first, count * sizeof *to->places);
}

void axes_copy(const struct axes *self, struct axes *to)
{
    to->kind = self->kind;
    layout_copy(&self->reduced, &to->reduced);
    to->runs = self->runs;
    to->results = self->results;
    to->aligned = self->aligned;
    to->first = self->first;
    copy_outer(self, 0, to);
}

/* ---- walking over results ---- */

static void advance(struct result_iterator *walk, unsigned k, int64_t steps)
{
    walk->offset += steps * walk->axes->strides[k];
    walk->mask_offset += steps * walk->axes->mask_strides[k];
    walk->place += steps * walk->axes->places[k];
}

void results_seek(struct result_iterator *walk, const struct axes *axes, uint64_t result)
{
    walk->axes = axes;
    walk->offset = walk->mask_offset = 0;
    walk->place = axes->first;
    for (unsigned k = axes->outer; k-- > 0; result /= axes->shape[k]) {
        walk->index[k] = result % axes->shape[k];
        advance(walk, k, (int64_t)walk->index[k]);
    }
}

/* Counts up like an odometer. */
void results_next(struct result_iterator *walk)
{
    const struct axes *axes = walk->axes;
    for (unsigned k = axes->outer; k-- > 0;) {
        if (++walk->index[k] < axes->shape[k]) {
            advance(walk, k, 1);
            return;
        }
        advance(walk, k, 1 - (int64_t)axes->shape[k]);
        walk->index[k] = 0;
    }
}

void results_advance(struct result_iterator *walk, uint64_t count)
{
    const unsigned last = walk->axes->outer - 1;
    walk->index[last] += count - 1;
    advance(walk, last, (int64_t)count - 1);
    results_next(walk);
}

void axes_slice(const struct axes *all, unsigned along, uint64_t outer, uint64_t start,
                uint64_t count, struct axes *part)
{
    struct result_iterator walk;
    uint64_t inner = 1;
    for (unsigned k = along + 1; k < all->outer; k++)
        inner *= all->shape[k];
    results_seek(&walk, all, (outer * all->shape[along] + start) * inner);
    axes_copy(all, part);
    copy_outer(all, along, part);
    results_set_layout(&walk, &part->reduced);
    part->first = walk.place;
    part->results = count * inner;
    part->shape[0] = count;
}

void results_set_layout(const struct result_iterator *walk, struct layout *layout)
{
    const struct layout *first = &walk->axes->reduced;
    layout->data = (const char *)first->data + walk->offset;
    layout->mask = first->mask ? first->mask + walk->mask_offset : NULL;
}
