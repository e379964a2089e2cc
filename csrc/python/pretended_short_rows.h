/* How short rows that are not there would be shared among threads, for tests. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* pretended_short_rows(results, n, size, data, multiprocessors): of rows of n elements of so many
 * bytes, the first of which lies at `data`: (several, staged, block, team, rounds, load, turned,
 * turns, bytes of shared memory); None: they are too long. */
PyObject *pretended_short_rows(PyObject *module, PyObject *arguments);
