/* gred.threads: how many of the host's threads a run may have. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* threads(most): bounds them from now on, unless `most` is 0, and returns how many they are. */
PyObject *threads_call(PyObject *module, PyObject *most);
