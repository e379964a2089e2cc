/* Counts what the threads of a block access, as a GPU does it: a warp at a time.
 *
 * Threads come one after the other, each from barrier to barrier, so that what the lanes of a warp
 * would do together arrives piece by piece. Accesses belong together that come from the same line
 * at the same turn of each lane; turns are counted anew from every barrier that the whole warp has
 * passed. So nothing depends on the order in which threads run. */
#pragma once

#include "run/counting.h"

struct counter;

/* NULL when memory is short. */
struct counter *counter_open(void);
void counter_close(struct counter *); /* NULL is fine */

/* What thread `tid` of the block does. */
void counter_note(struct counter *, unsigned tid, const struct simulator_access *);

/* All lanes of a warp are at a barrier, or have ended. */
void counter_pass_barrier(struct counter *, unsigned warp);

/* Adds what was counted to `launch`, and what was recorded, and begins anew. False when memory is
 * or was short. */
bool counter_take(struct counter *, struct counted_launch *launch);

/* ---- recording: what the threads of a block access, one by one, in the order that they come in:
 * each from barrier to barrier. Sorted by block, thread and interval they are the same in every
 * order of threads, unless these race ---- */

/* What a thread is about to do; it counts its own intervals, from 0. `shared` begins the shared
 * memory that it is in, where it is in one: that of block `owner`, its own or another of its
 * cluster. A bulk copy is recorded 16 bytes at a time. False when `room` accesses are recorded
 * already, or memory is short. */
bool counter_record(struct counter *, size_t room, const struct simulator_place *,
                    unsigned *interval, const void *shared, uint64_t owner,
                    const struct simulator_access *);
