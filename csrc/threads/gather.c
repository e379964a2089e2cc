/* Elements that are not plain memory are first gathered in a small buffer, in native byte order,
 * and converted from there. */
#define _GNU_SOURCE

#include "threads/gather.h"

#include "common/arithmetic.h"

#include <string.h>

/* On the stack, which may be small. */
enum { BUFFER_BYTES = 4096, ELEMENT_BYTES_MAX = 16 };

/* ---- the walk ---- */

/* The tile that contains the layout's first element. */
static struct tile first_tile(const struct layout *layout)
{
    const unsigned dimensions = layout->dimensions;
    struct tile tile = {.at = layout->data, .mask = layout->mask, .rows = 1, .columns = 1};
    if (dimensions > 0) {
        tile.columns = layout->shape[dimensions - 1];
        tile.column_stride = layout->strides[dimensions - 1];
        tile.mask_column_stride = layout->mask_strides[dimensions - 1];
    }
    if (dimensions > 1) {
        tile.rows = layout->shape[dimensions - 2];
        tile.row_stride = layout->strides[dimensions - 2];
        tile.mask_row_stride = layout->mask_strides[dimensions - 2];
    }
    return tile;
}

/* Moves the walk's tile by `steps` along an outer dimension. */
static void shift_tile(struct walk *walk, unsigned k, int64_t steps)
{
    walk->whole.at += steps * walk->layout->strides[k];
    if (walk->whole.mask)
        walk->whole.mask += steps * walk->layout->mask_strides[k];
}

void walk_start(struct walk *walk, const struct layout *layout, uint64_t start, uint64_t length)
{
    walk->layout = layout;
    walk->left = length;
    if (length == 0)
        return;
    walk->whole = first_tile(layout);
    walk->outer = layout->dimensions > 2 ? layout->dimensions - 2 : 0;
    walk->column = start % walk->whole.columns;
    start /= walk->whole.columns;
    walk->row = start % walk->whole.rows;
    start /= walk->whole.rows;
    for (unsigned k = walk->outer; k-- > 0; start /= layout->shape[k]) {
        walk->index[k] = start % layout->shape[k];
        shift_tile(walk, k, (int64_t)walk->index[k]);
    }
}

/* Advances to the next tile, like an odometer. */
static void enter_next_tile(struct walk *walk)
{
    walk->row = 0;
    for (unsigned k = walk->outer; k-- > 0;) {
        if (++walk->index[k] < walk->layout->shape[k]) {
            shift_tile(walk, k, 1);
            return;
        }
        shift_tile(walk, k, 1 - (int64_t)walk->layout->shape[k]);
        walk->index[k] = 0;
    }
}

struct tile walk_next(struct walk *walk, uint64_t most)
{
    const uint64_t columns = walk->whole.columns;
    if (walk->row == walk->whole.rows)
        enter_next_tile(walk);
    const int64_t row = (int64_t)walk->row, column = (int64_t)walk->column;
    struct tile part = walk->whole;
    part.at += row * part.row_stride + column * part.column_stride;
    if (part.mask)
        part.mask += row * part.mask_row_stride + column * part.mask_column_stride;
    if (walk->column || most < columns) {
        part.rows = 1;
        part.columns = min_u64(columns - walk->column, most);
    } else {
        part.rows = min_u64(part.rows - walk->row, most / columns);
    }
    walk->left -= part.rows * part.columns;
    walk->column += part.columns;
    if (walk->column == columns) {
        walk->column = 0;
        walk->row += part.rows;
    }
    return part;
}

/* ---- moving elements, whatever their type ---- */

move_tile *gather_mover(enum instructions instructions, const struct layout *layout, bool masked)
{
    const size_t part = layout->swapped ? element_size(element_real_part(layout->input)) : 1;
    return cpu_kernels(instructions)->move(element_size(layout->input), part, masked);
}

void tile_writer_write(const struct tile_writer *self, const struct tile *tile, char *target)
{
    if (!self->transpose) {
        self->move(tile, target);
        return;
    }
    const char *const end = tile->at + ((int64_t)tile->columns - 1) * tile->column_stride +
                            (int64_t)tile->rows * tile->row_stride;
    self->transpose(tile, self->end ? self->end : end, target);
}

/* Gathers the walk's next `most` positions, for all of which there must be room. Returns the number
 * of unmasked elements. */
