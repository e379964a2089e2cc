/* Random numbers for the shuffled order of blocks and threads: the same seed, the same order. */
#pragma once

#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood 2014). */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Fisher and Yates. */
static inline void random_shuffle(unsigned *items, unsigned count, uint64_t *state)
{
    for (unsigned k = count - 1; k > 0; k--) {
        const unsigned other = (unsigned)(random_next(state) % (k + 1));
        const unsigned swapped = items[k];
        items[k] = items[other];
        items[other] = swapped;
    }
}
