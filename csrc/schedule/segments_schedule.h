/* How the reduction of an array's segments is shared among threads of a device: by tiles of
 * elements, or one by one; see kernel_segments. */
#pragma once

#include "schedule/schedule.h"

struct segments_shape {
    unsigned block; /* threads of one, as an exponent: of those that take segments one by one */
    unsigned tile_block; /* and of those that take tiles */
    unsigned team;       /* of a segment, as an exponent */
    bool as_they_lie;    /* tiles have elements as they lie, and not states of one each */
    unsigned alone;      /* elements of a segment that a team takes, or states of one */
    unsigned tile;       /* elements and ends of segments; 0: there are no tiles */
    uint64_t tiles;
    uint64_t grid; /* blocks that take segments one by one */
    size_t shared_bytes, tile_shared_bytes;
};

/* Of so many segments, and elements of bytes each and as a state; `own`: values as they lie. */
void segments_shape_make(uint64_t segments, uint64_t elements, size_t size, size_t state, bool own,
                         unsigned multiprocessors, struct segments_shape *);

struct segments_schedule {
    enum element accumulator; /* the plan's, or one that holds more */
    enum element input;       /* of the elements, as kernels read them */
    const void *tiles, *each;
    struct brought array, offsets; /* in their own order */
    struct segments_shape shape;
    struct arena arena;
};

/* False: there are no kernels for it. */
bool segments_schedule_make(const struct plan *, const struct facts *, struct segments_schedule *);
