/* The four reductions, and what a result needs once the last pass has run. A mean is a sum that is
 * divided once. */
#pragma once

#include "element.h"

#include <stdbool.h>

enum op { OP_SUM, OP_PROD, OP_MIN, OP_MAX, OPS };

const char *op_name(enum op);

/* Sums and products of nothing have a value; the least of nothing has none. */
bool op_has_value_of_nothing(enum op);

/* What combines with any value to that value. */
union scalar op_identity(enum op, enum element);

/* The type that NumPy reduces in when no dtype is asked for. */
enum element op_accumulator(enum op, bool mean, enum element input);

/* The result from what the passes leave: a sum of negative zeros alone is zero, as in NumPy. */
union scalar op_finish(enum op, enum element, union scalar folded);

/* sum / n, divided in float64 and brought back to the sum's type, as NumPy does. The mean of
 * nothing is NaN; an integer type has the least value instead, as NumPy's has on x86. */
union scalar op_mean(enum element, union scalar sum, uint64_t n);
