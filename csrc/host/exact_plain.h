/* Results that are the rounded sum of real floats, or that divided, and nothing else: of a sum that
 * a word holds they are made without a superaccumulator. */
#pragma once

#include "host/windows.h"
#include "plan/plan.h"

bool exact_is_plain(const struct plan *);

/* Of such a plan. */
struct scalar_wide exact_round_total(const struct plan *, const struct windows_total *);

/* Of n elements of which the sum is that of two floats. False: these are too far from each other.
 */
bool exact_round_pair(const struct plan *, const double pair[2], uint64_t n,
                      struct scalar_wide *value);
