/* Elements of a layout, gathered in memory: the host's loops fold what is gathered here,
 * and copies to a device begin here. Positions count the elements as a normalised layout walks
 * them, masked or not; any stretch can be gathered by itself, so threads can share the work. */
#pragma once

#include "common/cpu_kernels.h"
#include "common/layout.h"
#include "common/processor.h"

/* Elements `start` to `start + length`, those that the mask lets through, converted to layout->type
 * and widened to its accumulator, at `target`. Returns how many there were. */
uint64_t gather(enum instructions, const struct layout *, uint64_t start, uint64_t length,
                void *target);

/* The same in the elements' own type, in this machine's byte order. */
uint64_t gather_unconverted(enum instructions, const struct layout *, uint64_t start,
                            uint64_t length, void *target);

/* The same of bools without a mask, MASK_BITS a byte, the lowest bit first; the last byte is filled
 * up with zeros. */
uint64_t gather_bits(enum instructions, const struct layout *, uint64_t start, uint64_t length,
                     void *target);

/* What gathers tiles of the layout's elements, all of them or those that a mask shows. */
move_tile *gather_mover(enum instructions, const struct layout *, bool masked);

/* What writes a tile's elements one after the other: moved, or transposed, where those of a column
 * lie closer than those of a row. */
struct bringer {
    move_tile *move;
    transpose_rows *transpose; /* NULL: they are moved */
    const char *end;           /* see struct transposition; NULL: where the tile's last row ends */
};

void bringer_bring(const struct bringer *, const struct tile *, char *target);

/* How many elements of a stretch the mask lets through. */
uint64_t gather_count(const struct layout *, uint64_t start, uint64_t length);

/* The same of a tile of the mask's bytes, of each column: no more than 32 bits hold. */
void gather_count_columns(const struct tile *, uint32_t *counts);

/* A walk through a stretch of a layout, in tiles: parts of its two innermost dimensions, so that
 * short rows do not cost a call each. */
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
