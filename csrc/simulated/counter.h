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

/* Adds what was counted to `launch`, and begins anew. False when memory is or was short. */
bool counter_take(struct counter *, struct counted_launch *launch);
