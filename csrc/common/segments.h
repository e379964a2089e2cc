/* Segments of an array, each reduced separately, as in NumPy's reduceat. */
#pragma once

#include "common/scalar.h"

struct segments {
    const int64_t *offsets; /* where each segment begins; in the array's memory */
    uint64_t count;
    uint64_t elements; /* of the array */
    bool may_be_empty; /* else a segment whose end is not after its start has one element */
};

struct segment {
    uint64_t start, n;
};

/* A segment ends where the next one begins, the last one at the array's end. */
SCALAR struct segment segment_at(const struct segments *segments, uint64_t k)
{
    const uint64_t start = (uint64_t)segments->offsets[k],
                   end = k + 1 < segments->count ? (uint64_t)segments->offsets[k + 1]
                                                 : segments->elements;
    struct segment segment;
    segment.start = start;
    segment.n = end > start ? end - start : !segments->may_be_empty;
    return segment;
}

/* Whether it is in bounds: it begins in the array, and the next one does or is at its end. */
SCALAR bool segment_is_within(const struct segments *segments, uint64_t k)
{
    const uint64_t end = segments->elements + segments->may_be_empty;
    if ((uint64_t)segments->offsets[k] >= end)
        return false;
    return k + 1 == segments->count || (uint64_t)segments->offsets[k + 1] <= segments->elements;
}
