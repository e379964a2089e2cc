/* From what the passes leave to the answer: the one place on the host where that is done. */
#pragma once

#include "run/backend.h"

/* Fills run->answer, run->count, which is how many elements took part, and adds to run->findings.
 * `accumulator` is the plan's, or one that holds more. */
void run_finish(struct run *, const struct plan *, enum element accumulator, const void *state,
                uint64_t count);

/* The same of an exact sum: rounded already, or as the words that kernels leave. NaNs that were
 * left out count as elements of the latter. */
void run_answer_exact(struct run *, const struct plan *, const struct exact *sum,
                      struct scalar_wide value, uint64_t count);
void run_finish_exact(struct run *, const struct plan *, enum element accumulator,
                      const int64_t *words, uint64_t count);

/* What a result of no elements is, of the plan's type for results; of extremes the end of that
 * type, which may be narrower than a state. */
union scalar run_value_of_none(const struct plan *);

/* Stores a value of the answer as the plan has it among its results. */
void run_store(const struct run *, const struct plan *, unsigned value, void *to);

/* What is to be said of an answer that so many elements took part in: FOUND_ bits. */
unsigned result_findings(const struct plan *, const struct answer *, uint64_t count);
