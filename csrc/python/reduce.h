/* The reductions, as functions of Python: arguments in, a request out, and the answer back. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define REDUCTION(name, ...)                                                                       \
    PyObject *reduce_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t count,        \
                            PyObject *names);
#define VARIANT(name, ...)
#include "common/reductions.def"
