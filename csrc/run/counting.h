/* What kernels that count have accessed, launch by launch: what a backend adds to a run. */
#pragma once

#include "common/simulated_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* What is wrong with an access, and its names in Python: a run's first fault, and where. */
#define FAULTS(FAULT)                                                                              \
    FAULT(NONE, "")                                                                                \
    FAULT(RACE, "race") /* two threads at one word, one of them stores, and nothing orders them */ \
    FAULT(BARRIER, "barrier")     /* not all threads come to a barrier that waits for all */       \
    FAULT(BOUNDS, "bounds")       /* an access outside what a kernel was given */                  \
    FAULT(UNWRITTEN, "unwritten") /* a load of what nobody has stored */                           \
    FAULT(MISSING, "missing")     /* a block has left no partial */                                \
    FAULT(ALIGNMENT, "alignment") /* an address that is no multiple of the access's size */        \
    FAULT(ENDLESS, "endless")     /* far more accesses than the work needs */

#define FAULT(NAME, name) FAULT_##NAME,
enum fault_kind { FAULTS(FAULT) };
#undef FAULT

enum { FRAMES_MAX = 16 };

struct fault {
    enum fault_kind kind;
    const char *file; /* NULL: it has no line */
    unsigned line;
    char text[256];
    uintptr_t frames[FRAMES_MAX]; /* where its thread was: in the kernels' code, innermost first */
    unsigned depth;
};

/* All accesses of one kind from one line of the source. */
struct tally {
    enum simulator_event event;
    const char *file;
    unsigned line;
    unsigned bytes;     /* of one lane */
    uint64_t warps;     /* how often a warp did it: requests */
    uint64_t lanes;     /* that took part, over all of them */
    uint64_t pieces;    /* sectors of global memory, or wavefronts of shared memory */
    uint64_t conflicts; /* wavefronts more than the bytes alone would need */
};

/* One access of one thread. */
struct recorded_access {
    uint64_t block;
    unsigned thread;
    unsigned interval; /* barriers and shuffles of the launch that the thread has come to */
    enum simulator_event event;
    unsigned bytes;
    uintptr_t address; /* of global memory; in shared memory, counted from where that begins */
    unsigned source;   /* of a shuffle: the lane whose value it gets; of shared memory: the block
                          whose it is; of a bulk copy: where in shared memory it goes, in bytes */
    const char *file;
    unsigned line;
    unsigned char value[16]; /* loaded, stored, left by an atomic, given to a shuffle; of a merge,
                                its result and its first operand */
};

/* Accesses in the order that they were made in, block by block. */
struct recording {
    struct recorded_access *accesses;
    size_t count, capacity;
};

struct counted_launch {
    uint64_t grid;
    unsigned block;
    struct tally *tallies;
    size_t count;
    size_t room; /* how many accesses a core may record; 0: none is recorded */
    struct recording recording;
    uintptr_t array, partials, tickets; /* what it was given, where accesses are recorded */
};

struct counting {
    unsigned multiprocessors;        /* of the device that grids are made for */
    size_t room;                     /* how many accesses may be recorded; 0: none is recorded */
    struct counted_launch *launches; /* of kernels that count */
    size_t count;
    struct fault *fault; /* of what is accessed, all of which is looked at; NULL: nobody looks */
};

/* Blocks of a cooperative kernel that a multiprocessor of an H200 has registers for: nvcc 13 gives
 * a thread 40, or, where it adds up int64, 44, and so there is a block of 256 less. */
static inline unsigned counting_resident(unsigned block)
{
    enum { REGISTERS = 65536, OF_A_THREAD = 40, BLOCKS_MAX = 32 };
    const unsigned warps = REGISTERS / (OF_A_THREAD * SIMULATOR_WARP);
    const unsigned blocks = warps / (block / SIMULATOR_WARP);
    return blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX;
}

/* What a launch has told, but not the launch itself. */
static inline void counted_launch_free(struct counted_launch *self)
{
    free(self->tallies);
    free(self->recording.accesses);
}
