/* Where the work on arrays is done that lie on a device. */
#pragma once

#include "plan/request.h"

/* What lies on a device is reduced there, and nowhere else. `name` is the argument's. False with an
 * exception set. */
bool place_stay(const struct view *, const char *name, const struct request *,
                const struct platform **, int *device);
