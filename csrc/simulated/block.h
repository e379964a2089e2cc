/* What runs on a core of the simulated device: a block, whose threads are fibers that run one after
 * the other from barrier to barrier, and what it shares with the other blocks of its grid. */
#pragma once

#include "common/simulated_words.h"
#include "simulated/counter.h"
#include "simulated/fiber.h"
#include "simulated/launch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* Random numbers for the shuffled order of blocks and threads: splitmix64 (Steele, Lea, Flood
 * 2014). The same seed, the same order. */
static inline uint64_t random_next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

/* Fisher and Yates. */
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

/* What its blocks, on whatever core, have in common: its barrier, and the end of the run. In
 * simulator.c. */
struct grid {
    unsigned cores; /* that blocks may run on */
    const struct simulator_launch *launch;
    struct timespec looked; /* at the watch */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t at_barrier, past_kernel; /* how many blocks, of a cooperative launch */
    uint64_t barriers;                /* that all blocks have met at */

    atomic_bool stop;
    struct failure failure;
};

/* Ends the run; the first to say why is heard. */
void grid_stop(struct grid *, enum failure_kind, const char *text);
bool grid_stopped(struct grid *);

/* For the caller's own core only: asks the watch, now and then. */
void grid_look_at_watch(struct grid *);

/* A block of a cooperative launch is at its barrier: true when every block is, false when one never
 * will be. */
bool grid_meet(struct grid *);

/* ---- bulk copies into a block's shared memory that are under way. In words.c ---- */

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

/* Does any one of them; false if there is none. */
bool bulk_copies_end_any(struct bulk_copies *);

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
    struct fiber fiber; /* first, so that its stack's owner is the thread */
    struct multiprocessor *home;
    struct simulator_place place;
    enum thread_state state;
    unsigned mask;     /* of the warp barrier it waits at */
    unsigned source;   /* of a shuffle: the lane whose word it wants */
    uint64_t received; /* and that word, once all lanes of the mask have given theirs */
    const struct simulator_mbarrier *mbarrier; /* that it waits at, */
    unsigned parity;                           /* for the end of that phase */
    unsigned interval;                         /* of what is recorded */
};

struct warp {
    unsigned waiting;               /* lanes at a warp barrier */
    uint64_t words[SIMULATOR_WARP]; /* that they give to a shuffle */
};

enum { NO_WARP = WARPS_MAX };

/* Which thread comes next, from one barrier to the next. */
struct sweep {
    unsigned order[SIMULATOR_BLOCK_MAX];
    unsigned next; /* in that order */
    unsigned switches;
    unsigned last_warp; /* goes on once no other can; NO_WARP: all are alike */
    uint64_t random;
};

struct multiprocessor {
    struct grid *grid;              /* that its blocks are part of */
    struct multiprocessor *cluster; /* those with the blocks of its cluster, by rank */
    unsigned number;                /* of the core; 0: the caller's own */
    struct fiber scheduler;
    struct thread *threads;
    unsigned made; /* threads that have a fiber */
    struct stacks stacks;
    unsigned char *shared;

    const struct simulator_launch *launch;
    struct sweep sweep;
    struct warp warps[WARPS_MAX];
    unsigned at[THREAD_STATES]; /* how many threads are in each state */
    bool voted, verdict;        /* of __syncthreads_or */
    struct bulk_copies copies;
    struct counter *counter; /* of what launches access that count; NULL: there was none yet */
};

/* Makes the core ready for the launch's blocks. False when memory is short. */
bool multiprocessor_prepare(struct multiprocessor *);

void multiprocessor_release(struct multiprocessor *);

/* The running thread. Every word of a kernel asks, so the answer lies where it costs nothing to
 * find. */
static inline struct thread *thread_running(void)
{
    return *stack_owner((uintptr_t)__builtin_frame_address(0));
}

/* Stops the running thread at a barrier and goes on with the next one. */
void thread_wait_at(enum thread_state barrier);

/* Threads of a block begin when it is first run. */
void block_begin(struct multiprocessor *, uint64_t index);

/* Runs a block up to its end, or to the cluster's barrier, and returns whether it is at that. If it
 * is there already, all blocks of the cluster are, or have ended. */
bool block_run(struct multiprocessor *);
