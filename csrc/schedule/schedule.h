/* The schedule: all that a plan's run on a device will do, as data. It is made by a pure function
 * of the plan and of facts about the device, so that it can be tested and shown without one;
 * backends only carry it out. */
#pragma once

#include "common/failure.h"
#include "schedule/steps.h"

/* What a schedule depends on, besides the plan. */
struct facts {
    const struct kernels *kernels;
    unsigned multiprocessors;
    int capability; /* of a GPU, 90 for 9.0; 0: not a GPU, and none of its limits */
    uint64_t limit; /* bytes of memory that the run may work in */
    bool whole;     /* the array may not be taken in pieces, whatever the limit */

    /* How many blocks of a kernel a multiprocessor holds at a time; asked only where the grid
     * depends on it. False where the device cannot tell. */
    bool (*resident)(void *device, const void *kernel, unsigned block, size_t shared_bytes,
                     unsigned *blocks);
    void *device;
};

/* However low the limit, a piece has so many elements, if the array does. */
enum { LEAST_PIECE = 1 << 12 };

/* However much memory there is, a host's array is brought in pieces of so many bytes: one is on its
 * way while the one before is reduced. */
enum { UPLOADED_BYTES = 16 << 20 };

struct schedule {
    struct course course;
    uint64_t pieces, piece; /* how many, and of how many elements; the last may have fewer */
    unsigned buffers;       /* for pieces that are brought: the next has to be another's */
    struct arena arena;
    bool stores;             /* the last pass stores the result in the plan's `out` */
    bool finishes_on_device; /* a kernel of its own does; where there is no `out`, neither */
    bool counts;             /* the device counts what the mask lets through */
    bool counts_apart;       /* in a launch of its own: no pass does */
    bool posts;              /* the last pass posts its state to the host, which is waiting */
};

/* False with the reason noted. The schedule points to the plan, which has to outlast it. */
bool schedule_make(const struct plan *, const struct facts *, struct schedule *, struct failure *);

/* How many elements a mask has that is brought for a piece of the array: one of the device's own
 * arrays' is brought as a whole, without the dimensions that it is broadcast along. */
uint64_t schedule_mask_length(const struct schedule *, uint64_t piece);

/* ---- the fastest method ---- */

/* Gives the plan the method that is fastest there for its array, and the shape of its launches. */
void fastest_choose(const struct facts *, struct plan *);

/* Of a launch. */
struct shape {
    unsigned block;       /* threads */
    unsigned data_blocks; /* elements that a thread should get at least */
};

/* From now on rung 21 in this shape for every array; of a block of 0: what is fastest. */
void fastest_force(struct shape);
