/* The four reductions. A mean is a sum that is divided once; finish.h has what a result needs when
 * the last pass has run. */
#pragma once

#include "common/element.h"

enum op { OP_SUM, OP_PROD, OP_MIN, OP_MAX, OPS };

const char *op_name(enum op);

/* Sums and products of nothing have a value; the least of nothing has none. */
bool op_has_value_of_nothing(enum op);

/* What combines with any value of an accumulator to that value. */
union scalar op_identity(enum op, enum element accumulator);

/* The type that NumPy reduces in when no dtype is asked for. */
enum element op_default_type(enum op, bool mean, enum element input);
