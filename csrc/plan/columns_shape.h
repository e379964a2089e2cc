/* How columns of a known type are shared among a device's threads: a pure function, too. */
#pragma once

#include "plan/axes_shape.h"

/* False: there is no kernel for them, they do not lie as it wants them, or are so few that any
 * kernel will do. */
bool columns_shape_make(const struct axes *, const struct axes_kernels *, uintptr_t data,
                        unsigned multiprocessors, struct axes_shape *);
