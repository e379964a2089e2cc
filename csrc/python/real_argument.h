/* An array whose elements go to one exact sum. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/array.h"

#include <stdbool.h>

/* False with an exception set where the elements are complex. `name` is the argument's. */
bool is_real_argument(const struct view *, const char *name);
