/* A block on a core of the simulated device. Its threads are fibers that run one after the other
 * from barrier to barrier. Also: the state that the blocks of a grid share. */
#pragma once

#include "common/simulated_words.h"
#include "simulated/counter.h"
#include "simulated/fiber.h"
#include "simulated/launch.h"

#include <pthread.h>
#include <stdatomic.h>

/* Random numbers for the shuffled order of blocks and threads: splitmix64 (Steele, Lea, Flood
 * 2014). The same seed gives the same order. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Fisher-Yates. */
static inline void random_shuffle(unsigned *items, unsigned count, uint64_t *state)
{
    for (unsigned k = count - 1; k > 0; k--) {
        const unsigned other = (unsigned)(random_next(state) % (k + 1));
        const unsigned swapped = items[k];
        items[k] = items[other];
        items[other] = swapped;
    }
}

/* ---- the grid ---- */

/* State shared by a grid's blocks on all cores. In simulator.c. */
struct grid {
    unsigned cores; /* cores in use */
    const struct simulator_launch *launch;

    atomic_bool stop;
    pthread_mutex_t lock; /* for the failure */
    struct failure failure;
};

/* Ends the run; only the first failure is kept. */
void grid_stop(struct grid *, enum failure_kind, const char *text);
bool grid_stopped(struct grid *);

/* Stops the grid if the run is to stop. Only on the caller's thread. */
void grid_check_interrupt(struct grid *);

/* ---- pending bulk copies into a block's shared memory; in words.c ---- */

struct bulk_copy {
    void *to;
    const void *from;
    unsigned bytes;
    struct simulator_mbarrier *barrier;
};

enum { BULK_COPIES_MAX = 64 };

struct bulk_copies {
    struct bulk_copy at[BULK_COPIES_MAX];
    unsigned count;
    uint64_t random;
};

/* Completes a random pending copy; false if there is none. */
bool bulk_copies_complete_one(struct bulk_copies *);

/* ---- a block on its core ---- */

enum { WARPS_MAX = SIMULATOR_BLOCK_MAX / SIMULATOR_WARP };

enum thread_state {
    READY,
    AT_BLOCK_BARRIER,
    AT_WARP_BARRIER,
    AT_MBARRIER,
    AT_CLUSTER_BARRIER,
    AT_GRID_BARRIER,
    ENDED,
    THREAD_STATES
};

struct thread {
    struct fiber fiber; /* the first member, so that stack_owner() is the thread */
    struct multiprocessor *sm;
    struct simulator_place place;
    enum thread_state state;
    unsigned mask;                             /* of the warp barrier that it waits at */
    unsigned source;                           /* shuffle: the lane to read */
    uint64_t received;                         /* shuffle: the word read */
    const struct simulator_mbarrier *mbarrier; /* that it waits at */
    unsigned parity;                           /* of the phase that it waits for */
    unsigned interval;                         /* of recorded accesses */
};

struct warp {
    unsigned waiting;               /* lanes at a warp barrier */
    uint64_t words[SIMULATOR_WARP]; /* passed to a shuffle */
};

enum { NO_WARP = WARPS_MAX };

/* The order in which threads run between two barriers. */
struct sweep {
    unsigned order[SIMULATOR_BLOCK_MAX];
    unsigned next; /* index in `order` */
    unsigned switches;
    unsigned last_warp; /* runs only when no other warp can; NO_WARP: none */
    uint64_t random;
};

struct multiprocessor {
    struct grid *grid;              /* of its blocks */
    struct multiprocessor *cluster; /* those that run the blocks of its cluster, by rank */
    unsigned number;                /* of the core; 0: the caller's own */
    struct fiber scheduler;
    struct thread *threads;
    unsigned created; /* threads that have a fiber */
    struct stacks stacks;
    unsigned char *shared;

    const struct simulator_launch *launch;
    struct sweep sweep;
    struct warp warps[WARPS_MAX];
    unsigned in_state[THREAD_STATES]; /* number of threads in each state */
    bool voted, vote_result;          /* by __syncthreads_or */
    struct bulk_copies copies;
    struct counter *counter; /* for launches with counts; NULL: not opened yet */
};

/* Prepares the core for the launch's blocks. False if out of memory. */
bool multiprocessor_prepare(struct multiprocessor *);

void multiprocessor_release(struct multiprocessor *);

/* The running thread. Every CUDA word of a kernel needs it, so it is stored on the stack, where
 * access costs almost nothing. */
static inline struct thread *thread_running(void)
{
    return *stack_owner((uintptr_t)__builtin_frame_address(0));
}

/* Stops the running thread at a barrier and switches to the next one. */
void thread_wait_at(enum thread_state barrier);

/* Starts a block; its threads begin at the first block_run. */
void block_begin(struct multiprocessor *, uint64_t index);

/* Runs a block until it ends or all of its threads are at the cluster's or the grid's barrier, and
 * returns whether they are. If they already were, all blocks of the cluster or grid must be at the
 * barrier or have ended; the block then continues. */
bool block_run(struct multiprocessor *);
