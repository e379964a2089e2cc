/* Memory accesses of instrumented kernels, per launch. */
#pragma once

#include "common/simulated_words.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Kinds of faulty accesses, and their names in Python. A run reports its first fault. */
#define FAULTS(FAULT)                                                                              \
    FAULT(NONE, "")                                                                                \
    FAULT(RACE, "race")           /* unordered accesses of two threads, at least one a store */    \
    FAULT(BARRIER, "barrier")     /* not all threads reach a barrier */                            \
    FAULT(BOUNDS, "bounds")       /* an access outside the kernel's memory */                      \
    FAULT(UNWRITTEN, "unwritten") /* a load of uninitialized memory */                             \
    FAULT(MISSING, "missing")     /* a block stored no partial result */                           \
    FAULT(ALIGNMENT, "alignment") /* a misaligned address */                                       \
    FAULT(ENDLESS, "endless")     /* far more accesses than the work needs */

#define FAULT(NAME, name) FAULT_##NAME,
enum fault_kind { FAULTS(FAULT) };
#undef FAULT

enum { FRAMES_MAX = 16 };

struct fault {
    enum fault_kind kind;
    const char *file; /* NULL: unknown */
    unsigned line;
    char text[256];
    uintptr_t frames[FRAMES_MAX]; /* the thread's stack in kernel code, innermost first */
    unsigned depth;
};

/* All accesses of one kind from one line of the source. */
struct tally {
    enum simulator_event event;
    const char *file;
    unsigned line;
    unsigned bytes;     /* per lane */
    uint64_t warps;     /* requests: times that a warp executed it */
    uint64_t lanes;     /* active lanes, over all requests */
    uint64_t pieces;    /* sectors of global memory, or wavefronts of shared memory */
    uint64_t conflicts; /* wavefronts beyond those that the bytes need */
};

/* One access of one thread. */
struct recorded_access {
    uint64_t block;
    unsigned thread;
    unsigned interval; /* number of barriers and shuffles that the thread has reached */
    enum simulator_event event;
    unsigned bytes;
    uintptr_t address; /* in global memory; in shared memory, an offset */
    unsigned source;   /* source lane of a shuffle; owning block in shared memory; offset in shared
                          memory, in bytes, of a bulk copy's target */
    const char *file;
    unsigned line;
    unsigned char value[16]; /* loaded, stored, left by an atomic, or shuffled; of a merge: its
                                result and first operand */
};

/* Accesses in execution order. */
struct recording {
    struct recorded_access *accesses;
    size_t count, capacity;
};

struct counted_launch {
    uint64_t grid;
    unsigned block;
    struct tally *tallies;
    size_t count;
    size_t room; /* maximum accesses recorded; 0: no recording */
    struct recording recording;
    uintptr_t array, partials, tickets; /* the kernel's arguments, if accesses are recorded */
};

struct counting {
    unsigned multiprocessors;        /* of the device that grids are sized for */
    size_t room;                     /* maximum accesses recorded; 0: no recording */
    struct counted_launch *launches; /* of instrumented kernels */
    size_t count;
    struct fault *fault; /* the first fault found; NULL: accesses are not checked */
};

/* Resident blocks of a cooperative kernel per multiprocessor of an H200, limited by registers: nvcc
 * 13 allocates 40 per thread, or 44 for int64 sums, which have one fewer block of 256 threads. */
static inline unsigned counting_resident(unsigned block)
{
    enum { REGISTERS = 65536, THREAD_REGISTERS = 40, BLOCKS_MAX = 32 };
    const unsigned warps = REGISTERS / (THREAD_REGISTERS * SIMULATOR_WARP);
    const unsigned blocks = warps / (block / SIMULATOR_WARP);
    return blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX;
}

/* Frees a launch's counts, but not the launch itself. */
static inline void counted_launch_free(struct counted_launch *self)
{
    free(self->tallies);
    free(self->recording.accesses);
}
