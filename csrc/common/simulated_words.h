/* Who a kernel's thread is and what it can ask of the simulated device: what
 * kernels/simulated/words.h gives CUDA's words their meaning with. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The order in which the simulated device runs the threads of a block between two barriers, and the
 * blocks of a grid. Shuffled: anew after every barrier. */
enum thread_order { ORDER_FORWARDS, ORDER_BACKWARDS, ORDER_SHUFFLED };

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels of a user's own are in a library of their own, which finds these when it is loaded. */
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

/* Who the running thread is. */
struct simulator_place {
    struct simulator_index thread, block, block_size, grid_size;
    unsigned cluster_rank, cluster_size; /* of its block among the blocks of its cluster */
};

const struct simulator_place *simulator_here(void);

/* The block's shared memory, full of arbitrary bytes when the block begins. */
void *simulator_shared_memory(void);

void simulator_barrier_block(void);
bool simulator_barrier_block_or(bool vote);
void simulator_barrier_warp(unsigned mask);
void simulator_barrier_grid(void);

/* The lanes in `mask` each give a word; the result is the word that lane `source` gave. */
uint64_t simulator_shuffle(unsigned mask, uint64_t word, unsigned source);

/* What kernels tell that have their accesses counted, and its names in Python. A merge is a step of
 * arithmetic; a bulk copy goes from global to shared memory, asynchronously; a dependent load is
 * one on global memory: loads with nothing in between are one. */
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
    unsigned bytes;               /* of this thread */
    const volatile void *address; /* of memory, else NULL */
    const char *file;             /* where it is asked for; outlasts the launch */
    unsigned line;
    const void *value; /* what is stored, combined, given to a shuffle or merged to; where a bulk
                          copy goes; else NULL */
    unsigned source;   /* of a shuffle: the lane whose value it asks for */
};

/* Before it is done, or waited for. */
void simulator_count(const struct simulator_access *);

/* A barrier in shared memory: a phase of it ends when so many threads have arrived and so many
 * bytes have come as these have announced. Phases are told apart by their parity; the first is 0.
 */
struct simulator_mbarrier {
    unsigned arrivals : 15;         /* of a phase */
    unsigned left : 15, parity : 1; /* of the phase under way: arrivals to come, and which it is */
    int32_t bytes;                  /* announced, and not yet there */
};

void simulator_mbarrier_init(struct simulator_mbarrier *, unsigned arrivals);

/* Arrives, and announces bytes. */
void simulator_mbarrier_arrive(struct simulator_mbarrier *, unsigned bytes);

/* Until the phase of that parity has ended. */
void simulator_mbarrier_wait(struct simulator_mbarrier *, unsigned parity);

/* A copy into shared memory, by nobody's hand, that tells the barrier when it is done. */
void simulator_bulk_copy(void *to, const void *from, unsigned bytes, struct simulator_mbarrier *);

/* Of all threads of the cluster that have not ended. */
void simulator_barrier_cluster(void);

/* Where an address in this block's shared memory is in that of another block of the cluster. */
void *simulator_memory_of_block(void *here, unsigned rank);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif
