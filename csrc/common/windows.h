/* Loops that add floats exactly while they lie within windows: in float64s, in vector registers.
 *
 * An accumulator that is kept near 1.5 * 2^k holds only multiples of 2^(k - 52), so that what it
 * takes of a float when that is added to it is the float's upper part, rounded, and what is left of
 * the float is a float, too: no bit is lost (S. M. Rump, T. Ogita, S. Oishi, "Accurate
 * floating-point summation part I", SIAM J. Sci. Comput. 31, 2008; W. Ahrens, J. Demmel,
 * H. D. Nguyen, "Algorithms for efficient reproducible floating point summation", ACM Trans. Math.
 * Softw. 46, 2020). What is left goes to the next window, and what the last one leaves is handed
 * out. Where that is much, the numbers did not fit, and somebody else has to add them.
 *
 * Why no accumulator rounds. One lane takes at most 2^9 numbers, WINDOW_LANES lanes being the
 * fewest. Where none is more than 2^e in magnitude, and k = e + 10, the upper parts are not either,
 * since 2^e is a multiple of the unit; so their sum is at most 2^(k - 1), and the accumulator stays
 * between 2^k and 2^(k + 1), where its unit is 2^(k - 52) = 2^(e - 42). What is left is at most
 * half a unit, 2^(e - 43): the e of the next window. A loop's sum, less than 2^51 units a lane of
 * at most 2^6, is an integer of 64 bits. */
#pragma once

#include "common/reduction.h"

enum {
    WINDOWS_MOST = 3,
    WINDOW_STEP = 43, /* exponents between a window's largest number and the next one's */
    WINDOW_UNIT = 42, /* and between it and the unit of its sum */
    WINDOW_HEAD = 10, /* and between the accumulator and it */
    WINDOW_LANES = LOOP_MOST >> (WINDOW_HEAD - 1),
    WINDOW_LEFT = 256, /* numbers, most of them 0, that a loop hands out */
    /* The largest number of the first window, as an exponent: all accumulators are normal. */
    WINDOW_HIGHEST = 1023 - WINDOW_HEAD,
    WINDOW_LOWEST = -1022 - WINDOW_HEAD + (WINDOWS_MOST - 1) * WINDOW_STEP,
    /* Of a product, what is lost when it is rounded; and the smallest of which that is a float. */
    WINDOW_LOST = 53,
    WINDOW_LEAST_PRODUCT = -960
};

/* What a loop makes of numbers. */
struct windowed {
    int64_t sums[WINDOWS_MOST][2]; /* of those in even places, and in odd ones, in units */
    int64_t lost[WINDOWS_MOST][2]; /* the same of what products have lost */
    double greatest;  /* of their magnitudes, or NaN; must be none beyond the first window */
    bool too_small;   /* a product is, to know what it has lost */
    uint64_t numbers; /* that are not NaN, where those are left out */
    bool whole;       /* all that the windows have left is here: */
    unsigned lefts;
    double left[WINDOW_LEFT]; /* of those in even places, and in odd ones, in turn */
};

/* Adds 1 to LOOP_MOST floats that lie one after the other, the first window being for magnitudes up
 * to 2^highest. Arithmetic has to round to nearest, and to keep subnormal numbers. */
typedef void window_values(const void *floats, size_t n, int highest, struct windowed *);

/* Adds the products of 1 to LOOP_MOST pairs of floats. A product of float64s is rounded, and what
 * it loses is a float64 (T. J. Dekker, "A floating-point technique for extending the available
 * precision", Numer. Math. 18, 1971), unless the product is too small: of magnitudes up to
 * 2^(highest - WINDOW_LOST), and so it has windows of its own. Narrower floats' products are
 * float64s. */
typedef void window_products(const void *a, const void *b, size_t n, int highest,
                             struct windowed *);

/* ---- plain sums ---- */

/* Loops that just add floats, in float64s, and then ask the processor whether it has rounded: the
 * exception "inexact" of IEEE 754 is a flag that every operation that rounds sets, in vector
 * registers too, and that stays set until it is cleared. Where it is not set, all sums are exact.
 * Numbers that are near each other in magnitude, and not too many, leave it alone: float64s too,
 * once they are cut in two (W. Kahan's and T. J. Dekker's "head" and "tail"), so that each half has
 * half of an accumulator's bits to spare. */
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
