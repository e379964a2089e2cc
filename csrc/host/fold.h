/* The host's inner loops: they fold elements that lie one after the other. */
#pragma once

#include "common/op.h"

#include <stddef.h>

/* Folds n >= 1 aligned elements to one value of an accumulator. */
typedef void fold(const void *elements, size_t n, void *result);

/* Folds each of n values onto the one at the same place in `onto`. */
typedef void fold_pairs(void *onto, const void *values, size_t n);

/* A fold of elements of type `input` that are converted to `type` on the way. NULL where no loop
 * does both at once: then they have to be gathered first, and folded as what they became. */
fold *fold_find(enum op, enum element input, enum element type);

/* A fold of values that are in their accumulator already. */
fold *fold_of_accumulators(enum op, enum element accumulator);

fold_pairs *fold_pairs_find(enum op, enum element accumulator);
