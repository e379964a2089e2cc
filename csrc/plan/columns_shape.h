/* How columns of a known type are shared among a device's threads: a pure function, too. */
#pragma once

#include "plan/axes_shape.h"

/* False: they do not lie as the kernel wants them, or are so few that any kernel will do. */
bool columns_shape_make(const struct axes *, const struct axes_kernels *, uintptr_t data,
                        unsigned multiprocessors, const struct axes_tuning *, struct axes_shape *);

/* Of shared memory, for states of so many bytes. */
size_t columns_shared_bytes(const struct axes_shape *, size_t state);
