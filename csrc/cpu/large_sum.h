/* A large superaccumulator: a sum of significands for each sign and exponent, to which a float
 * takes one addition wherever it lies (R. M. Neal, "Fast exact summation using small and large
 * superaccumulators", 2015). For floats too far apart for windows. */
#pragma once

#include "common/exact.h"

enum { LARGE_SUM_PLACES = 1 << 12, LARGE_SUM_MOST = 1 << 12 };

struct large_sum {
    uint64_t bits[LARGE_SUM_PLACES];      /* sums of floats' bits, their exponents included */
    uint16_t additions[LARGE_SUM_PLACES]; /* at most LARGE_SUM_MOST */
};

/* Without a number yet; NULL where memory is short. */
struct large_sum *large_sum_new(void);

/* Adds floats of a real type, of 4 or 8 bytes, that lie one after the other. What is not finite
 * goes to `sum`, but for NaN that is to be left out. Returns how many took part. Makes room in
 * `sum` for what it hands over. */
uint64_t large_sum_add(struct large_sum *, const void *floats, size_t n, enum element type,
                       bool leaves_out, struct exact *sum);

/* Hands all that there is over to `sum`; may be NULL, and is gone then. */
void large_sum_end(struct large_sum *, struct exact *sum);
