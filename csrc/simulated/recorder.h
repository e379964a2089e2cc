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

/* What a thread is about to do. `shared` begins the shared memory that it is in, where it is in
 * one: that of block `owner`, its own or another of its cluster. A bulk copy is recorded 16 bytes
 * at a time. False when there is no room left, or memory is short. */
bool recorder_note(struct recorder *, const struct simulator_place *, const void *shared,
                   uint64_t owner, const struct simulator_access *);

/* Appends what was recorded to `recording`. False when memory is short. */
bool recorder_take(struct recorder *, struct recording *);
