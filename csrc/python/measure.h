/* gred.kernel_time, gred.read_limit and gred.launch_limit, as plain tuples that
 * python/gred/measure.py gives names to.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *measure_kernel_time(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                              PyObject *names);
PyObject *measure_read_limit(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names);
PyObject *measure_launch_limit(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                               PyObject *names);
