/* What is not plain memory is first gathered in a small buffer, in this machine's byte
 * order, and then converted from there. */
#define _GNU_SOURCE

#include "threads/gather.h"

#include "common/arithmetic.h"
#include "common/cpu_kernels.h"
#include "threads/shown.h"
#include "threads/walk.h"

#include <endian.h>
#include <string.h>

/* A buffer lies on the stack, which may be a small one. */
enum { BUFFER_BYTES = 4096, ELEMENT_BYTES_MAX = 16 };

/* ---- moving elements, whatever they mean ---- */

static move_tile *mover_of(enum instructions instructions, const struct layout *layout)
{
    const size_t part = layout->swapped ? element_size(element_real_part(layout->input)) : 1;
    return cpu_kernels(instructions)->move(element_size(layout->input), part, layout->mask);
}

/* The walk's next positions, up to `most`, gathered; there must be room for all. Returns
 * how many the mask let through. */
static uint64_t collect(struct walk *walk, move_tile *move, uint64_t most, void *target)
{
    const size_t size = element_size(walk->layout->input);
    uint64_t kept = 0, left = least(most, walk->left);
    while (left) {
        const struct tile tile = walk_next(walk, left);
        kept += move(&tile, (char *)target + kept * size);
        left -= tile.rows * tile.columns;
    }
    return kept;
}

/* Masked elements go through a buffer, so that no byte is written after the last one. */
uint64_t gather_unconverted(enum instructions instructions, const struct layout *layout,
                            uint64_t start, uint64_t length, void *target)
{
    move_tile *const move = mover_of(instructions, layout);
    _Alignas(ELEMENT_BYTES_MAX) char buffer[BUFFER_BYTES];
    const size_t size = element_size(layout->input);
    struct walk walk;
    walk_start(&walk, layout, start, length);
    if (!layout->mask)
        return collect(&walk, move, length, target);
    char *end = target;
    while (walk.left) {
        const size_t bytes = collect(&walk, move, BUFFER_BYTES / size, buffer) * size;
        memcpy(end, buffer, bytes);
        end += bytes;
    }
    return (uint64_t)(end - (char *)target) / size;
}

/* Whether the elements can be read as they lie, aligned or not. */
static bool is_plain(const struct layout *layout)
{
    return !layout->swapped && !layout->mask &&
           (layout->dimensions == 0 ||
            (layout->dimensions == 1 &&
             layout->strides[0] == (int64_t)element_size(layout->input)));
}

/* ---- bits ---- */

static void pack(const unsigned char *bytes, uint64_t n, unsigned char *target)
{
    unsigned char rest[BYTES_AT_ONCE] = {0};
    uint64_t at = 0;
    uint16_t bits;
    for (; n - at >= BYTES_AT_ONCE; at += BYTES_AT_ONCE) {
        bits = htole16(bits_of_bytes(bytes + at));
        memcpy(target + at / MASK_BITS, &bits, sizeof bits);
    }
    memcpy(rest, bytes + at, n - at);
    bits = htole16(bits_of_bytes(rest));
    memcpy(target + at / MASK_BITS, &bits, divide_up(n - at, MASK_BITS));
}

void gather_bits(enum instructions instructions, const struct layout *layout, uint64_t start,
                 uint64_t length, unsigned char *target)
{
    move_tile *const move = mover_of(instructions, layout);
    unsigned char buffer[BUFFER_BYTES];
    struct walk walk;
    if (is_plain(layout)) {
        pack((const unsigned char *)layout->data + start, length, target);
        return;
    }
    walk_start(&walk, layout, start, length);
    for (; walk.left; target += BUFFER_BYTES / MASK_BITS)
        pack(buffer, collect(&walk, move, BUFFER_BYTES, buffer), target);
}

/* ---- conversion ---- */

uint64_t gather(enum instructions instructions, const struct layout *layout, uint64_t start,
                uint64_t length, void *target)
{
    _Alignas(ELEMENT_BYTES_MAX) char buffer[BUFFER_BYTES];
    const enum element accumulator = element_accumulator(layout->type);
    const size_t step = element_size(layout->input), width = element_size(accumulator);
    if (layout->input == layout->type && layout->type == accumulator)
        return gather_unconverted(instructions, layout, start, length, target);
    convert_elements *const convert =
        cpu_kernels(instructions)->convert(layout->input, layout->type);
    move_tile *const move = mover_of(instructions, layout);
    if (is_plain(layout)) {
        convert((const char *)layout->data + start * step, length, target);
        return length;
    }
    uint64_t kept = 0;
    struct walk walk;
    walk_start(&walk, layout, start, length);
    while (walk.left) {
        const uint64_t collected = collect(&walk, move, BUFFER_BYTES / step, buffer);
        convert(buffer, collected, (char *)target + kept * width);
        kept += collected;
    }
    return kept;
}

/* ---- counting ---- */

uint64_t gather_count(const struct layout *layout, uint64_t start, uint64_t length)
{
    if (!layout->mask)
        return length;
    uint64_t count = 0;
    struct walk walk;
    walk_start(&walk, layout, start, length);
    while (walk.left) {
        const struct tile tile = walk_next(&walk, walk.left);
        for (uint64_t row = 0; row < tile.rows; row++)
            count += valid_in_row(tile.mask + (int64_t)row * tile.mask_row_stride,
                                  tile.mask_column_stride, tile.columns);
    }
    return count;
}
