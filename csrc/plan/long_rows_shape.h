/* How long rows, of elements of a type that the kernel knows, are shared among a device's threads:
 * a pure function of the axes and the device's size. */
#pragma once

#include "plan/axes_shape.h"

/* What the choice rests on, found by measuring. */
struct long_rows_tuning {
    unsigned elements; /* of a row, at least, */
    unsigned bytes;    /* or so many bytes of it */
    unsigned block;    /* threads, as an exponent */
    unsigned least;    /* of a team, as an exponent */
    unsigned threads;  /* of a multiprocessor, that are enough to be busy with */
    unsigned packs;    /* of a thread, as an exponent, before a team grows */
    unsigned alone;    /* batches of a thread, at most, where one block makes a result */
    unsigned waves;    /* of all blocks that there is room for, that splits may make */
    unsigned rounds;   /* results that a team makes at most */
    unsigned stacked;  /* bytes of a row, at least, of results of several that are whole packs */
    unsigned few;      /* packs of a row that half a team suffices for; six times as many if states
                        * are large, and merging them is dear */
    unsigned words;    /* bytes of a row of 4-byte elements that is rather staged, at most */
};

/* From now on this, for tests; of no threads a block: as measured. */
void long_rows_tuning_force(struct long_rows_tuning);

/* Of elements of which the first result's lie at `data`. False: the rows are too short, or have a
 * mask, or their elements are no neighbours. Otherwise the shape is made, but for what others need.
 */
bool long_rows_shape_make(const struct axes *, const struct axes_kernels *, uintptr_t data,
                          unsigned multiprocessors, struct axes_shape *);

/* Of one result. */
uint64_t long_rows_count(const struct axes *);

/* Of shared memory, for states of so many bytes. */
size_t long_rows_shared_bytes(const struct axes_shape *, size_t state);
