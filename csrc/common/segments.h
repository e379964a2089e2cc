/* An array's segments, each of which is reduced by itself, as NumPy's reduceat has them. */
#pragma once

#include "common/scalar.h"

struct segments {
    const int64_t *offsets; /* where each begins; in the array's memory */
    uint64_t count;
    uint64_t elements; /* of the array */
    bool may_be_empty; /* else one that does not end after its beginning is one element */
};

struct segment {
    uint64_t start, n;
};

/* Each ends where the next begins, and the last with the array. */
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

/* Whether it can be reduced: it begins in the array, and the next one does or the array ends. */
SCALAR bool segment_is_within(const struct segments *segments, uint64_t k)
{
    const uint64_t end = segments->elements + segments->may_be_empty;
    if ((uint64_t)segments->offsets[k] >= end)
        return false;
    return k + 1 == segments->count || (uint64_t)segments->offsets[k + 1] <= segments->elements;
}
