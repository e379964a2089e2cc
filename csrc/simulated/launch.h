/* A GPU simulated on CPU cores. Blocks run in parallel on the cores; a block's threads are fibers
 * that switch only at barriers. Between two barriers threads may run in any order, so the order is
 * a parameter, and a result that depends on it reveals a race. */
#pragma once

#include "common/failure.h"
#include "common/simulated_words.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct checker;
struct counted_launch;
struct run;
struct simulator;

struct simulator_launch {
    void (*kernel)(void **arguments); /* one thread's work */
    void **arguments;
    uint64_t grid;
    unsigned block;      /* threads; a multiple of 32, at most SIMULATOR_BLOCK_MAX */
    size_t shared_bytes; /* per block */
    unsigned cluster;    /* blocks per cluster: at most SIMULATOR_CLUSTER_MAX, divides grid */
    bool cooperative;    /* all blocks are resident: grid is at most simulator_multiprocessors() */
    enum thread_order order;
    uint64_t seed;
    struct run *run;               /* checked for interrupts, or NULL */
    struct counted_launch *counts; /* receives the counts, or NULL */
    struct checker *checker;       /* checks accesses, or NULL */
};

/* `multiprocessors` is the number of OS threads that a launch may use. NULL if out of memory. A
 * simulator keeps its fibers between runs and serves one run at a time. */
struct simulator *simulator_open(unsigned multiprocessors);
void simulator_close(struct simulator *);

unsigned simulator_multiprocessors(const struct simulator *);

/* Runs the grid and returns the failure, if any, after which the simulator must be closed. */
const struct failure *simulator_launch(struct simulator *, const struct simulator_launch *);

#ifdef __cplusplus
}
#endif
