/* What kernels make of states in the end. */
#pragma once

#include "common/kernel_arguments.h"
#include "plan/plan.h"

/* Whether a state says all of a result, which is of the value's type or one that loses nothing by
 * way of it; so kernels that know the elements' type store it, and no others. */
bool epilogue_stores_at_once(const struct plan *, enum element accumulator);

/* Whether results are what kernels of native ones make: of NumPy's type, of elements alone. */
bool epilogue_is_native(const struct plan *, enum element input, enum element accumulator);

/* Kernels that know the elements' type find minima of signed numbers, and whether any truth value
 * is true, or all are: which bits they have to invert, and what becomes of their states then. */
void epilogue_order(enum element input, struct kernel_results *);