static uint64_t gather_next(struct walk *walk, move_tile *move, uint64_t most, void *target)
{
    const size_t size = element_size(walk->layout->input);
    uint64_t valid = 0, left = min_u64(most, walk->left);
    while (left) {
        const struct tile tile = walk_next(walk, left);
        valid += move(&tile, (char *)target + valid * size);
        left -= tile.rows * tile.columns;
    }
    return valid;
}

/* Gathers the rest of the walk through a buffer, so that no byte after the last element is written.
 * Elements are converted, to `width` bytes each, if `convert` is not NULL. */
static uint64_t collect_buffered(struct walk *walk, move_tile *move, convert_elements *convert,
                                 size_t width, char *target)
{
    _Alignas(ELEMENT_BYTES_MAX) char buffer[BUFFER_BYTES];
    const uint64_t most = BUFFER_BYTES / element_size(walk->layout->input);
    uint64_t valid = 0;
    for (uint64_t n; walk->left; valid += n) {
        n = gather_next(walk, move, most, buffer);
        if (convert)
            convert(buffer, n, target + valid * width);
        else
            memcpy(target + valid * width, buffer, n * width);
    }
    return valid;
}

uint64_t gather_unconverted(enum instructions instructions, const struct layout *layout,
                            uint64_t start, uint64_t length, void *target)
{
    move_tile *const move = gather_mover(instructions, layout, layout->mask);
    struct walk walk;
    walk_start(&walk, layout, start, length);
    return layout->mask ? collect_buffered(&walk, move, NULL, element_size(layout->input), target)
                        : gather_next(&walk, move, length, target);
}

/* Whether the elements can be read in place, aligned or not. */
static bool is_plain(const struct layout *layout)
{
    return !layout->swapped && !layout->mask &&
           (layout->dimensions == 0 ||
            (layout->dimensions == 1 &&
             layout->strides[0] == (int64_t)element_size(layout->input)));
}

/* ---- conversion ---- */

uint64_t gather(enum instructions instructions, const struct layout *layout, uint64_t start,
                uint64_t length, void *target)
{
    const enum element accumulator = element_accumulator(layout->type);
    struct walk walk;
    if (layout->input == layout->type && layout->type == accumulator)
        return gather_unconverted(instructions, layout, start, length, target);
    convert_elements *const convert =
        cpu_kernels(instructions)->convert(layout->input, layout->type);
    if (is_plain(layout)) {
        convert((const char *)layout->data + start * element_size(layout->input), length, target);
        return length;
    }
    walk_start(&walk, layout, start, length);
    return collect_buffered(&walk, gather_mover(instructions, layout, layout->mask), convert,
                            element_size(accumulator), target);
}

/* ---- counting ---- */

static uint64_t valid_in_row(const unsigned char *mask, int64_t stride, uint64_t n)
{
    uint64_t count = 0;
    if (stride == 1)
        for (uint64_t k = 0; k < n; k++)
            count += mask[k] != 0;
    else
        for (uint64_t k = 0; k < n; k++)
            count += mask[(int64_t)k * stride] != 0;
    return count;
}

/* Adjacent mask bytes are counted side by side, a few rows at a time in bytes. */
static void count_adjacent(const struct tile *self, uint32_t *counts)
{
    enum { ROWS = 255, COLUMNS = 256 };
    for (uint64_t column = 0, columns; column < self->columns; column += columns) {
        columns = min_u64(self->columns - column, COLUMNS);
        memset(counts + column, 0, columns * sizeof *counts);
        for (uint64_t row = 0, end; row < self->rows; row = end) {
            unsigned char few[COLUMNS] = {0};
            for (end = min_u64(row + ROWS, self->rows); row < end; row++)
                for (uint64_t k = 0; k < columns; k++)
                    few[k] +=
                        self->mask[(int64_t)row * self->mask_row_stride + (int64_t)(column + k)] !=
                        0;
            for (uint64_t k = 0; k < columns; k++)
                counts[column + k] += few[k];
        }
    }
}

void gather_count_columns(const struct tile *self, uint32_t *counts)
{
    if (self->mask_column_stride == 1)
        return count_adjacent(self, counts);
    for (uint64_t column = 0; column < self->columns; column++)
        counts[column] =
            (uint32_t)valid_in_row(self->mask + (int64_t)column * self->mask_column_stride,
                                   self->mask_row_stride, self->rows);
}

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
