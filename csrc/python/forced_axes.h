/* Forces how reductions along axes are shared, for tests. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* (block, threads, share, blocks, staged, columns, windows=2, large=block, across=7, typed, lone=0,
 * alone=block, small=0) as struct axes_tuning has them, and as many threads a block where rows are
 * staged; without `typed` columns' type is not known; of rows see forced_short_rows and
 * forced_long_rows. A block of 0: as measured. */
PyObject *forced_axes(PyObject *module, PyObject *arguments);
