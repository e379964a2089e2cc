/* Records what the threads of a block access, one by one, in the order that they come in: each from
 * barrier to barrier. Sorted by block, thread and interval they are the same in every order of
 * threads, unless these race. */
#pragma once

#include "run/counting.h"

struct recorder;

/* For at most `room` accesses until they are taken. NULL when memory is short. */
struct recorder *recorder_open(size_t room);
void recorder_close(struct recorder *); /* NULL is fine */

void recorder_begin_block(struct recorder *);

/* What a thread is about to do; its block's shared memory begins at `shared`. False when there is
 * no room left, or memory is short. */
bool recorder_note(struct recorder *, const struct simulator_place *, const void *shared,
                   const struct simulator_access *);

/* Appends what was recorded to `recording`. False when memory is short. */
bool recorder_take(struct recorder *, struct recording *);
