/* Workspace for the duration of a call. A few blocks are kept for later calls, because malloc would
 * merge and split them each time, which takes longer than a short call's elements ("short calls" in
 * benchmarks/tuning/host.json). */
#pragma once

#include <stddef.h>

/* Returns at least `bytes` of uninitialized memory in cache lines of its own, or NULL. */
void *spare_take(size_t bytes);

/* Releases memory of the size that was taken; NULL is a no-op. */
void spare_give(void *, size_t bytes);
