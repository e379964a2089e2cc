/* Computes the answer from the state that the passes leave, for all backends' host side. */
#pragma once

#include "run/backend.h"

/* Sets run->answer and run->count, the number of elements included, and adds to run->findings.
 * `accumulator` is the plan's, or a wider one. */
void run_finish(struct run *, const struct plan *, enum element accumulator, const void *state,
                uint64_t count);

/* The same for an exact sum, rounded already or as the kernels' words. With words, skipped NaNs are
 * included in `count`. */
void run_answer_exact(struct run *, const struct plan *, const struct exact *sum,
                      struct scalar_wide value, uint64_t count);
void run_finish_exact(struct run *, const struct plan *, enum element accumulator,
                      const int64_t *words, uint64_t count);

/* The result of no elements, in the plan's result type. An extreme is the end of that type's range,
 * which may be narrower than a state's. */
union scalar run_empty_value(const struct plan *);

/* Stores a value of the answer in the type of the plan's results. */
void run_store(const struct run *, const struct plan *, unsigned value, void *to);

/* The FOUND_ bits of an answer computed from `count` elements. */
unsigned result_findings(const struct plan *, const struct answer *, uint64_t count);
