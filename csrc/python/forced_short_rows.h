/* Tests share short rows among threads as they choose. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* forced_short_rows(several, staging, staged, turns, threads): struct short_rows_tuning; no
 * threads that stage: as measured. */
PyObject *forced_short_rows(PyObject *module, PyObject *arguments);
