/* Small arithmetic on sizes and positions. */
#pragma once

#include <stdint.h>

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* n / by, rounded up; does not overflow. */
static inline uint64_t ceil_div(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

/* ceil(log2(n)), at most 63. */
static inline unsigned ceil_log2(uint64_t n)
{
    unsigned exponent = 0;
    while (exponent < 63 && n > (uint64_t)1 << exponent)
        exponent++;
    return exponent;
}
