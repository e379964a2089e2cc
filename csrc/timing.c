#define _GNU_SOURCE

#include "timing.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

double timing_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The sample that as many others exceed as not: few samples, so counting is enough. */
double timing_median(const struct timing *timing)
{
    for (unsigned k = 0; k < timing->samples; k++) {
        unsigned below = 0, same = 0;
        for (unsigned other = 0; other < timing->samples; other++) {
            below += timing->seconds[other] < timing->seconds[k];
            same += timing->seconds[other] == timing->seconds[k];
        }
        if (below <= timing->samples / 2 && timing->samples / 2 < below + same)
            return timing->seconds[k];
    }
    return timing->seconds[0];
}

/* xorshift64* (Vigna 2016). */
void timing_random(void *memory, size_t bytes)
{
    uint64_t state = 0x9e3779b97f4a7c15;
    for (size_t at = 0; at < bytes; at += sizeof state) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        const uint64_t word = state * 0x2545f4914f6cdd1d;
        memcpy((char *)memory + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
    }
}
