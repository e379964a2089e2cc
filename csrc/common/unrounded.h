/* Loops that just add floats, in float64s, and then ask the processor whether it has rounded: the
 * exception "inexact" of IEEE 754 is a flag that is set by every operation that rounds, in vector
 * registers too, and that stays set until it is cleared. Where it is not set, all sums are exact,
 * and cost no more than sums that are not. Numbers that are near each other in magnitude, and not
 * too many, leave it alone: float64s too, once they are cut in two (W. Kahan's and T. J. Dekker's
 * "head" and "tail"), so that each half has half of an accumulator's bits to spare. */
#pragma once

#include "common/reduction.h"

/* What a loop makes of floats. */
struct unrounded {
    double sums[2][2]; /* of a float64's heads and tails, or of all of a narrower type, and then
                          nothing: of those in even places, and in odd ones */
    uint64_t numbers;  /* that are not NaN, where those are left out */
};

/* Adds 1 to LOOP_MOST floats that lie one after the other, and returns whether nothing was rounded
 * and all is finite. Arithmetic has to keep subnormal numbers, and to trap nothing. */
typedef bool unrounded_values(const void *floats, size_t n, struct unrounded *);

/* So many sums side by side: the floats of each lie `stride` bytes apart, its neighbour's beside
 * them. sums: of each, heads and tails. */
enum { UNROUNDED_COLUMNS = 32, /* and multiples of that */ UNROUNDED_COLUMNS_MOST = 256 };
typedef bool unrounded_columns(const void *floats, size_t n, int64_t stride, size_t columns,
                               double (*sums)[2]);
