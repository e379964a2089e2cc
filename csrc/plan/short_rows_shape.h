/* How short rows are shared among threads, where a kernel knows their elements' type: a pure
 * function of the axes, where they lie and the device's size. */
#pragma once

#include "plan/axes_shape.h"

/* What the choice rests on, found by measuring. */
struct short_rows_tuning {
    unsigned several; /* threads of a block that loads several rows at once, as an exponent; 0: no
                       * block does */
    unsigned staging; /* threads of a block that brings rows to shared memory, as an exponent, */
    unsigned staged;  /* and bytes of such rows, at most */
    bool turns;       /* packs of such rows; see kernel_axes */
    unsigned threads; /* of a multiprocessor, that are enough to be busy with */
    unsigned longest; /* bytes of a row */
};

/* From now on this, for tests; of no threads that stage: as measured. */
void short_rows_tuning_force(struct short_rows_tuning);

/* Of elements that lie at `data`. False: rows are too long or empty, have a mask, or lie among
 * each other or at several distances. Otherwise the shape is made. */
bool short_rows_shape_make(const struct axes *, uintptr_t data, unsigned multiprocessors,
                           struct axes_shape *);

/* Of shared memory. */
size_t short_rows_shared_bytes(const struct axes_shape *);
