/* What gred._testing offers to Python; see testing/module.c. */
#pragma once

#include "python/hooks.h"

/* gred._core's, found at import, constant from then on. */
extern const struct hooks *hooks;

PyObject *testing_force(PyObject *module, PyObject *arguments);
PyObject *testing_segments(PyObject *module, PyObject *arguments);
PyObject *testing_axes(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *testing_columns(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *testing_long_rows(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *testing_short_rows(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *testing_schedule(PyObject *module, PyObject *arguments, PyObject *names);
