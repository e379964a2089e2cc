/* How many elements a mask shows. */
#pragma once

#include <stdint.h>

/* A mask's bytes: of results that lie side by side, so many elements each. */
struct shown {
    const unsigned char *mask;
    uint64_t rows, columns;
    int64_t row_stride, column_stride;
};

/* Of each result: no more than 32 bits hold. */
void count_valid(const struct shown *, uint32_t *counts);

/* Of n bytes, `stride` apart. */
uint64_t valid_in_row(const unsigned char *mask, int64_t stride, uint64_t n);
