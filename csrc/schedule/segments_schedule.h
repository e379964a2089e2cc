/* The schedule of a reduction of segments on a device: the array is cut into tiles of elements, or
 * segments are reduced one by one; see kernel_segments. */
#pragma once

#include "schedule/schedule.h"

struct segments_shape {
    unsigned block;         /* log2 of the threads per block, for segments reduced one by one */
    unsigned tile_block;    /* log2 of the threads per block, for tiles */
    unsigned team;          /* log2 of the threads per segment */
    bool reads_unconverted; /* tiles hold elements rather than one state per element */
    unsigned alone;         /* maximum elements, or states, of a segment that one team reduces */
    unsigned tile;          /* elements and segment ends per tile; 0: there are no tiles */
    uint64_t tiles;
    uint64_t grid; /* blocks that reduce segments one by one */
    size_t shared_bytes, tile_shared_bytes;
};

/* `size` and `state`: bytes of an element and of a state. */
void segments_shape_make(uint64_t segments, uint64_t elements, size_t size, size_t state,
                         bool reads_unconverted, unsigned multiprocessors, struct segments_shape *);

struct segments_schedule {
    enum element accumulator; /* the plan's, or a wider one */
    enum element input;       /* type of the elements as kernels read them */
    const void *tiles, *each;
    struct transfer array, offsets; /* in their own order */
    struct segments_shape shape;
    struct arena arena;
};

/* False if there are no kernels for the plan. */
bool segments_schedule_make(const struct plan *, const struct facts *, struct segments_schedule *);
