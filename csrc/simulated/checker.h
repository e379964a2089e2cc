/* Looks for what a GPU would not forgive in what threads access: data races, uninitialized
 * reads, and accesses outside the memory that a kernel was given.
 *
 * Two accesses may be a race in whatever order threads happen to run. Of every word it is
 * known who stored and who loaded it last; another thread may follow if a barrier lies between the
 * two: one of the block, or of the warp if both are lanes of it. A shuffle is none: it orders no
 * memory. Blocks are ordered by the grid's barrier, and by atomics, if both have made one in
 * between: which came first is not looked at, and of loads the last two are known, so that some
 * races are found in another order of threads only, or not at all. */
#pragma once

#include "run/counting.h"
#include "simulated/launch.h"

/* Global memory that a launch may access. */
struct region {
    const char *name; /* of one element, for messages */
    uintptr_t at;
    size_t bytes;
    unsigned element;  /* bytes of one */
    bool is_there;     /* it has contents when the launch begins */
    bool is_for_loads; /* no store may go there */
    bool is_to_be_written;
    bool is_shared; /* by atomics and loads that ask for news of other blocks */
};

enum { REGIONS_MAX = 3 };

struct regions {
    struct region at[REGIONS_MAX];
    unsigned count;
};

struct checker;

/* Of a launch, which has to outlast it, on so many cores. The first fault is told to `fault`. NULL
 * when memory is short. */
struct checker *checker_open(const struct simulator_launch *, unsigned cores,
                             const struct regions *, struct fault *fault);
void checker_close(struct checker *); /* NULL is fine */

/* A block begins on a core. */
void checker_begin_block(struct checker *, unsigned core, unsigned block, const void *shared);

/* What thread `tid` is about to do. False if it must not. */
bool checker_note(struct checker *, unsigned core, unsigned tid, const struct simulator_access *);

/* A thread goes on from a barrier of its warp, or a shuffle, that all lanes of the mask are at. */
void checker_pass_warp_barrier(struct checker *, unsigned core, unsigned tid, unsigned mask);

/* All threads of a block are at a barrier. False if it is not one. */
bool checker_pass_block_barrier(struct checker *, unsigned core);

/* All threads of the grid are. */
void checker_pass_grid_barrier(struct checker *, unsigned core);

/* A barrier that `tid` waits at is not for all: `text` says why. */
void checker_blame(struct checker *, unsigned core, unsigned tid, const char *text);

/* The launch has ended as it should. False if something has not been done. */
bool checker_end(struct checker *);
