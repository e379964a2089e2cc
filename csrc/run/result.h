/* From what the passes leave to the answer: the one place on the host where that is done. */
#pragma once

#include "run/backend.h"

/* Fills run->answer, run->count, which is how many elements took part, and run->findings.
 * `accumulator` is the plan's, or one that holds more. */
void run_finish(struct run *, const struct plan *, enum element accumulator, const void *state,
                uint64_t count);

/* Adds what is to be said of an answer that so many elements took part in. */
void findings_add(struct findings *, const struct plan *, const struct answer *, uint64_t count);

/* Adds what kernels have found: bits of common/findings.h. */
void findings_note(struct findings *, unsigned found);
