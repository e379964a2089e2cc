/* Thread indices and primitives of the simulated device; kernels/simulated/words.h adapts them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The order in which the simulated device runs the blocks of a grid, and the threads of a block
 * between two barriers. Shuffled anew after every barrier. */
enum thread_order { ORDER_FORWARDS, ORDER_BACKWARDS, ORDER_SHUFFLED };

#ifdef __cplusplus
extern "C" {
#endif

/* Users' kernels are shared libraries that resolve these symbols when they are loaded. */
#pragma GCC visibility push(default)

enum {
    SIMULATOR_BLOCK_MAX = 1024,
    SIMULATOR_WARP = 32,
    SIMULATOR_CLUSTER_MAX = 16,
    SIMULATOR_BULK_ALIGNMENT = 16,
};

struct simulator_index {
    unsigned x, y, z;
};

/* The indices of the running thread. */
struct simulator_place {
    struct simulator_index thread, block, block_size, grid_size;
    unsigned cluster_rank, cluster_size; /* of its block in its cluster */
};

const struct simulator_place *simulator_here(void);

/* The block's shared memory, filled with arbitrary bytes when the block begins. */
void *simulator_shared_memory(void);

void simulator_barrier_block(void);
bool simulator_barrier_block_or(bool vote);
void simulator_barrier_warp(unsigned mask);
void simulator_barrier_grid(void);

/* Each lane in `mask` passes a word; returns the word of lane `source`. */
uint64_t simulator_shuffle(unsigned mask, uint64_t word, unsigned source);

/* Events that counting kernels report, and their Python names. A merge is a step of arithmetic; a
 * bulk copy is asynchronous, from global to shared memory; dependent loads are chains of global
 * loads: loads with nothing in between count as one. */
#define SIMULATOR_EVENTS(EVENT)                                                                    \
    EVENT(GLOBAL_LOAD, "global_load")                                                              \
    EVENT(GLOBAL_STORE, "global_store")                                                            \
    EVENT(SHARED_LOAD, "shared_load")                                                              \
    EVENT(SHARED_STORE, "shared_store")                                                            \
    EVENT(ATOMIC, "atomic")                                                                        \
    EVENT(SHUFFLE, "shuffle")                                                                      \
    EVENT(MERGE, "merge")                                                                          \
    EVENT(WARP_BARRIER, "warp_barrier")                                                            \
    EVENT(BLOCK_BARRIER, "block_barrier")                                                          \
    EVENT(GRID_BARRIER, "grid_barrier")                                                            \
    EVENT(CLUSTER_BARRIER, "cluster_barrier")                                                      \
    EVENT(MBARRIER_WAIT, "mbarrier_wait")                                                          \
    EVENT(BULK_COPY, "bulk_copy")                                                                  \
    EVENT(DEPENDENT_LOAD, "dependent_global_load")

#define EVENT(NAME, name) SIMULATOR_##NAME,
enum simulator_event { SIMULATOR_EVENTS(EVENT) };
#undef EVENT

struct simulator_access {
    enum simulator_event event;
    unsigned bytes;               /* by this thread */
    const volatile void *address; /* in memory, else NULL */
    const char *file;             /* of the access; outlives the launch */
    unsigned line;
    const void *value; /* stored, combined, shuffled or merged; a bulk copy's target; else NULL */
    unsigned source;   /* the source lane of a shuffle */
};

/* Called before the access or wait. */
void simulator_record(const struct simulator_access *);

/* A barrier in shared memory. A phase ends after `arrivals` arrivals, when all bytes that these
 * announced have been copied. Phases are identified by their parity; the first is 0. */
struct simulator_mbarrier {
    unsigned arrivals : 15;         /* per phase */
    unsigned left : 15, parity : 1; /* current phase: arrivals left, and parity */
    int32_t bytes;                  /* announced and not yet copied */
};

void simulator_mbarrier_init(struct simulator_mbarrier *, unsigned arrivals);

/* Arrives, and announces bytes. */
void simulator_mbarrier_arrive(struct simulator_mbarrier *, unsigned bytes);

/* Waits until the phase of that parity has ended. */
void simulator_mbarrier_wait(struct simulator_mbarrier *, unsigned parity);

/* An asynchronous copy into shared memory, which signals the barrier when it completes. */
void simulator_bulk_copy(void *to, const void *from, unsigned bytes, struct simulator_mbarrier *);

/* Waits for all threads of the cluster that have not exited. */
void simulator_barrier_cluster(void);

/* The address in another block's shared memory that corresponds to one in this block's. */
void *simulator_map_shared_rank(void *here, unsigned rank);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
