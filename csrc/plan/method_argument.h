/* method= and block_size=. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/method.h"

/* NULL in *found for "auto", and for "exact", which is no way of going through an array but what is
 * to come of it. False with an exception set. */
bool method_parse(PyObject *method, const struct method **found, bool *exact);

/* A power of two that a block can have. False with an exception set. */
bool block_size_parse(PyObject *block_size, unsigned *block);
