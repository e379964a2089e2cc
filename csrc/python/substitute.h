/* _core.substitute: puts a kernel of the user's own in the place of a rung, on this module's
 * simulated device or on GPUs. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *substitute(PyObject *module, PyObject *arguments);
