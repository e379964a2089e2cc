/* Exact sums of products. */
#pragma once

#include "common/exact.h"
#include "common/layout.h"

/* Adds the products of elements `start` to `start + length` of two layouts of real elements, which
 * are walked alike. */
void products_add(const struct layout *a, const struct layout *b, uint64_t start, uint64_t length,
                  struct exact *sum);
