/* A place for one block on a core of the simulated device: the block's threads are fibers, which
 * run one after the other from barrier to barrier. */
#pragma once

#include "common/thread_order.h"
#include "simulated/bulk.h"
#include "simulated/counter.h"
#include "simulated/fiber.h"
#include "simulated/grid.h"
#include "simulated/recorder.h"
#include "simulated/stacks.h"

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
    struct fiber fiber;
    struct multiprocessor *home;
    struct simulator_place place;
    enum thread_state state;
    unsigned mask;     /* of the warp barrier it waits at */
    unsigned source;   /* of a shuffle: the lane whose word it wants */
    uint64_t received; /* and that word, once all lanes of the mask have given theirs */
    const struct simulator_mbarrier *mbarrier; /* that it waits at, */
    unsigned parity;                           /* for the end of that phase */
};

struct warp {
    unsigned waiting;               /* lanes at a warp barrier */
    uint64_t words[SIMULATOR_WARP]; /* that they give to a shuffle */
};

enum { NO_WARP = WARPS_MAX };

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
    enum thread_order ordering;
    unsigned order[SIMULATOR_BLOCK_MAX];
    unsigned next; /* in that order */
    unsigned switches;
    unsigned last_warp; /* goes on once no other can; NO_WARP: all are alike */
    uint64_t random;
    struct warp warps[WARPS_MAX];
    unsigned at[THREAD_STATES]; /* how many threads are in each state */
    bool voted, verdict;        /* of __syncthreads_or */
    struct bulk_copies copies;
    struct counter *counter;   /* of what launches access that count; NULL: there was none yet */
    struct recorder *recorder; /* of a launch that records; else NULL */
};

/* Makes the core ready for a launch's blocks. False when memory is short. */
bool multiprocessor_prepare(struct multiprocessor *, const struct simulator_launch *,
                            enum thread_order);

/* The running thread. Every word of a kernel asks, so the answer lies where it costs nothing to
 * find. */
static inline struct thread *thread_running(void)
{
    return *stack_owner((uintptr_t)__builtin_frame_address(0));
}

/* Stops the running thread at a barrier and goes on with the next one. */
void multiprocessor_wait_at(enum thread_state barrier);

/* Runs every ready thread once, but those of the last warp, up to its next barrier: they hand over
 * to each other, and the last one hands back. */
void multiprocessor_sweep(struct multiprocessor *);

/* Adds up what launches that count have accessed, and appends what was recorded. False when memory
 * is short. */
bool multiprocessor_take_counts(struct multiprocessor *, struct counted_launch *);

void multiprocessor_release(struct multiprocessor *);
