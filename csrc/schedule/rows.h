/* Arrays that are not flat, as a kernel's argument. */
#pragma once

#include "common/kernels.h"
#include "plan/axes.h"

/* How rows->from is read, a layout of at least one dimension and one element, the first of which is
 * number `base` of the array; the kernel makes values of type `accumulator` of them. */
void rows_describe(struct kernel_rows *rows, uint64_t base, enum element accumulator);

/* How it is read with groups of 2^lanes threads, and stretches of 2^windows times what they take at
 * once. */
void rows_in_lanes(const struct layout *, uint64_t base, enum element accumulator, unsigned lanes,
                   unsigned windows, struct kernel_stretches *);

/* How many threads, as an exponent, so many neighbours keep busy at least once and at most twice.
 */
unsigned rows_lanes(uint64_t length, enum element accumulator);

/* The rows along axes, or stretches of long ones, that the threads of a launch share. */
void launch_rows(const struct launch_config *, const struct axes *, enum element accumulator,
                 struct kernel_rows *);
