/* Workspace for the duration of a call. A few blocks are kept for later calls, because malloc would
 * merge and split them each time, which takes longer than a short call's elements ("short calls" in
 * benchmarks/tuning/host.json). */
#pragma once

#include <stddef.h>

/* Returns at least `bytes` of uninitialized memory in cache lines of its own, or NULL. */
void *scratch_acquire(size_t bytes);

/* Releases memory that was acquired with this size; NULL is a no-op. */
void scratch_release(void *, size_t bytes);
