/* gred.explain: how a call would go, without it going; and schedules of plans that nobody has an
 * array for, for tests. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *explain_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                       PyObject *names);

/* In pretended_schedule.c. */
PyObject *explain_pretended(PyObject *module, PyObject *arguments, PyObject *names);
