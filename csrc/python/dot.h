/* gred.dot, and what ExactSum.add_products rests on. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/exact_sums.h"
#include "python/state.h"

PyObject *dot_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names);

/* The exact sum of the products of two real arrays of one shape. False with an exception set. */
bool dot_exactly(struct module_state *, PyObject *a, PyObject *b, struct exact_sums *);
