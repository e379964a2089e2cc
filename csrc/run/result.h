/* From what the passes leave to the answer: the one place on the host where that is done. */
#pragma once

#include "run/backend.h"

/* Fills run->answer, and run->count, which is how many elements took part. `accumulator` is the
 * plan's, or one that holds more. */
void run_finish(struct run *, const struct plan *, enum element accumulator, const void *state,
                uint64_t count);
