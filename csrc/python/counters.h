/* gred.counters and gred.accesses: what a reduction's kernels access on the simulated device,
 * counted, and recorded one by one where there is room for that. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *counters_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                        PyObject *names);
