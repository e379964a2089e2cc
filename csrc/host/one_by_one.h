/* Exact sums of elements that nothing faster takes. */
#pragma once

#include "common/exact_sums.h"

#include <stddef.h>

/* Adds 1 to LOOP_MOST elements of a type that lie one after the other, `parts` of each: of a
 * complex number, both or the first; room for a load of n is made. With `leaves_out`, numbers one
 * of whose parts is NaN are left out. Returns how many were added. */
uint64_t one_by_one_add(const void *elements, size_t n, enum element type, unsigned parts,
                        bool leaves_out, struct exact_sums *);
