/* A GPU made of CPU cores: runs a grid of blocks, a block's threads as fibers that switch at
 * barriers and nowhere else, blocks in parallel on the cores. Between two barriers the threads may
 * run in any order, so the order is a parameter, and an answer that depends on it betrays a race.
 */
#pragma once

#include "common/failure.h"
#include "common/simulated_words.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct checker;
struct counted_launch;
struct simulator;
struct watch;

struct simulator_launch {
    void (*kernel)(void **arguments); /* one thread's work */
    void **arguments;
    uint64_t grid;
    unsigned block;      /* a multiple of 32, at most SIMULATOR_BLOCK_MAX */
    size_t shared_bytes; /* of shared memory a block */
    unsigned cluster;    /* blocks that run together; at most SIMULATOR_CLUSTER_MAX, divides grid */
    bool cooperative;    /* all blocks at once: grid is at most simulator_multiprocessors() */
    enum thread_order order;
    uint64_t seed;
    const struct watch *watch;     /* NULL: nobody is asked whether to stop */
    struct counted_launch *counts; /* what is accessed is added to it; NULL: nobody counts */
    struct checker *checker;       /* looks at what is accessed; NULL: nobody does */
};

/* With so many multiprocessors, each a thread of the operating system while a launch needs it; NULL
 * when memory is short. A simulator keeps its fibers from run to run; one run uses it at a time. */
struct simulator *simulator_open(unsigned multiprocessors);
void simulator_close(struct simulator *);

unsigned simulator_multiprocessors(const struct simulator *);

/* Returns what went wrong, when the whole grid has run. After a failure the simulator is only good
 * for being closed. */
const struct failure *simulator_launch(struct simulator *, const struct simulator_launch *);

#ifdef __cplusplus
}
#endif
