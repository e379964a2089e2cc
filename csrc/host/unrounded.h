/* Floats that are added where nothing is rounded. */
#pragma once

#include "common/exact.h"
#include "common/unrounded.h"

/* Whether the processor's flag tells of rounding; that of an emulator such as Valgrind may not. */
bool unrounded_is_told(enum instructions);

/* A thread's loop, and when it is worth a try; of zeros: never. */
struct unrounded_floats {
    unrounded_values *loop;
    unrounded_columns *columns;
    unsigned parts;    /* of its sums */
    bool leaves_out;   /* NaNs */
    unsigned failures; /* in a row */
    unsigned waits;    /* for so many more loads */
};

void unrounded_start(struct unrounded_floats *, enum instructions, enum element type,
                     bool leaves_out);

/* Whether the next load is worth a try. To ask is to let one of those pass that are to be waited
 * for. */
bool unrounded_is_due(struct unrounded_floats *);

/* As windows_add; false: something would be rounded, or has been lately. */
bool unrounded_add(struct unrounded_floats *, const void *floats, size_t n, struct exact *even,
                   struct exact *odd, uint64_t *numbers);

/* Columns that are due: see common/unrounded.h. */
bool unrounded_add_columns(struct unrounded_floats *, const void *floats, size_t n, int64_t stride,
                           size_t columns, double (*sums)[2]);
