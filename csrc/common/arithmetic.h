/* Small arithmetic on sizes and positions, which many files need. */
#pragma once

#include <stdint.h>

static inline uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How many parts of `by` hold n; no n overflows. */
static inline uint64_t divide_up(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

/* The smallest exponent of a power of two that is no less than n, or 63. */
static inline unsigned exponent_up(uint64_t n)
{
    unsigned exponent = 0;
    while (exponent < 63 && n > (uint64_t)1 << exponent)
        exponent++;
    return exponent;
}
