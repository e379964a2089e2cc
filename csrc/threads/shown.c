/* Bytes that are neighbours are counted side by side, in whichever direction they lie; others one
 * after the other, and those that are all results' once. */
#include "threads/shown.h"

#include "common/arithmetic.h"

#include <string.h>

/* As few rows that a byte counts them. */
enum { ROWS = 255, ABREAST = 256 };

static void add_up(const unsigned char *rows, uint64_t n, int64_t stride, uint64_t columns,
                   uint32_t *counts)
{
    unsigned char few[ABREAST] = {0};
    for (uint64_t row = 0; row < n; row++, rows += stride)
        for (uint64_t k = 0; k < columns; k++)
            few[k] += rows[k] != 0;
    for (uint64_t k = 0; k < columns; k++)
        counts[k] += few[k];
}

static void count_columns(const struct shown *self, uint32_t *counts)
{
    memset(counts, 0, self->columns * sizeof *counts);
    for (uint64_t column = 0; column < self->columns; column += ABREAST)
        for (uint64_t row = 0; row < self->rows; row += ROWS)
            add_up(self->mask + (int64_t)row * self->row_stride + column,
                   least(self->rows - row, ROWS), self->row_stride,
                   least(self->columns - column, ABREAST), counts + column);
}

uint64_t valid_in_row(const unsigned char *mask, int64_t stride, uint64_t n)
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

void count_valid(const struct shown *self, uint32_t *counts)
{
    if (self->column_stride == 1) {
        count_columns(self, counts);
        return;
    }
    const uint64_t own = self->column_stride ? self->columns : least(self->columns, 1);
    for (uint64_t column = 0; column < own; column++)
        counts[column] = (uint32_t)valid_in_row(self->mask + (int64_t)column * self->column_stride,
                                                self->row_stride, self->rows);
    for (uint64_t column = own; column < self->columns; column++)
        counts[column] = counts[0];
}
