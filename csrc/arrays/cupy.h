/* New arrays of CuPy's, made without a detour by Python's own code. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/exchange.h"

/* What CuPy's allocator has given. */
struct cupy_memory {
    PyObject *class, *pointer; /* NULL: there is none */
};

/* 1: there is memory from CuPy's current allocator, and it begins at *at. 0: request->like is no
 * array of CuPy's, or NumPy has no name for the type, or CuPy's current device is another one; no
 * exception is set. -1 with an exception set. */
int cupy_allocate(const struct result_request *, struct cupy_memory *, void **at);

/* An array in C order in that memory; a new reference. NULL with an exception set. */
PyObject *cupy_array(const struct result_request *, const struct cupy_memory *);

void cupy_release(struct cupy_memory *);

/* Makes the constants that the others use; -1 with an exception set. */
int cupy_setup(void);
