/* A large superaccumulator: a sum of significands for each sign and exponent, to which a float
 * takes one addition wherever it lies (R. M. Neal, "Fast exact summation using small and large
 * superaccumulators", 2015). For floats too far apart for windows. */
#pragma once

#include "common/exact.h"
#include "common/processor.h"

enum {
    LARGE_SUM_PLACES = 1 << 12,
    LARGE_SUM_MOST = 1 << 12,
    LARGE_SUM = 1 << 14 /* elements that are worth one a thread */
};

struct large_sum {
    uint64_t bits[LARGE_SUM_PLACES];      /* sums of floats' bits, their exponents included */
    uint16_t additions[LARGE_SUM_PLACES]; /* at most LARGE_SUM_MOST */
};

/* A thread's, beside its windows. */
struct beside_windows {
    struct large_sum *large; /* NULL: none yet */
    bool long_enough;        /* the whole sum is, for one */
    unsigned failures;       /* of windows, in a row, beside a large sum, which */
    unsigned waits;          /* has so many more loads to itself */
};

/* Whether windows are worth a try of the next load: each time they have failed beside a large sum,
 * twice as many loads are not. */
bool windows_are_due(struct beside_windows *);
void windows_held(struct beside_windows *);

/* The large sum; NULL where the whole sum is short, or memory is. */
struct large_sum *large_sum_of(struct beside_windows *);

/* Adds floats of a real type, of 4 or 8 bytes, that lie one after the other. What is not finite
 * goes to `sum`, but for NaN that is to be left out. Returns how many took part. Makes room in
 * `sum` for what it hands over. */
uint64_t large_sum_add(struct large_sum *, const void *floats, size_t n, enum element type,
                       bool leaves_out, struct exact *sum);

/* Adds products of such floats. What is lost when one is rounded is a float, and is added, too
 * (T. J. Dekker, "A floating-point technique for extending the available precision", 1971), by
 * processors that fuse multiplication and addition; those of others, and of floats so large or so
 * small that a product or what it loses is none, go to `sum`. */
void large_sum_add_products(struct large_sum *, const void *a, const void *b, size_t n,
                            enum element type, enum instructions, struct exact *sum);

/* Hands all that there is over to `sum`. */
void large_sum_end(struct beside_windows *, struct exact *sum);
