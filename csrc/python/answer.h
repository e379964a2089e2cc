/* What a run's answer is in Python: a NumPy scalar, or a tuple of a record's values; and what NumPy
 * would warn of. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "run/backend.h"

/* Gives NumPy's warnings, and ValueErrors where a mask left nothing. False with an exception set.
 */
bool answer_is_sound(const struct plan *, const struct run *);

PyObject *answer_to_python(const struct plan *, const struct run *);
