/* NaN that dtype= has no value for. */
#pragma once

#include "arrays/mask.h"
#include "plan/request.h"

/* Where elements of an array on the host lose their NaN, converted as the request asks, a mask
 * hides NaN instead, and the reduction becomes the one that takes all others: NumPy does the same
 * by putting what changes nothing in NaN's place. False with an exception set. */
bool nan_left_out(struct request *, PyObject *a, PyObject *where, const struct view_request *,
                  struct view *, struct mask *);
