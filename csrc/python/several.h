/* Lists of arrays that lie on devices: each is reduced where it is, side by side, by
 * gred/several.py. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

/* Whether it is a list or a tuple, the first element of which is an array on a device. */
bool several_are_given(PyObject *object);

/* Whether what has just failed to be one array, with an exception set, is a list or a tuple, any
 * element of which is one on a device. Then there is no exception any more. */
bool several_were_given(PyObject *object);

/* Calls the function of that name in gred/several.py. */
PyObject *several_reduce(const char *name, PyObject *const *arguments, Py_ssize_t count,
                         PyObject *names);
