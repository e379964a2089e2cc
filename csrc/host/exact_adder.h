/* What one thread adds elements with, exactly. */
#pragma once

#include "common/exact_sums.h"
#include "host/job.h"
#include "host/unrounded.h"
#include "host/windows.h"

/* How floats are added, where they lie as the last ones have. */
struct exact_ways {
    struct unrounded_floats unrounded;
    struct windows windows;
};

/* In cache lines of its own. */
struct exact_adder {
    _Alignas(64) struct exact_sums sums;
    struct exact_ways ways;
};

/* Whether elements are just added, as long as the processor tells that nothing was rounded. */
bool exact_adder_just_adds(const struct job *);

void exact_adder_start(struct exact_adder *, const struct job *);

/* The next sum's numbers may be expected where the last one's were. */
void exact_adder_clear(struct exact_adder *);

/* Adds n of the plan's elements, which lie one after the other. Arithmetic has to be plain: see
 * common/windows.h. */
void exact_adder_add(struct exact_adder *, const struct plan *, const char *elements, size_t n);

/* Makes the result of all the plan's elements, which lie one after the other, where these are so
 * few and so near each other that no sums are needed. False: they are. `count`: how many took part.
 */
bool exact_adder_round(struct exact_adder *, const struct plan *, const char *elements,
                       struct scalar_wide *value, uint64_t *count);

/* Adds n elements of which the sum is that of two floats. */
void exact_adder_add_pair(struct exact_adder *, const double pair[2], uint64_t n);
