/* A block on its multiprocessor, from its beginning to its end: sweeps over its threads, between
 * which barriers that are complete let theirs go. Threads that wait for others which never come end
 * the run, with word of both. */
#pragma once

#include "simulated/multiprocessor.h"

/* Where a block has come to when none of its threads can go on by itself. */
enum block_state { BLOCK_ENDED, BLOCK_AT_CLUSTER_BARRIER };

/* Threads of a block begin when it is first run. */
void block_begin(struct multiprocessor *, uint64_t index, uint64_t seed);

/* Runs a block up to its end or to the cluster's barrier. */
enum block_state block_run(struct multiprocessor *);

/* All blocks of the cluster are at its barrier, or have ended. */
void block_pass_cluster_barrier(struct multiprocessor *);
