/* Finds invalid accesses of threads: data races, uninitialized reads, and accesses outside the
 * kernel's memory.
 *
 * Races are detected whatever the order in which threads happen to run. For every word, the last
 * store and the last loads are known. An access of another thread is a race unless there is a
 * barrier in between: the block's, or the warp's if both threads are lanes of it. A shuffle is not
 * a barrier, since it does not order memory. Blocks are ordered by the grid's barrier, and by
 * atomics if both have executed one in between. The order of these atomics is not checked, and only
 * the last two loads are known, so some races are found only in other thread orders or never. */
#pragma once

#include "run/counting.h"
#include "simulated/launch.h"

/* Global memory that a launch may access. */
struct region {
    const char *name; /* of an element, for messages */
    uintptr_t at;
    size_t bytes;
    unsigned element; /* bytes per element */
    bool initialized; /* initialized before the launch */
    bool read_only;
    bool must_be_written;
    bool is_atomic; /* accessed only by atomics and by loads that see other blocks' stores */
};

enum { REGIONS_MAX = 3 };

struct regions {
    struct region at[REGIONS_MAX];
    unsigned count;
};

struct checker;

/* For a launch on `cores` cores; the launch must outlive it. The first fault is stored in *fault.
 * NULL if out of memory. */
struct checker *checker_open(const struct simulator_launch *, unsigned cores,
                             const struct regions *, struct fault *fault);
void checker_close(struct checker *); /* NULL is a no-op */

/* A block begins on a core. */
void checker_begin_block(struct checker *, unsigned core, unsigned block, const void *shared);

/* Called before an access of thread `tid`. False if it is invalid. */
bool checker_check(struct checker *, unsigned core, unsigned tid, const struct simulator_access *);

/* A thread leaves a warp barrier or a shuffle that all lanes of the mask have reached. */
void checker_pass_warp_barrier(struct checker *, unsigned core, unsigned tid, unsigned mask);

/* All threads of a block are at a barrier. False if they are at different ones. */
bool checker_pass_block_barrier(struct checker *, unsigned core);

/* All threads of the grid are at the grid's barrier. */
void checker_pass_grid_barrier(struct checker *, unsigned core);

/* A fault: some threads never reach the barrier at which `tid` waits; `text` says why. */
void checker_report(struct checker *, unsigned core, unsigned tid, const char *text);

/* The launch has ended normally. False if elements that must be written were not. */
bool checker_end(struct checker *);
