/* A GPU made of CPU cores: runs a grid of blocks, a block's threads as fibers that switch at
 * barriers and nowhere else, blocks in parallel on the cores. Between two barriers the threads may
 * run in any order, so the order is a parameter, and an answer that depends on it betrays a race.
 *
 * The first half is for the backend that launches kernels, the second half for the words that
 * kernels use. */
#pragma once

#include "thread_order.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { SIMULATOR_BLOCK_MAX = 1024, SIMULATOR_WARP = 32 };

/* What a simulation asks of the world outside, always from the thread that called simulator_launch.
 */
struct simulator_watch {
    bool (*interrupted)(void *context); /* called about every 50 ms; true ends the run */
    void *context;
};

struct simulator_launch {
    void (*kernel)(void **arguments); /* one thread's work */
    void **arguments;
    uint64_t grid;
    unsigned block;      /* a multiple of 32, at most SIMULATOR_BLOCK_MAX */
    size_t shared_bytes; /* of shared memory a block */
    bool cooperative;    /* all blocks at once: grid is at most simulator_multiprocessors() */
};

enum simulator_status { SIMULATOR_DONE, SIMULATOR_FAILED, SIMULATOR_INTERRUPTED };

struct simulator;

/* NULL when memory is short. A simulator keeps its cores and fibers from run to run; one run uses
 * it at a time. */
struct simulator *simulator_open(void);
void simulator_close(struct simulator *);

/* One per core that the process might use when the simulator was opened. */
unsigned simulator_multiprocessors(const struct simulator *);

/* For the launches that follow. `watch` may be NULL. At first the order is forwards, without a
 * watch. */
void simulator_set(struct simulator *, enum thread_order order, uint64_t seed,
                   const struct simulator_watch *watch);

/* Returns when the whole grid has run. After anything but SIMULATOR_DONE the simulator is only good
 * for being closed, and for simulator_message, which tells what went wrong. */
enum simulator_status simulator_launch(struct simulator *, const struct simulator_launch *);
const char *simulator_message(const struct simulator *);

/* ---- for kernels ---- */

struct simulator_index {
    unsigned x, y, z;
};

/* Who the running thread is. */
struct simulator_place {
    struct simulator_index thread, block, block_size, grid_size;
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

#ifdef __cplusplus
}
#endif
