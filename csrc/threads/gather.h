/* Gathers elements of a layout into contiguous memory, for the host's loops and for uploads.
 * Positions count the elements in the order of a normalized layout, including masked ones.
 * Stretches are independent, so threads can share the work. */
#pragma once

#include "common/cpu_kernels.h"
#include "common/layout.h"
#include "common/processor.h"

/* Gathers the unmasked elements at positions [start, start + length), converted to layout->type and
 * widened to its accumulator. Returns their number. */
uint64_t gather(enum instructions, const struct layout *, uint64_t start, uint64_t length,
                void *target);

/* The same in the elements' own type and native byte order. */
uint64_t gather_unconverted(enum instructions, const struct layout *, uint64_t start,
                            uint64_t length, void *target);

/* Returns the function that gathers tiles of the layout, all elements or only unmasked ones. */
move_tile *gather_mover(enum instructions, const struct layout *, bool masked);

/* Writes a tile's elements contiguously: moved, or transposed if the elements of a column are
 * closer together than those of a row. */
struct tile_writer {
    move_tile *move;
    transpose_tile *transpose; /* NULL: moved */
    const char *end;           /* of readable memory; NULL: the end of the tile's last column */
};

void tile_writer_write(const struct tile_writer *, const struct tile *, char *target);

/* Number of unmasked elements of a stretch. */
uint64_t gather_count(const struct layout *, uint64_t start, uint64_t length);

/* The same for each column of a tile, which may have at most UINT32_MAX rows. */
void gather_count_columns(const struct tile *, uint32_t *counts);

/* Iterates over a stretch of a layout in tiles, parts of its two innermost dimensions, so that
 * short rows do not cost a call each. */
struct walk {
    const struct layout *layout;
    uint64_t left;     /* positions */
    struct tile whole; /* the complete current tile */
    uint64_t row, column;
    unsigned outer; /* number of dimensions outside the tile */
    uint64_t index[DIMENSIONS_MAX];
};

/* Starts at position `start`; left is set to `length`. */
void walk_start(struct walk *, const struct layout *, uint64_t start, uint64_t length);

/* Returns the next 1 to `most` positions: whole rows, or a part of one. Requires walk->left >= most
 * >= 1. */
struct tile walk_next(struct walk *, uint64_t most);
