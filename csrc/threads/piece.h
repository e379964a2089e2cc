/* What the threads of a job do, piece by piece. */
#pragma once

#include <stdint.h>

/* Does piece number `index`. `thread` is a number that no other thread has in the same job: below
 * threads_for. */
typedef void threads_piece(void *context, uint64_t index, unsigned thread);
