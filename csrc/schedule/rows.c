#include "schedule/rows.h"

#include "common/arithmetic.h"

enum { LANES_MAX = 5, WINDOWS_A_STRETCH = 2, LOAD_BYTES = 4 }; /* exponents */

static unsigned exponent_of(uint64_t power_of_two)
{
    return (unsigned)__builtin_ctzll(power_of_two);
}

static unsigned slots_for(enum element accumulator)
{
    return exponent_of(SLOTS_BYTES / element_size(accumulator));
}

unsigned rows_lanes(uint64_t length, enum element accumulator)
{
    const unsigned slots = slots_for(accumulator);
    unsigned lanes = 0;
    while (lanes < LANES_MAX && (length - 1) >> (lanes + slots))
        lanes++;
    return lanes;
}

/* Slots that are words take several narrow elements. */
static unsigned packing_for(size_t size, size_t slot)
{
    return size <= slot && slot <= sizeof(uint64_t) ? exponent_of(slot / size) : 0;
}

void rows_in_lanes(const struct layout *layout, uint64_t base, enum element accumulator,
                   unsigned lanes, unsigned windows, struct kernel_stretches *rows)
{
    const unsigned inner = layout->dimensions - 1, slots = slots_for(accumulator);
    const uint64_t length = layout->shape[inner];
    const size_t size = element_size(layout->input);
    rows->base = base;
    rows->bytes = exponent_of(size);
    rows->lanes = lanes;
    rows->run = rows->packing = 0;
    if (layout->strides[inner] == (int64_t)size) {
        rows->run = (unsigned)least(LOAD_BYTES - rows->bytes, slots);
        rows->packing = packing_for(size, element_size(accumulator));
    }
    rows->stretch = slots + lanes + rows->packing + windows;
    rows->aligns = rows->run && length >> (slots + lanes);
    const uint64_t lead = rows->aligns ? ((1u << LOAD_BYTES) >> rows->bytes) - 1 : 0;
    rows->stretches = divide_up(length + lead, (uint64_t)1 << rows->stretch);
    rows->items = layout_length(layout) / length * rows->stretches;
    rows->counted = NULL;
}

void rows_describe(struct kernel_rows *rows, uint64_t base, enum element accumulator)
{
    const uint64_t length = rows->from.shape[rows->from.dimensions - 1];
    rows_in_lanes(&rows->from, base, accumulator, rows_lanes(length, accumulator),
                  WINDOWS_A_STRETCH, &rows->how);
}

/* ---- along axes ---- */

/* A single dimension stands for none, and nothing has one row of no items. */
static void any_rows(const struct launch_config *self, const struct axes *axes,
                     enum element accumulator, struct kernel_rows *rows)
{
    struct layout *from = &rows->from;
    layout_copy(&axes->reduced, from);
    if (from->dimensions == 0) {
        from->dimensions = 1;
        from->shape[0] = 1;
        from->strides[0] = (int64_t)element_size(from->input);
        from->mask_strides[0] = 1;
    }
    if (layout_length(from) > 0)
        rows_in_lanes(from, 0, accumulator, self->lanes, self->windows, &rows->how);
    else
        rows->how = (struct kernel_stretches){.items = 0};
}

/* The items of columns are rows, less a dimension of neighbours; those of long rows are rows. */
void launch_rows(const struct launch_config *self, const struct axes *axes,
                 enum element accumulator, struct kernel_rows *rows)
{
    const struct column_tile *column = &self->column;
    const uint64_t n = layout_length(&axes->reduced);
    any_rows(self, axes, accumulator, rows);
    switch (self->kernel) {
    case KERNEL_COLUMNS:
    case KERNEL_TYPED_COLUMNS:
    case KERNEL_UNSPLIT_COLUMNS:
        rows->how.items = column->unread ? 0 : n / self->inner / column->coalesced;
        rows->from.strides[0] *= column->coalesced;
        rows->from.dimensions -= self->inner > 1;
        break;
    case KERNEL_TYPED_ROWS:
        rows->how.items = n / rows->from.shape[rows->from.dimensions - 1];
        break;
    default:
        break;
    }
}
