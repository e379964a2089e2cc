/* What a run's answer is in Python: a NumPy scalar, or a tuple of a record's values; and what NumPy
 * would warn of. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "run/backend.h"

/* Gives NumPy's warnings, and ValueErrors where a mask left nothing. False with an exception set.
 */
bool answer_is_sound(const struct plan *, const struct run *);

/* How many values an answer has, and of which types each is; `maybe_nothing`: integers may have no
 * extremes. */
unsigned answer_types(const struct plan *, bool maybe_nothing, enum element *types);

PyObject *answer_to_python(const struct plan *, const struct run *);
