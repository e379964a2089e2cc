/* Forces how long rows are shared, for tests. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* (elements, bytes, block, least, threads, packs, waves, rounds, stacked, few) as struct
 * long_rows_tuning has them; a block of 0: as measured. */
PyObject *forced_long_rows(PyObject *module, PyObject *arguments);
