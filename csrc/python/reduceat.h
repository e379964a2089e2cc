/* Reductions of segments, for python/gred/segments.py. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* reduceat(reduction, values, offsets, dtype, out, may_be_empty, device, stream): values of one
 * dimension, and offsets of one dimension that are int64 and lie one after the other. */
PyObject *reduceat_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count);
