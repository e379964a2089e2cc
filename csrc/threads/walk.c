#include "threads/walk.h"

#include "common/arithmetic.h"

/* The tile at the layout's first element. */
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

/* To the next tile, like an odometer. */
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

static struct tile part_at(const struct walk *walk)
{
    const int64_t row = (int64_t)walk->row, column = (int64_t)walk->column;
    struct tile part = walk->whole;
    part.at += row * part.row_stride + column * part.column_stride;
    if (part.mask)
        part.mask += row * part.mask_row_stride + column * part.mask_column_stride;
    return part;
}

struct tile walk_next(struct walk *walk, uint64_t most)
{
    const uint64_t columns = walk->whole.columns;
    if (walk->row == walk->whole.rows)
        enter_next_tile(walk);
    struct tile part = part_at(walk);
    if (walk->column || most < columns) {
        part.rows = 1;
        part.columns = least(columns - walk->column, most);
    } else {
        part.rows = least(part.rows - walk->row, most / columns);
    }
    walk->left -= part.rows * part.columns;
    walk->column += part.columns;
    if (walk->column == columns) {
        walk->column = 0;
        walk->row += part.rows;
    }
    return part;
}
