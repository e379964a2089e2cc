/* One core of the simulated device and the block that it is running: the block's threads are
 * fibers, which run one after the other from barrier to barrier. */
#pragma once

#include "common/thread_order.h"
#include "simulated/fiber.h"
#include "simulated/grid.h"
#include "simulated/stacks.h"

enum { WARPS_MAX = SIMULATOR_BLOCK_MAX / SIMULATOR_WARP };

enum thread_state {
    READY,
    AT_BLOCK_BARRIER,
    AT_WARP_BARRIER,
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
};

struct warp {
    unsigned waiting;               /* lanes at a warp barrier */
    uint64_t words[SIMULATOR_WARP]; /* that they give to a shuffle */
};

struct multiprocessor {
    struct grid *grid; /* that its blocks are part of */
    unsigned number;   /* 0: the caller's own core */
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
    uint64_t random;
    struct warp warps[WARPS_MAX];
    unsigned at[THREAD_STATES]; /* how many threads are in each state */
    bool voted, verdict;        /* of __syncthreads_or */
};

/* Makes the core ready for a launch's blocks. False when memory is short. */
bool multiprocessor_prepare(struct multiprocessor *, const struct simulator_launch *,
                            enum thread_order);

void multiprocessor_run_block(struct multiprocessor *, uint64_t index, uint64_t seed);
void multiprocessor_release(struct multiprocessor *);
