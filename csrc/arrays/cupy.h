/* New arrays of CuPy's, made without a detour by Python's own code. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/exchange.h"

/* 1: *array is a new one, in C order and not filled, from CuPy's current allocator, and its
 * elements begin at *at. 0: request->like is no array of CuPy's, or NumPy has no name for the type,
 * or CuPy's current device is another one; no exception is set. -1 with an exception set. */
int cupy_make(const struct result_request *, PyObject **array, void **at);

/* Makes the constants that the others use; -1 with an exception set. */
int cupy_setup(void);
