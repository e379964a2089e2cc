/* Reductions of segments shared in another way than has been measured to be best, so that tests go
 * every way at small sizes; and the way that a device which is not there would take. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *forced_segments(PyObject *module, PyObject *arguments);
PyObject *pretended_segments(PyObject *module, PyObject *arguments);
