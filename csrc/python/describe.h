/* Methods and devices as plain tuples, which python/gred/records.py gives names to. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *describe_methods(PyObject *module, PyObject *ignored);
PyObject *describe_reductions(PyObject *module, PyObject *ignored);
PyObject *describe_devices(PyObject *module, PyObject *ignored);
