/* gred.counters: what a reduction's kernels access, counted on the simulated device. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *counters_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names);
