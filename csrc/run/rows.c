#include "run/rows.h"

#include "common/arithmetic.h"

enum { LANES_MAX = 5, WINDOWS_A_STRETCH = 2, LOAD_BYTES = 4 }; /* exponents */

static unsigned exponent_of(uint64_t power_of_two)
{
    return (unsigned)__builtin_ctzll(power_of_two);
}

/* A group has no more threads than a row keeps busy. */
static unsigned lanes_for(uint64_t length, unsigned slots)
{
    unsigned lanes = 0;
    while (lanes < LANES_MAX && length >> (lanes + slots))
        lanes++;
    return lanes;
}

/* Slots that are words take several narrow elements. */
static unsigned packing_for(size_t size, size_t slot)
{
    return slot <= sizeof(uint64_t) ? exponent_of(slot / size) : 0;
}

struct kernel_rows rows_of(const struct layout *layout, uint64_t base, enum element accumulator)
{
    const unsigned inner = layout->dimensions - 1;
    const uint64_t length = layout->shape[inner];
    const size_t size = element_size(layout->input);
    const unsigned slots = exponent_of(SLOTS_BYTES / element_size(accumulator));
    struct kernel_rows rows = {.from = *layout, .base = base, .bytes = exponent_of(size)};
    if (layout->strides[inner] == (int64_t)size) {
        rows.run = (unsigned)least(LOAD_BYTES - rows.bytes, slots);
        rows.packing = packing_for(size, element_size(accumulator));
    }
    rows.lanes = lanes_for(length - 1, slots);
    rows.stretch = slots + rows.lanes + rows.packing + WINDOWS_A_STRETCH;
    rows.aligns = rows.run && length >> (slots + rows.lanes);
    const uint64_t lead = rows.aligns ? ((1u << LOAD_BYTES) >> rows.bytes) - 1 : 0;
    rows.stretches = divide_up(length + lead, (uint64_t)1 << rows.stretch);
    rows.items = layout_length(layout) / length * rows.stretches;
    return rows;
}
