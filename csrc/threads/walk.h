/* A walk through a stretch of a layout, in tiles: parts of its two innermost dimensions, so that
 * short rows do not cost a call each. */
#pragma once

#include "common/cpu_kernels.h"
#include "common/layout.h"

struct walk {
    const struct layout *layout;
    uint64_t left;     /* positions */
    struct tile whole; /* all of the tile that the walk is in */
    uint64_t row, column;
    unsigned outer; /* dimensions outside the tile */
    uint64_t index[DIMENSIONS_MAX];
};

/* From position `start` on; left is set to `length`. */
void walk_start(struct walk *, const struct layout *, uint64_t start, uint64_t length);

/* The next 1 to `most` positions: whole rows, or a part of one. Needs walk->left >= most >= 1. */
struct tile walk_next(struct walk *, uint64_t most);
