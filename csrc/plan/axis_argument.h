/* axis= and keepdims=. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/reduction.h"

/* The axes of an array of so many dimensions, a bit each. False with an exception set, NumPy's. */
bool axis_parse(PyObject *axis, enum reduction, unsigned dimensions, uint64_t *axes);

/* False with an exception set. */
bool keepdims_parse(PyObject *keepdims, bool *kept);
