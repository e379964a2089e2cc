/* New arrays for results in device memory: of the library that the caller's array is of, from its
 * own allocator. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/exchange.h"

/* 1: *array is a new array in C order, not filled, and its elements begin at *at. 0: the library is
 * not known to make any; no exception is set. -1 with an exception set. */
int result_make(const struct result_request *, PyObject **array, void **at);

/* The shape as a new tuple; NULL with an exception set. */
PyObject *result_shape(const struct result_request *);

/* gred's own array of memory that it got, which `memory` keeps. NULL with an exception set. */
PyObject *result_own(const struct result_request *, PyObject *memory);

/* What such an array, once work with it is under way, becomes for the owner of another: its
 * library's, where that takes it. A new reference; NULL with an exception set. */
PyObject *result_hand_over(PyObject *own, PyObject *like);

/* Makes the constants that the others use; -1 with an exception set. */
int result_setup(void);
