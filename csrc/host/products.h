/* Exact sums of products that nothing faster takes. */
#pragma once

#include "common/exact.h"

#include <stddef.h>

/* Adds the products of n pairs of elements of real types, which lie one after the other, to `even`,
 * or those in odd places to `odd`; room for a load of 2 n is made. */
void products_add(const void *a, enum element type_a, const void *b, enum element type_b, size_t n,
                  struct exact *even, struct exact *odd);
