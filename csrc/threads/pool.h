/* The threads of one process, and the jobs that they help with.
 *
 * A thread without work watches the pool's generation for a moment, since calls often come one
 * after another, and only then sleeps. Who announces a job wakes sixteen sleepers, and each of them
 * as many while there is room for them: nobody spends long on waking others. For a job that
 * would be over before they are there nobody is woken, unless another has just been: then more are
 * likely to follow, and whoever is awake will watch for them. */
#pragma once

#include "threads/piece.h"

#include <stdbool.h>
#include <sys/types.h>

struct pool;

/* Of so many threads, the caller included; NULL when memory is short. Nothing is started yet. */
struct pool *pool_new(pid_t owner, unsigned most);

/* The process whose threads they are. */
pid_t pool_owner(const struct pool *);

/* Runs a job on `most` threads at most, and returns when it is done; false: there are too many at
 * once already. `brief`: as threads_run has it. */
bool pool_run(struct pool *, unsigned most, uint64_t pieces, bool brief, threads_piece *piece,
              void *context);

/* Ends the threads; no job may be under way. */
void pool_stop(struct pool *);

/* Of no threads, or of those that are not there. */
void pool_free(struct pool *);
