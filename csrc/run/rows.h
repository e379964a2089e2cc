/* Arrays that are not flat, as a kernel's argument. */
#pragma once

#include "common/kernels.h"

/* A layout of at least one dimension and one element, the first of which is number `base` of the
 * array; the kernel makes values of type `accumulator` of them. */
struct kernel_rows rows_of(const struct layout *, uint64_t base, enum element accumulator);
