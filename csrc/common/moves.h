/* Elements on their way into a buffer: the loops that kernels/cpu/ has for what gather.c walks. */
#pragma once

#include "common/element.h"

#include <stdbool.h>
#include <stddef.h>

/* Rows of elements at equal distances. */
struct tile {
    const char *at;
    const unsigned char *mask; /* NULL: all elements take part */
    uint64_t rows, columns;
    int64_t row_stride, column_stride, mask_row_stride, mask_column_stride;
};

/* Writes a tile's elements one after the other, in this machine's byte order, and returns how many;
 * with a mask, there must be room for all of the tile. */
typedef uint64_t move_tile(const struct tile *, char *target);

/* Converts n elements that lie one after the other, of any alignment, at a distance from where they
 * go. */
typedef void convert_elements(const char *from, uint64_t n, char *to);
