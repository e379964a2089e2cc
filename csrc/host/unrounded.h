/* Floats that are added where nothing is rounded. */
#pragma once

#include "common/exact.h"
#include "common/unrounded.h"

/* A thread's loop, and when it is worth a try. */
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

/* As windows_add; false: something would be rounded, or has been lately. */
bool unrounded_add(struct unrounded_floats *, const void *floats, size_t n, struct exact *even,
                   struct exact *odd, uint64_t *numbers);

/* The same of columns: see common/unrounded.h. */
bool unrounded_add_columns(struct unrounded_floats *, const void *floats, size_t n, int64_t stride,
                           size_t columns, double (*sums)[2]);
