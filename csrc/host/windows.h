/* Floats that are added in windows, wherever these have to be. */
#pragma once

#include "common/exact.h"
#include "common/windows.h"

/* Where a thread's windows are. What it has seen last says where they should be next. */
struct windows {
    enum instructions instructions;
    enum element type; /* of the floats */
    bool leaves_out;   /* NaNs */
    bool products;     /* of two floats are added */
    unsigned least;    /* windows that floats of this type need at all */
    unsigned count;    /* and those that the last ones needed */
    int highest;       /* see common/windows.h */
};

/* What a loop adds to a load. */
enum { WINDOWS_LOAD = 4 * WINDOWS_MOST + WINDOW_LEFT };

void windows_start(struct windows *, enum instructions, enum element type, bool leaves_out);
void windows_start_products(struct windows *, enum instructions, enum element type);

/* Forgets how many windows the last numbers needed. */
void windows_forget(struct windows *);

/* Adds 1 to LOOP_MOST floats that lie one after the other, or their products with `others`, to
 * `even`, or those in odd places to `odd`; needs room for a load of WINDOWS_LOAD in each. Returns
 * whether they could be added so; *numbers: how many are no NaN, where NaNs are left out. */
bool windows_add(struct windows *, const void *floats, const void *others, size_t n,
                 struct exact *even, struct exact *odd, uint64_t *numbers);

/* The whole sum of a few numbers: so many of 2^unit. */
struct windows_total {
    __int128 units;
    int unit;
    uint64_t numbers; /* that took part */
};

/* The sum of 1 to LOOP_MOST floats, where two windows hold it; products are not added. */
bool windows_total(struct windows *, const void *floats, size_t n, struct windows_total *);
