/* Counts the memory accesses of a block's threads as a GPU executes them: by warp.
 *
 * Threads run one after the other from barrier to barrier, so the lanes of a warp report the
 * accesses of one instruction separately. Accesses are combined if they have the same source line
 * and are each lane's n-th of it since the last barrier of the whole warp. The counts do not depend
 * on the order of threads. */
#pragma once

#include "run/counting.h"

struct counter;

/* NULL if out of memory. */
struct counter *counter_open(void);
void counter_close(struct counter *); /* NULL is a no-op */

/* Called before an access of thread `tid` of the block. */
void counter_add(struct counter *, unsigned tid, const struct simulator_access *);

/* All lanes of a warp are at a barrier or have ended. */
void counter_pass_barrier(struct counter *, unsigned warp);

/* Adds the counts to `launch` and resets them. False if memory ran out. */
bool counter_collect(struct counter *, struct counted_launch *launch);

/* ---- recording: a list of accesses in execution order. Sorted by block, thread and interval
 * between barriers, it is the same in every order of threads, unless they race ---- */

/* Called before an access. Each thread counts its own intervals, from 0. `shared` is the start of
 * the shared memory accessed, if any, and `owner` its block: the thread's own or another of its
 * cluster. A bulk copy is recorded in pieces of 16 bytes. False if all that there is
 * room for are already recorded, or out of memory. Launches with a recording run on one core. */
bool counter_record(struct counted_launch *, const struct simulator_place *, unsigned *interval,
                    const void *shared, uint64_t owner, const struct simulator_access *);
